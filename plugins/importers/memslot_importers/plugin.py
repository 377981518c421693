"""The hooks of importers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memslot import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def register_commands(cli: click.Group) -> None:
    from memslot_importers.commands import import_group, import_sessions
    from memslot_importers.memory_commands import memory_commands

    for command in memory_commands():
        import_group.add_command(command)
    cli.add_command(import_group)
    cli.add_command(import_sessions, "sessions import")
