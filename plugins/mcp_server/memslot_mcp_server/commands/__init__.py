"""`memslot connect`, `memslot mcp …` and `memslot hook …`."""

from __future__ import annotations

import click
from memslot import PluginContext

from memslot_mcp_server.commands.connect import make_connect_command
from memslot_mcp_server.commands.hook import make_hook_command
from memslot_mcp_server.commands.mcp import make_mcp_command


def add_commands(cli: click.Group, ctx: PluginContext) -> None:
    cli.add_command(make_connect_command(ctx))
    cli.add_command(make_mcp_command(ctx))
    cli.add_command(make_hook_command(ctx))
