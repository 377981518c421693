"""memslot's hooks in a coding agent's settings, beside existing hooks."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from memslot import MemslotError

from memslot_mcp_server.clients.catalog import HookPlace
from memslot_mcp_server.clients.draft import Draft
from memslot_mcp_server.clients.server_entry import Program


class FoundHook(NamedTuple):
    """A hook of memslot, including one from another installation: the event's name here, its command, and its place."""

    name: str
    command: str
    path: tuple[str | int, ...]
    is_alone: bool
    """Whether its group has no other hook."""


def add_hooks(draft: Draft, agent_program: str, place: HookPlace, program: Program) -> None:
    """Add a memslot hook to each event; a timeout set by the user stays.

    Raises a MemslotError if the settings have an unexpected structure.
    """
    known = {hook.path[1]: hook for hook in find_hooks(draft, agent_program, place)}
    for event, (name, seconds) in place.events.items():
        command = command_line(program, agent_program, name)
        if event in known:
            draft.put((*known[event].path, "command"), command)
            continue
        draft.put(("hooks", event, len(_groups(draft, event))), place.group(command, seconds))


def remove_hooks(draft: Draft, agent_program: str, place: HookPlace) -> None:
    """Remove all hooks of memslot from the settings."""
    # From the end, so that earlier indexes stay valid.
    for hook in reversed(list(find_hooks(draft, agent_program, place))):
        draft.remove(hook.path[:3] if hook.is_alone else hook.path)


def find_hooks(draft: Draft, agent_program: str, place: HookPlace) -> Iterator[FoundHook]:
    """All hooks of memslot in the settings."""
    for event, (name, _) in place.events.items():
        for number, group in enumerate(_groups(draft, event)):
            hooks = group.get("hooks") if isinstance(group, dict) else None
            for index, hook in enumerate(hooks if isinstance(hooks, list) else ()):
                command = hook.get("command") if isinstance(hook, dict) else None
                if isinstance(command, str) and "memslot" in command and command.endswith(f"{agent_program} {name}"):
                    yield FoundHook(name, command, ("hooks", event, number, "hooks", index), len(hooks or ()) == 1)


def _groups(draft: Draft, event: str) -> list[Any]:
    events = draft.tree.get("hooks", {})
    if not isinstance(events, dict):
        raise MemslotError('its "hooks" is not an object')
    groups = events.get(event, [])
    if not isinstance(groups, list):
        raise MemslotError(f'its "hooks.{event}" is not a list')
    return groups


def command_line(program: Program, agent_program: str, name: str) -> str:
    """The command, quoted for the shell."""
    words = [program.command, *program.args, agent_program, name]
    if sys.platform == "win32":
        import subprocess

        return subprocess.list2cmdline(words)
    variables = [f"{key}={shlex.quote(value)}" for key, value in program.env.items()]
    return " ".join([*variables, shlex.join(words)])
