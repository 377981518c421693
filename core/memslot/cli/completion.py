"""`memslot completion`."""

from __future__ import annotations

import os
from pathlib import Path

import click

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def command(shell: str | None) -> None:
    """Print a completion script for SHELL (default: your login shell).

    \b
    Examples:
      memslot completion bash >> ~/.bashrc
      memslot completion zsh > "${fpath[1]}/_memslot"
      memslot completion fish > ~/.config/fish/completions/memslot.fish
    """
    from click.shell_completion import get_completion_class

    from memslot.cli.app import app

    name = shell or Path(os.environ.get("SHELL", "")).name
    found = get_completion_class(name) if name in SHELLS else None
    if found is None:
        raise click.UsageError(f"name a shell: {', '.join(SHELLS)}")
    click.echo(found(app, {}, "memslot", "_MEMSLOT_COMPLETE").source())
