"""The plugin with which opencode calls memslot: it has no hooks that run commands."""

from __future__ import annotations

import json
import re
from importlib import resources

from memslot_mcp_server.clients.server_entry import Program

_COMMAND = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)
_VARIABLES = re.compile(r"^const VARIABLES = (\{.*\})$", re.MULTILINE)


def render_plugin(program: Program) -> str:
    """The plugin's source, with the command that it calls."""
    text = resources.files(__package__).joinpath("opencode_plugin.js").read_text(encoding="utf-8")
    text = text.replace('["memslot-hook"]', json.dumps([program.command, *program.args]), 1)
    return text.replace("const VARIABLES = {}", f"const VARIABLES = {json.dumps(dict(program.env))}", 1)


def plugin_program(source: str) -> Program | None:
    """The command that a plugin's source calls; None if it is not the plugin of memslot."""
    command, variables = _COMMAND.search(source), _VARIABLES.search(source)
    if command is None or variables is None:
        return None
    try:
        program, *args = json.loads(command[1])
        return Program(str(program), tuple(map(str, args)), dict(json.loads(variables[1])))
    except (ValueError, TypeError):
        return None
