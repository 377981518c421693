"""The commands `memslot import claude-code`, `codex` and `hermes`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from memslot import CanKeepFiles, Host, MemslotError, one_line, print_json, print_table, say_done, say_warning

if TYPE_CHECKING:
    from memslot_importers.memories.note_import import NotesImport

_HELP = {
    "claude-code": (
        "Import Claude Code's memories and your own CLAUDE.md.",
        "PATH is Claude Code's home (default: ~/.claude).",
    ),
    "codex": ("Import Codex's memories.", "PATH is Codex's home (default: ~/.codex)."),
    "hermes": ("Import Hermes' memories, also those of its profiles.", "PATH is Hermes' home (default: ~/.hermes)."),
}


def memory_commands() -> list[click.Command]:
    """One command for each program."""
    return [_command(name) for name in _HELP]


def _command(name: str) -> click.Command:
    title, where = _HELP[name]

    @click.argument("path", required=False, type=click.Path(path_type=Path, exists=True, file_okay=False))
    @click.option("--dry-run", is_flag=True, help="Show what would happen without writing anything.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @click.pass_obj
    def command(host: Host, path: Path | None, dry_run: bool, as_json: bool) -> None:
        from memslot_importers.memories.note_import import PROGRAMS, import_notes

        program = PROGRAMS[name]
        home = path or Path(os.environ.get(program.variable) or program.home).expanduser()
        if host.memory is None:
            raise MemslotError(host.memory_problem or "there is no memory")
        found = host.memories.first(CanKeepFiles)
        done = import_notes(name, home.absolute(), found[1] if found else None, dry_run=dry_run)
        if as_json:
            print_json(done.to_json())
        else:
            _print(done, program.title)
        if done.left_alone:
            raise click.exceptions.Exit(1)

    command.__doc__ = f"""{title}

    {where} It is not changed. Each note says where it is from; secrets are redacted. Importing again adds only what is
    new, and never replaces what you changed here.

    \b
    Examples:
      memslot import {name} --dry-run
      memslot import {name}
    """
    return click.command(name)(command)


def _print(done: NotesImport, title: str) -> None:
    rows = [(note.state, note.path, note.origin) for note in done.notes if note.state in ("new", "updated")]
    if rows:
        print_table(("state", "note", "from"), rows)
    for note in done.left_alone:
        say_warning(f"{one_line(note.origin, 10_000)} was left alone: {one_line(note.reason, 10_000)}")
    if secrets := sum(note.secrets for note in done.notes if note.state in ("new", "updated")):
        say_warning(f"redacted {secrets} secret{'s' if secrets > 1 else ''}")
    verb = "would import" if done.dry_run else "imported"
    new, updated = done.count("new"), done.count("updated")
    told = f"{verb} {new} note{'' if new == 1 else 's'} of {title} into {done.root}"
    say_done(f"{told}; {updated} updated, {done.count('same')} there already")
