"""A client's connection to memslot: the files involved, and what is written into each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from memslot import MemslotError

from memslot_mcp_server.clients.catalog import Client, Env, HookPlace, ServerPlace, Syntax
from memslot_mcp_server.clients.config_edit import change_file, preview, read_config, restore_file
from memslot_mcp_server.clients.draft import Change, Draft
from memslot_mcp_server.clients.edit_record import EditRecord
from memslot_mcp_server.clients.server_entry import (
    SERVER,
    add_entry,
    entry_of,
    hook_program,
    own_entry,
    remove_entry,
    this_program,
)
from memslot_mcp_server.hooks.opencode import render_plugin
from memslot_mcp_server.hooks.settings import add_hooks, find_hooks, remove_hooks

Part = Literal["server", "hooks"]
PARTS: tuple[Part, ...] = ("server", "hooks")


@dataclass(frozen=True)
class ConfigFile:
    """One file of a client, with the parts of the connection that go into it."""

    client: Client
    file: Path
    syntax: Syntax
    server: ServerPlace | None = None
    hooks: HookPlace | None = None
    is_plugin: bool = False
    agent: str | None = None
    project: Path | None = None
    """The project folder that the file belongs to; None for the user's own."""

    @property
    def in_project(self) -> bool:
        return self.project is not None

    def add(self, draft: Draft) -> None:
        """Put memslot into a config text."""
        if self.server is not None:
            arguments = ("--agent", self.agent, "mcp") if self.agent else ("mcp",)
            entry = entry_of(self.server, this_program(*arguments, shared=self.in_project))
            add_entry(draft, self.server, entry, shared=self.in_project)
        if self.hooks is not None:
            program = hook_program(self.agent, shared=self.in_project and self.hooks.project_is_shared)
            add_hooks(draft, self.client.id, self.hooks, program)
        if self.is_plugin:
            self._check_plugin(draft)
            program = hook_program(self.agent, shared=self.in_project)
            change = Change((self.file.name,), draft.text or None, f"a plugin that runs {program.command}")
            draft.rewrite(render_plugin(program), change)

    def remove(self, draft: Draft) -> None:
        """Take memslot out of a config text."""
        if self.server is not None:
            remove_entry(draft, self.server)
        if self.hooks is not None:
            remove_hooks(draft, self.client.id, self.hooks)
        if self.is_plugin:
            self._check_plugin(draft)
            draft.rewrite("", Change((self.file.name,), draft.text, None))

    @staticmethod
    def _check_plugin(draft: Draft) -> None:
        if draft.text.strip() and "memslot" not in draft.text:
            raise MemslotError("it is a plugin of something else")

    def snippet(self) -> str:
        """Return the content of a file with nothing but memslot."""
        draft = Draft(self.syntax, "")
        self.add(draft)
        return draft.text

    def changes(self) -> list[Change]:
        """What `connect` would change, without writing it."""
        draft = self._preview()
        self.add(draft)
        return draft.changes

    def removals(self) -> list[Change]:
        """What `disconnect` would remove, without writing it."""
        draft = self._preview()
        found: list[Change] = []
        if self.server is not None and (entry := own_entry(draft, self.server)) is not None:
            found.append(Change((self.server.key, SERVER), entry, None))
        if self.hooks is not None:
            found += [Change(hook.path, hook.command, None) for hook in find_hooks(draft, self.client.id, self.hooks)]
        if self.is_plugin:
            self.remove(draft)
            found += draft.changes
        return found

    def _preview(self) -> Draft:
        self._check_place()
        return preview(self.file, self.syntax)

    def _check_place(self) -> None:
        # A project may be someone else's, and its links may lead to the user's own files.
        if self.project is not None and not Path(os.path.realpath(self.file)).is_relative_to(
            os.path.realpath(self.project)
        ):
            raise MemslotError("it is a link that leads out of the project")

    def connect(self, record: EditRecord) -> bool:
        """Write memslot into the file; False if it is already there."""
        self._check_place()
        return bool(change_file(self.file, self.syntax, self.add, record).changes)

    def disconnect(self, record: EditRecord) -> bool:
        """Remove memslot from the file; False if it is not there."""
        self._check_place()
        return restore_file(self.file, self.syntax, self.remove, record)


def files_of(
    client: Client,
    *,
    parts: Iterable[Part] = PARTS,
    project: Path | None = None,
    agent: str | None = None,
    env: Env = os.environ,
) -> list[ConfigFile]:
    """The files of a client's connection; with `project`, those in that folder."""
    wanted = set(parts)
    found: dict[Path, ConfigFile] = {}
    if "server" in wanted:
        place = client.server
        if project is not None and place.project_file is None:
            raise MemslotError(f"{client.name} has no project config; leave out --project")
        file = project / str(place.project_file) if project is not None else place.find_file(env)
        found[file] = ConfigFile(client, file, place.syntax, server=place, agent=agent, project=project)
    if "hooks" in wanted and client.hooks is not None:
        file = project / client.hooks.project_file if project is not None else client.hooks.find_file(env)
        server = found[file].server if file in found else None
        found[file] = ConfigFile(client, file, "json", server=server, hooks=client.hooks, agent=agent, project=project)
    if "hooks" in wanted and client.plugin is not None:
        file = project / client.plugin.project_file if project is not None else client.plugin.find_file(env)
        found[file] = ConfigFile(client, file, "text", is_plugin=True, agent=agent, project=project)
    return list(found.values())


def has_package(client: Client, env: Env = os.environ) -> bool:
    """Whether the client has memslot as a plugin or an extension; with entries as well, each prompt recalls twice."""
    if client.package is None:
        return False
    try:
        draft = read_config(client.package.find_file(env), client.package.syntax)
    except MemslotError:
        return False
    return bool(draft.get(*client.package.path) == client.package.value)


@dataclass
class Plan:
    """The changes for one client: to all its files or, if one of them cannot be used, to none."""

    client: Client
    undo: bool
    files: list[tuple[ConfigFile, list[Change]]] = field(default_factory=list)
    error: str | None = None
    is_done: bool = False
    has_package: bool = False
    """Whether there is nothing to do because the client has memslot as a package."""

    @property
    def has_changes(self) -> bool:
        return self.error is None and any(changes for _, changes in self.files)

    def carry_out(self, record: EditRecord) -> None:
        """Write the files; what fails is in `error`."""
        if not self.has_changes:
            return
        # In reverse order, so that a folder made for the first file is empty by the time that file is removed.
        for config, changes in reversed(self.files) if self.undo else self.files:
            try:
                if changes:
                    with record:
                        _ = config.disconnect(record) if self.undo else config.connect(record)
            except (MemslotError, OSError) as error:
                self.error = f"{config.file} was not changed: {error}"
                return
        self.is_done = True

    def to_json(self) -> dict[str, Any]:
        return {
            "client": self.client.id,
            "name": self.client.name,
            "files": [
                {"file": str(config.file), "changes": [change.path_text() for change in changes]}
                for config, changes in self.files
            ],
            "written": self.is_done,
            "package": self.has_package,
            "error": self.error,
        }


def make_plan(client: Client, configs: Sequence[ConfigFile], *, undo: bool) -> Plan:
    """Determine what would change in the files, without writing."""
    plan = Plan(client, undo)
    if not undo and has_package(client) and not any(config.in_project for config in configs):
        plan.has_package = True
        return plan
    for config in configs:
        try:
            plan.files.append((config, config.removals() if undo else config.changes()))
        except MemslotError as error:
            plan.error = f"{config.file} was not changed: {error}"
            break
    return plan
