"""The hooks of mcp-server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memslot import PluginContext, hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def register_commands(ctx: PluginContext, cli: click.Group) -> None:
    from memslot_mcp_server.commands import add_commands

    add_commands(cli, ctx)
