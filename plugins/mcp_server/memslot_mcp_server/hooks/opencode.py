"""The plugin with which opencode calls memslot: it has no hooks that run commands."""

from __future__ import annotations

import json
from importlib import resources

from memslot_mcp_server.clients.server_entry import Program

PLUGIN_FILE = "plugin/memslot.js"
"""In opencode's config folder."""


def render_plugin(program: Program) -> str:
    """The plugin's source, with the command that it calls."""
    text = resources.files(__package__).joinpath("opencode_plugin.js").read_text(encoding="utf-8")
    text = text.replace('["memslot-hook"]', json.dumps([program.command, *program.args]), 1)
    return text.replace("const VARIABLES = {}", f"const VARIABLES = {json.dumps(dict(program.env))}", 1)
