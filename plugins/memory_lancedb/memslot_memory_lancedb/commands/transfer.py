"""`ltm export` and `ltm import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click
from memslot import atomic_file

from memslot_memory_lancedb.commands.output import memories, print_json, say, say_done, say_warning
from memslot_memory_lancedb.errors import TransferError
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.memory_record import MemoryRecord
from memslot_memory_lancedb.settings import Settings
from memslot_memory_lancedb.transfer.formats import read_jsonl, read_markdown, write_jsonl, write_markdown
from memslot_memory_lancedb.transfer.memory_import import import_memories

Format = Literal["jsonl", "markdown"]
FORMATS = ("jsonl", "markdown")


def add_commands(group: click.Group, memory: LanceMemory, settings: Settings) -> None:
    @group.command("export")
    @click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
    @click.option("--format", "form", type=click.Choice(FORMATS), help="File format (default: from the file name).")
    @click.option("--force", is_flag=True, help="Overwrite FILE.")
    def export_memories(file: Path | None, form: Format | None, force: bool) -> None:
        """Export all memories to FILE or stdout. `memslot ltm import` reads them back, losslessly.

        \b
        Examples:
          memslot ltm export memories.jsonl
          memslot ltm export memories.md
          memslot ltm export | jq -r .text
        """
        if file is not None and file.exists() and not force:
            raise click.ClickException(f"{file} exists already; overwrite it with --force")
        table = memory.store.live()
        found = sorted(table.scan(), key=lambda each: (each.created_at, each.id)) if table is not None else []
        write_memories(found, file, form)
        if file is not None:
            say_done(f"{memories(len(found))} written to {file}")

    @group.command("import")
    @click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True))
    @click.option("--format", "form", type=click.Choice(FORMATS), help="File format (default: from the file name).")
    @click.option("--replace", is_flag=True, help="Overwrite memories of the same id that differ.")
    @click.option("--dry-run", is_flag=True, help="Show what would be imported, without writing anything.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def import_file(file: Path, form: Format | None, replace: bool, dry_run: bool, as_json: bool) -> None:
        """Import the memories in FILE (- for stdin).

        \b
        Examples:
          memslot ltm import memories.jsonl --dry-run
          memslot ltm import memories.jsonl
        """
        read = read_memories(file, form)
        bar = click.progressbar(length=len(read), label="importing", file=sys.stderr, hidden=not sys.stderr.isatty())
        with bar:
            done = import_memories(
                memory.store, memory.embedder, read, replace_differing=replace, dry_run=dry_run, progress=bar.update
            )
        if as_json:
            kinds = {key: getattr(done, key) for key in ("added", "replaced", "unchanged", "differing")}
            print_json({**kinds, "dryRun": dry_run, "warning": done.warning})
            return
        would = "would be " if dry_run else ""
        say_done(f"{memories(len(done.added))} {would}added, {len(done.replaced)} {would}replaced")
        if done.unchanged:
            say(f"{memories(len(done.unchanged))} there already")
        if done.differing:
            say_warning(f"{memories(len(done.differing))} differ from stored ones and were not replaced: use --replace")
        if done.warning:
            say_warning(done.warning)


def write_memories(found: list[MemoryRecord], file: Path | None, form: Format | None) -> None:
    """Write to a file with mode 0600, or to stdout."""
    pieces = write_markdown(found) if _format_of(file, form) == "markdown" else write_jsonl(found)
    if file is None:
        for piece in pieces:
            click.echo(piece.encode(), nl=False)
        return
    try:
        with atomic_file(file, follow_links=True) as target:
            target.writelines(piece.encode() for piece in pieces)
    except OSError as error:
        raise click.ClickException(f"{file} cannot be written: {error.strerror}") from None


def read_memories(file: Path, form: Format | None) -> list[MemoryRecord]:
    """The memories of a file; raises a TransferError that names the line."""
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TransferError(f"{file} is not UTF-8 text") from None
    except OSError as error:
        raise TransferError(f"{file} cannot be read: {error.strerror}") from None
    if _format_of(file, form) == "markdown":
        return list(read_markdown(text))
    return list(read_jsonl(text.split("\n")))


def _format_of(file: Path | None, form: Format | None) -> Format:
    if form is not None:
        return form
    return "markdown" if file is not None and file.suffix.lower() in (".md", ".markdown") else "jsonl"
