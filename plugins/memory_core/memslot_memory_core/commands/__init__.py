"""The `memslot memory` command group."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import click
from memslot import PluginContext

_MODULES = {
    "audit": "audit",
    "eval": "eval",
    "export": "transfer",
    "get": "search",
    "import": "transfer",
    "index": "index",
    "search": "search",
    "status": "status",
}


class _Commands(click.Group):
    """Imports a command when it is called: a search needs no audit."""

    plugin: PluginContext

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        module = import_module(f"{__name__}.{_MODULES[cmd_name]}")
        make: Callable[[PluginContext], click.Command] = getattr(module, f"make_{cmd_name}_command")
        return make(self.plugin)


def add_commands(cli: click.Group, ctx: PluginContext) -> None:
    """Add the `memory` group to the command line."""

    @click.group(name="memory", cls=_Commands)
    def group() -> None:
        """Search, read and index the agent's notes and transcripts.

        \b
        Examples:
          memslot memory search "release date"
          memslot memory index
          memslot memory status --deep
        """

    group.plugin = ctx
    cli.add_command(group)
