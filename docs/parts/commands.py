"""The command line, from the commands' own help."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from memslot.cli.app import app

WIDTH = 100


@dataclass(frozen=True)
class Shown:
    """One command: its full name, such as `memslot plugins list`, and its help."""

    name: str
    command: click.Command
    help: str


def render() -> str:
    parts = []
    for shown in list_commands():
        heading = "###" if shown.name.count(" ") < 2 else "####"
        parts.append(f"{heading} {shown.name}\n\n```text\n{shown.help}\n```")
    return "\n\n".join(parts)


def list_commands() -> list[Shown]:
    """memslot's own commands, groups before what is in them."""
    with _without_plugins():
        return list(_walk("memslot", app, None))


def _walk(name: str, command: click.Command, parent: click.Context | None) -> Iterator[Shown]:
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    ctx = click.Context(command, info_name=name.rsplit(" ", 1)[-1], parent=parent, **settings)
    yield Shown(name, command, command.get_help(ctx).rstrip())
    if isinstance(command, click.Group):
        for sub_name in command.list_commands(ctx):
            sub = command.get_command(ctx, sub_name)
            if sub is not None and not sub.hidden:
                yield from _walk(f"{name} {sub_name}", sub, ctx)


@contextmanager
def _without_plugins() -> Iterator[None]:
    """What happens to be installed and configured on this machine does not belong in the page."""
    changes = {"MEMSLOT_DISABLE_PLUGINS": "1", "MEMSLOT_HOME": os.path.join(os.devnull, "none")}  # noqa: PTH118
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def render_of_plugins(folder: Path) -> str:
    """The commands that the plugins in this repository add, from their manifests."""
    lines = ["| command | plugin | what it does |", "|---|---|---|"]
    for file in sorted(folder.glob("*/*/**/memslot.plugin.json")):
        manifest = json.loads(file.read_text(encoding="utf-8"))
        for command in manifest.get("provides", {}).get("commands", ()):
            name, about = (command, "") if isinstance(command, str) else (command["name"], command.get("help", ""))
            lines.append(f"| `memslot {name}` | `{manifest['id']}` | {about} |")
    return "\n".join(lines)
