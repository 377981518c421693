"""`memslot memory export` and `memslot memory import`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
from memslot import (
    FileBusyError,
    MemslotError,
    PluginContext,
    clean_lines,
    file_lock,
    print_json,
    print_table,
    say_done,
    say_warning,
)

from memslot_memory_core.backend import backend_of, location_of
from memslot_memory_core.settings import search_settings

if TYPE_CHECKING:
    from memslot_memory_core.index.report import SyncReport
    from memslot_memory_core.transfer.archive_export import ExportReport
    from memslot_memory_core.transfer.archive_import import ImportReport
    from memslot_memory_core.transfer.item import Item, UnusableItem

_SYNC_WAIT_SECONDS = 60.0


def make_export_command(ctx: PluginContext) -> click.Command:
    @click.command()
    @click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
    @click.option("--sessions", is_flag=True, help="Export transcripts, too.")
    @click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
    @click.option("--json", "as_json", is_flag=True, help="Print a JSON report.")
    def export(file: Path, sessions: bool, overwrite: bool, as_json: bool) -> None:
        """Export the notes to FILE, byte for byte.

        FILE is a .zip or .jsonl file, or - for JSON Lines on stdout. Nothing is redacted; list secrets first with:
        memslot memory audit --kind secret

        \b
        Examples:
          memslot memory export notes.zip
          memslot memory export everything.zip --sessions
          memslot memory export - | jq -r .path
        """
        from memslot_memory_core.transfer.archive_export import export as write_export
        from memslot_memory_core.transfer.archive_export import new_file

        settings = search_settings(ctx)
        location = location_of(ctx, settings)
        to_stdout = str(file) == "-"
        layout: Any = "jsonl" if to_stdout else file.suffix.lower().removeprefix(".")
        if layout not in ("zip", "jsonl"):
            raise click.UsageError(f'"{file}" must end in .zip or .jsonl, or be - for stdout')
        if to_stdout and as_json:
            raise click.UsageError("--json needs a FILE; stdout is taken by the notes")
        with _stdout() if to_stdout else new_file(file, overwrite=overwrite) as stream:
            report = write_export(
                stream,
                layout,
                location.workspace,
                extra_paths=settings.extra_paths,
                sessions_dir=location.sessions_dir if sessions else None,
                agent=location.agent_id,
                exportedAt=datetime.now(UTC).isoformat(timespec="seconds"),
            )
            stream.flush()
        _print_export(report, file, to_stdout, as_json)
        if report.problems:
            raise click.exceptions.Exit(1)

    return export


@contextlib.contextmanager
def _stdout() -> Iterator[BinaryIO]:
    yield sys.stdout.buffer


def _print_export(report: ExportReport, file: Path, to_stdout: bool, as_json: bool) -> None:
    if as_json:
        print_json({"file": str(file), **report.to_json()})
    elif not to_stdout:
        say_done(f"{report.files} files, {report.size:,} bytes, written to {file}")
    if report.outside:
        say_warning(
            f"{len(report.outside)} notes in extraPaths outside the workspace were not exported: copy their folders, "
            "and add them to the other config"
        )
    for problem in report.problems:
        say_warning(clean_lines(problem))


def make_import_command(ctx: PluginContext) -> click.Command:
    @click.command("import")
    @click.argument("file", type=click.Path(path_type=Path, exists=True, allow_dash=True))
    @click.option("--overwrite", is_flag=True, help="Replace notes that differ; the old ones are kept as NAME.bak-N.")
    @click.option("--dry-run", is_flag=True, help="Show what would be imported, without writing anything.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def import_(file: Path, overwrite: bool, dry_run: bool, as_json: bool) -> None:
        """Import notes from FILE.

        FILE is an exported .zip or .jsonl, any zip or folder of Markdown, or - for stdin. Identical notes are skipped.
        If a note exists with a different text, it stays, and the command exits with 1. Paths that would not be indexed
        are moved below memory/.

        \b
        Examples:
          memslot memory import notes.zip --dry-run
          memslot memory import ~/vault
          memslot memory import notes.zip --overwrite
        """
        from memslot_memory_core.transfer.archive_import import Target, ignores_case, import_items

        settings = search_settings(ctx)
        location = location_of(ctx, settings)
        _refuse_own_folder(file, location.workspace)
        target = Target(
            location.workspace, location.sessions_dir, settings.extra_paths, ignores_case(location.workspace)
        )
        with _one_import_at_a_time(ctx), _opened(file) as items:
            report = import_items(items, target, overwrite=overwrite, dry_run=dry_run)
        synced, problem = _sync(ctx) if report.changed and not dry_run else (None, None)
        if as_json:
            sync = None if synced is None else synced.to_json()
            print_json({"file": str(file), "dryRun": dry_run, **report.to_json(), "sync": sync})
        else:
            _print_import(report, dry_run, synced)
        if problem is not None:
            say_warning(problem)
        if not report.is_whole:
            raise click.exceptions.Exit(1)

    return import_


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[Iterator[Item | UnusableItem]]:
    """The files of an archive, whatever its format."""
    from memslot_memory_core.transfer.folders import read_folder
    from memslot_memory_core.transfer.json_lines import read_json_lines
    from memslot_memory_core.transfer.zip_files import read_zip

    if str(file) == "-":
        yield read_json_lines(sys.stdin.buffer, "stdin")
        return
    if file.is_dir():
        yield read_folder(file)
        return
    try:
        with file.open("rb") as stream:
            if file.suffix.lower() == ".zip" or stream.read(4) == b"PK\3\4":
                yield read_zip(file)
                return
            if file.suffix.lower() not in (".jsonl", ".ndjson", ".json"):
                raise MemslotError(f"{file} is not a zip, a .jsonl or a folder; put single notes into a folder")
            stream.seek(0)
            yield read_json_lines(stream, str(file))
    except OSError as error:
        raise MemslotError(f"{file} cannot be read: {error.strerror or error}") from None


def _refuse_own_folder(file: Path, workspace: Path) -> None:
    """Refuse a folder inside the workspace, or around it: it would be copied into itself."""
    if str(file) == "-" or not file.is_dir():
        return
    ours, theirs = workspace.resolve(), file.resolve()
    if ours == theirs or ours in theirs.parents or theirs in ours.parents:
        raise MemslotError(
            f"{file} and the workspace {workspace} overlap; to index notes in place, add their folder to "
            "memorySearch.extraPaths"
        )


@contextlib.contextmanager
def _one_import_at_a_time(ctx: PluginContext) -> Iterator[None]:
    try:
        with file_lock(ctx.state_dir() / f"import-{ctx.agent_id}.lock"):
            yield
    except FileBusyError:
        raise MemslotError("another import is running; try again when it is done") from None


def _sync(ctx: PluginContext) -> tuple[SyncReport | None, str | None]:
    """Index the imported files; they are imported even if this fails."""
    try:
        report = backend_of(ctx).sync(wait_seconds=_SYNC_WAIT_SECONDS)
    except MemslotError as error:
        return None, f"the files are imported, but not indexed yet: {error}"
    return report, "; ".join(report.problems) or None


def _print_import(report: ImportReport, dry_run: bool, synced: SyncReport | None) -> None:
    told = [each for each in report.outcomes if each.state not in ("same", "ignored")]
    if told:
        rows = [(each.state, each.path, each.reason or (f"old: {each.backup}" if each.backup else "")) for each in told]
        print_table(("state", "path", "why"), rows)
    counts = ", ".join(f"{count} {state}" for state, count in report.to_json()["counts"].items() if count)
    indexed = "" if synced is None else f"; {synced.indexed} files indexed"
    say_done(f"{'would be: ' if dry_run else ''}{counts or 'nothing to import'}{indexed}")
    if report.of("conflict"):
        say_warning(
            "notes that differ were not replaced; use --overwrite to replace them and keep the old ones as NAME.bak-N"
        )
    if report.of("refused"):
        say_warning("some files were refused, see above")
