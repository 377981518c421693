"""Adds memslot's hooks to Claude Code's settings, beside the hooks that are there."""

from __future__ import annotations

import copy
import shlex
import sys
from typing import Any

from memslot import MemslotError, edit_json

from memslot_mcp_server.clients.server_entry import Program, parse_json

EVENTS = {
    "SessionStart": ("session-start", 15),
    "UserPromptSubmit": ("prompt", 15),
    "Stop": ("stop", 60),
}
"""Claude Code's events, the command for each, and its timeout in seconds."""
_MARK = "claude-code "


def add_hooks(text: str, program: Program) -> str:
    """The settings with a memslot hook for each event; unchanged if all are there.

    Raises a MemslotError if the settings cannot be parsed or have an unexpected shape.
    """
    text = text if text.strip() else "{}\n"
    tree = parse_json(text)
    if not isinstance(tree, dict):
        raise MemslotError("it is not a JSON object")
    if not isinstance(tree.get("hooks", {}), dict):
        raise MemslotError('its "hooks" is not an object')
    for event, (name, seconds) in EVENTS.items():
        command = command_line(program, name)
        wanted = copy.deepcopy(tree)
        groups = wanted.setdefault("hooks", {}).setdefault(event, [])
        if not isinstance(groups, list):
            raise MemslotError(f'its "hooks.{event}" is not a list')
        place = _find(groups, name)
        if place is None:
            path: tuple[str | int, ...] = ("hooks", event, len(groups))
            value: Any = {"hooks": [{"type": "command", "command": command, "timeout": seconds}]}
            groups.append(value)
        else:
            path, value = ("hooks", event, place[0], "hooks", place[1], "command"), command
            groups[place[0]]["hooks"][place[1]]["command"] = command
        if wanted == tree:
            continue
        text = edit_json(text, path, value)
        tree = parse_json(text)
        if tree != wanted:
            raise MemslotError("it is written in a way that cannot be edited safely")
    return text


def command_line(program: Program, name: str) -> str:
    """The command, quoted for the shell."""
    words = [program.command, *program.args, "claude-code", name]
    if sys.platform == "win32":
        import subprocess

        return subprocess.list2cmdline(words)
    variables = [f"{key}={shlex.quote(value)}" for key, value in program.env.items()]
    return " ".join([*variables, shlex.join(words)])


def _find(groups: list[Any], name: str) -> tuple[int, int] | None:
    """Where memslot's hook for this command is, including one from another installation."""
    for number, group in enumerate(groups):
        hooks = group.get("hooks") if isinstance(group, dict) else None
        for place, hook in enumerate(hooks if isinstance(hooks, list) else ()):
            command = hook.get("command") if isinstance(hook, dict) else None
            if isinstance(command, str) and "memslot" in command and command.endswith(_MARK + name):
                return number, place
    return None
