"""memslot's entry among the MCP servers in a client's config: the command, adding and removing it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memslot import MemslotError

from memslot_mcp_server.clients.catalog import ServerPlace
from memslot_mcp_server.clients.draft import Draft

SERVER = "memslot"
_CARRIED = ("MEMSLOT_HOME", "MEMSLOT_CONFIG")


@dataclass(frozen=True)
class Program:
    """How another program starts memslot."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


def this_program(*arguments: str, shared: bool) -> Program:
    """This memslot with these arguments; `shared` is for a file that other machines also read."""
    if shared:
        return Program("memslot", arguments)
    script = _script("memslot")
    if script is not None:
        return Program(str(script), arguments, _carried_env())
    return Program(sys.executable, ("-m", "memslot", *arguments), _carried_env())


def hook_program(agent: str | None, *, shared: bool) -> Program:
    """The command that coding agents' hooks call."""
    which = ("--agent", agent) if agent else ()
    if shared:
        return Program("memslot-hook", which)
    script = _script("memslot-hook")
    if script is not None:
        return Program(str(script), which, _carried_env())
    return Program(sys.executable, ("-m", "memslot_mcp_server.hook_client", *which), _carried_env())


def _script(name: str) -> Path | None:
    """Full path of a command of this installation: desktop programs do not have the shell's PATH."""
    script = Path(sys.executable).with_name(f"{name}.exe" if sys.platform == "win32" else name)
    return script if script.is_file() else None


def _carried_env() -> dict[str, str]:
    # A ~ that no shell has expanded is one to memslot, too.
    given = {name: os.path.expanduser(os.environ[name]) for name in _CARRIED if os.environ.get(name)}  # noqa: PTH111
    return {name: str(Path(path).absolute()) for name, path in given.items()}


def entry_of(place: ServerPlace, program: Program) -> dict[str, Any]:
    """The server's entry in the client's format, without the place's options."""
    env = dict(program.env)
    if place.shape == "opencode":
        entry: dict[str, Any] = {"type": "local", "command": [program.command, *program.args]}
        return entry | ({"environment": env} if env else {})
    entry = {"type": "stdio"} if place.shape == "typed" else {}
    entry |= {"command": program.command, "args": list(program.args)}
    return entry | ({"env": env} if env else {})


def add_entry(draft: Draft, place: ServerPlace, entry: Mapping[str, Any], *, shared: bool = False) -> None:
    """Put memslot among a client's servers; `shared` is for a file that other people read, too.

    What the user added to the entry (timeouts, variables) stays. Raises a MemslotError if the config has another
    structure, or another kind of server under that name.
    """
    known = find_entry(draft, place)
    options = {**place.options, **({} if shared else place.own_options)}
    if known is None:
        draft.put((place.key, SERVER), {**entry, **options})
        return
    for name, value in entry.items():
        if isinstance(value, dict) and isinstance(known.get(name), dict):
            for key, item in value.items():
                draft.put((place.key, SERVER, name, key), item)
        else:
            draft.put((place.key, SERVER, name), value)
    for name, value in options.items():
        if name not in known:
            draft.put((place.key, SERVER, name), value)


def remove_entry(draft: Draft, place: ServerPlace) -> None:
    """Remove memslot from a client's servers. An entry of another kind is not ours, and stays."""
    if own_entry(draft, place) is not None:
        draft.remove((place.key, SERVER))


def own_entry(draft: Draft, place: ServerPlace) -> dict[str, Any] | None:
    """The entry that `add_entry` wrote; None if there is none, or one of another kind."""
    known = _named_entry(draft, place)
    return known if _is_own(known, place) else None


def find_entry(draft: Draft, place: ServerPlace) -> dict[str, Any] | None:
    """The entry of memslot; raises a MemslotError if it is of another kind, and so is not ours."""
    known = _named_entry(draft, place)
    if known is None:
        return None
    if not _is_own(known, place):
        raise MemslotError(f'its server "{SERVER}" is of another kind; remove that entry first')
    return dict(known)


def _named_entry(draft: Draft, place: ServerPlace) -> Any:
    servers = draft.tree.get(place.key, {})
    if not isinstance(servers, dict):
        raise MemslotError(f'its "{place.key}" is not an object')
    return servers.get(SERVER)


def _is_own(known: Any, place: ServerPlace) -> bool:
    kind = "local" if place.shape == "opencode" else "stdio"
    return isinstance(known, dict) and not {"url", "httpUrl"} & known.keys() and known.get("type", kind) == kind


def program_of(place: ServerPlace, entry: Mapping[str, Any]) -> Program | None:
    """Return the command of the entry; None if it has none."""
    command, args = entry.get("command"), entry.get("args", [])
    env = entry.get("environment" if place.shape == "opencode" else "env") or {}
    if place.shape == "opencode" and isinstance(command, list):
        command, args = (command[0], command[1:]) if command else (None, [])
    if not isinstance(command, str) or not isinstance(args, list) or not isinstance(env, dict):
        return None
    return Program(command, tuple(map(str, args)), {str(key): str(value) for key, value in env.items()})
