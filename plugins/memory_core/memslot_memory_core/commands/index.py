"""`memslot memory index`."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

import click
from memslot import PluginContext, clean_lines, print_json, say_done, say_warning

from memslot_memory_core.backend import Backend, backend_of
from memslot_memory_core.index.report import SyncProgress, SyncReport

_WAIT_SECONDS = 600.0
_RESCAN_SECONDS = 0.5


def make_index_command(ctx: PluginContext) -> click.Command:
    @click.command()
    @click.option("--force", is_flag=True, help="Rebuild the index; cached embeddings are reused.")
    @click.option("--watch", is_flag=True, help="Keep running and index changes until Ctrl-C.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def index(force: bool, watch: bool, as_json: bool) -> None:
        """Update the index from the notes and transcripts on disk.

        Only changed files are read and embedded. Searches keep working meanwhile.

        \b
        Examples:
          memslot memory index
          memslot memory index --force
          memslot memory index --watch
        """
        if not ctx.workspace.is_dir():
            raise click.ClickException(
                f"the workspace {ctx.workspace} does not exist, nothing to index; run: memslot init"
            )
        backend = backend_of(ctx)
        with _progress_bar() as show:
            report = backend.sync(force=force, progress=show, wait_seconds=_WAIT_SECONDS)
        _print_report(report, as_json)
        # The first index is always built from scratch: --force was not ignored there.
        was_spared = force and not report.rebuilt and (report.unchanged > 0 or report.mismatch is not None)
        if was_spared:
            say_warning("the index was not rebuilt")
        if watch:
            _watch(backend, report)
        elif not report.complete or was_spared:
            raise click.exceptions.Exit(1)

    return index


def _print_report(report: SyncReport, as_json: bool) -> None:
    if as_json:
        print_json(report.to_json())
    else:
        verb = "Rebuilt" if report.rebuilt else "Indexed"
        parts = [f"{report.indexed} changed", f"{report.removed} removed", f"{report.unchanged} unchanged"]
        say_done(f"{verb}: {', '.join(parts)}; {report.embedded} texts embedded, {report.seconds:.1f} s")
    for problem in report.problems:
        say_warning(clean_lines(problem))
    if report.mismatch is not None:
        say_warning("rebuild it with: memslot memory index --force")


def _watch(backend: Backend, seen: SyncReport) -> None:
    """Print each sync that changed something; `seen` was printed already."""
    click.echo(f"{backend.start_watching()}; press Ctrl-C to stop.", err=True)
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(_RESCAN_SECONDS)
            last = backend.last_sync()
            if last is None or last is seen:
                continue
            if last.changed:
                click.echo(f"{time.strftime('%H:%M:%S')}  {last.indexed} changed, {last.removed} removed")
            for problem in last.problems:
                if problem not in seen.problems:
                    say_warning(clean_lines(problem))
            seen = last


@contextlib.contextmanager
def _progress_bar() -> Iterator[Callable[[SyncProgress], None] | None]:
    """A progress bar on a terminal, nothing otherwise."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Indexing", total=None)

        def show(progress: SyncProgress) -> None:
            if progress.phase == "finishing":
                bar.reset(task, description="Finishing the vector tables", total=None)
            else:
                bar.update(task, completed=progress.files, total=progress.total or None)

        yield show
