"""Adds memslot to the MCP servers in a client's config, and keeps everything else."""

from __future__ import annotations

import copy
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memslot import MemslotError, edit_json

from memslot_mcp_server.clients.config_locations import Client

SERVER = "memslot"
_CARRIED = ("MEMSLOT_HOME", "MEMSLOT_CONFIG")


@dataclass(frozen=True)
class Program:
    """How another program starts memslot."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


def this_program(*arguments: str, shared: bool) -> Program:
    """This memslot with these arguments; `shared` is for a file that other machines read too."""
    if shared:
        return Program("memslot", arguments)
    script = _script("memslot")
    if script is not None:
        return Program(str(script), arguments, _carried_env())
    return Program(sys.executable, ("-m", "memslot", *arguments), _carried_env())


def hook_program(agent: str | None) -> Program:
    """The command that coding agents' hooks call."""
    which = ("--agent", agent) if agent else ()
    script = _script("memslot-hook")
    if script is not None:
        return Program(str(script), which, _carried_env())
    return Program(sys.executable, ("-m", "memslot_mcp_server.hook_client", *which), _carried_env())


def _script(name: str) -> Path | None:
    """Full path of a command of this installation: desktop programs do not have the shell's PATH."""
    script = Path(sys.executable).with_name(f"{name}.exe" if sys.platform == "win32" else name)
    return script if script.is_file() else None


def _carried_env() -> dict[str, str]:
    return {name: str(Path(os.environ[name]).absolute()) for name in _CARRIED if os.environ.get(name)}


def entry_of(client: Client, program: Program) -> dict[str, Any]:
    """The server's entry in the client's format."""
    entry: dict[str, Any] = {"type": "stdio"} if client.says_type else {}
    entry |= {"command": program.command, "args": list(program.args)}
    if program.env:
        entry["env"] = dict(program.env)
    return entry


def render(client: Client, entry: Mapping[str, Any]) -> str:
    """A config file with this entry alone."""
    return add_entry(client, "", entry)


def add_entry(client: Client, text: str, entry: Mapping[str, Any]) -> str:
    """A client's config with memslot among its servers; unchanged if it is there.

    What a person added to the entry (timeouts, variables) stays. Raises a MemslotError if the config cannot be parsed
    or has another kind of server under that name.
    """
    return _add_to_toml(client, text, entry) if client.syntax == "toml" else _add_to_json(client, text, entry)


def parse_json(text: str) -> Any:
    """Parse JSON with comments; raises a MemslotError that names the position."""
    import pyjson5

    try:
        return pyjson5.decode(text, 200)
    except pyjson5.Json5Exception as error:
        # Only the first argument: the others hold what was parsed so far, and with it other servers' keys.
        near = re.search(r"near (\d+)", str(error.args[0]))
        before = text[: max(0, int(near[1]) - 1)] if near else ""
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise MemslotError(f"it is not valid JSON at line {line}, column {column}") from None


def _add_to_json(client: Client, text: str, entry: Mapping[str, Any]) -> str:
    text = text if text.strip() else "{}\n"
    tree = parse_json(text)
    wanted = copy.deepcopy(tree)
    for path, value in _leaves(client, tree, entry):
        text = edit_json(text, path, value)
        _put(wanted, path, value)
    if parse_json(text) != wanted:
        raise MemslotError("it is written in a way that cannot be edited safely")
    return text


def _add_to_toml(client: Client, text: str, entry: Mapping[str, Any]) -> str:
    import tomllib

    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        tree = tomllib.loads(text)
        document: Any = tomlkit.parse(text)
    except (tomllib.TOMLDecodeError, TOMLKitError) as error:
        raise MemslotError(str(error)) from None
    wanted = copy.deepcopy(tree)
    changes = _leaves(client, tree, entry)
    for path, value in changes:
        _put(wanted, path, value)
    if not changes:
        return text
    try:
        for path, value in changes:
            _put_in_toml(document, path, value)
        changed = tomlkit.dumps(document)
        changed += "" if changed.endswith("\n") else "\n"
    except (TOMLKitError, TypeError, KeyError, ValueError):
        changed = ""
    if tomllib.loads(changed) != wanted:
        raise MemslotError("it is written in a way that cannot be edited safely")
    return changed


def _leaves(client: Client, tree: Any, entry: Mapping[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    """The key paths that must change, with their new values."""
    if not isinstance(tree, dict):
        raise MemslotError("it is not a JSON object")
    servers = tree.get(client.key, {})
    if not isinstance(servers, dict):
        raise MemslotError(f'its "{client.key}" is not an object')
    known = servers.get(SERVER)
    if known is None:
        return [((client.key, SERVER), dict(entry))]
    if not isinstance(known, dict) or "url" in known or known.get("type", "stdio") != "stdio":
        raise MemslotError(f'its server "{SERVER}" is of another kind; remove that entry first')
    changes: list[tuple[tuple[str, ...], Any]] = []
    for name, value in entry.items():
        if name == "env" and isinstance(known.get("env"), dict):
            inner = [(key, item) for key, item in value.items() if known["env"].get(key) != item]
            changes += [((client.key, SERVER, "env", key), item) for key, item in inner]
        elif known.get(name) != value:
            changes.append(((client.key, SERVER, name), value))
    return changes


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
    tree[path[-1]] = value


def _put_in_toml(document: Any, path: tuple[str, ...], value: Any) -> None:
    import tomlkit

    owner = document
    for step in path[:-1]:
        if step not in owner:
            owner[step] = tomlkit.table(is_super_table=True)
        owner = owner[step]
    owner[path[-1]] = value
