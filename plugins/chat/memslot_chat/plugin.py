"""The hooks of chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memslot import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def register_commands(cli: click.Group) -> None:
    from memslot_chat.command import command

    cli.add_command(command)
