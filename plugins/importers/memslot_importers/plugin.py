"""The hooks of importers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memslot import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def register_commands(cli: click.Group) -> None:
    from memslot_importers.commands import import_group, import_sessions

    cli.add_command(import_group)
    cli.add_command(import_sessions, "sessions import")
