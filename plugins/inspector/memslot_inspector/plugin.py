"""The hooks of the inspector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memslot import PluginContext, hookimpl

if TYPE_CHECKING:
    import click
    from memslot import ToolResult


@hookimpl
def register_commands(ctx: PluginContext, cli: click.Group) -> None:
    from memslot_inspector.command import make_command

    cli.add_command(make_command(ctx))


@hookimpl
def after_tool_call(ctx: PluginContext, result: ToolResult) -> None:
    """Count what was found, if the user asked for it."""
    if ctx.config.get("countHits"):
        from memslot_inspector.hit_count import count_found

        count_found(ctx, result)
