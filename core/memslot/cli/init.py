"""`memslot init`."""

from __future__ import annotations

from pathlib import Path

import click

from memslot.cli.options import json_option
from memslot.cli.output import print_json, say_done


@click.command("init")
@json_option
def command(as_json: bool) -> None:
    """Create a home folder, a config and a starter workspace.

    Existing files are left alone; running it twice changes nothing.

    \b
    Examples:
      memslot init
      MEMSLOT_HOME=/srv/bot/.memslot memslot init
    """
    from memslot.config.paths import Places
    from memslot.config.starter import starter_config, starter_memory
    from memslot.plugins.config_loader import load_config
    from memslot.storage.folder import make_private_dir

    places = Places.from_env()
    made: list[str] = []
    _make_folder(places.home, made)
    _make_file(places.config_file, starter_config(), made)
    config = load_config(places).config
    workspace = config.workspace(config.default_agent_id(), places)
    _make_folder(workspace, made)
    make_private_dir(workspace / "memory")
    if not (workspace / "memory.md").exists():
        _make_file(workspace / "MEMORY.md", starter_memory(), made)
    if as_json:
        print_json(
            {
                "home": str(places.home),
                "config": str(places.config_file),
                "workspace": str(workspace),
                "made": made,
            }
        )
        return
    for path in made:
        say_done(f"created {path}")
    if not made:
        click.echo("Already set up; nothing changed.")
    click.echo('Next: memslot run "what do you know about me?"')


def _make_folder(path: Path, made: list[str]) -> None:
    from memslot.storage.folder import make_private_dir

    if path.is_dir():
        return
    try:
        make_private_dir(path)
    except OSError as error:
        raise click.ClickException(f"{path} cannot be created: {error.strerror}") from None
    made.append(str(path))


def _make_file(path: Path, text: str, made: list[str]) -> None:
    from memslot.errors import MemslotError
    from memslot.storage.atomic import write_file
    from memslot.storage.lock import note_lock

    if path.exists() or path.is_symlink():
        return
    try:
        with note_lock(path):
            write_file(path, text, overwrite=False)
    except FileExistsError:  # another process was faster
        return
    except MemslotError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}") from None
    made.append(str(path))
