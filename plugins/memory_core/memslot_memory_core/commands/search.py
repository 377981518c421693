"""`memslot memory search` and `memslot memory get`."""

from __future__ import annotations

import click
from memslot import (
    MemorySearchOutcome,
    PluginContext,
    Session,
    clean_lines,
    print_hit,
    print_json,
    print_table,
    say_remarks,
)

from memslot_memory_core.backend import backend_of
from memslot_memory_core.note_reader import MAX_LINES, lines_json
from memslot_memory_core.search.explain import explain_table
from memslot_memory_core.search_output import cites_sources, outcome_json
from memslot_memory_core.settings import memory_settings

FRESH_SECONDS = 5.0
"""How long a command may sync before it searches: it has no background thread to do it later."""


def make_search_command(ctx: PluginContext) -> click.Command:
    @click.command()
    @click.argument("query")
    @click.option(
        "-n", "--max-results", type=click.IntRange(1, 200), help="Maximum number of results (default: from the config)."
    )
    @click.option("--min-score", type=click.FloatRange(0, 1), help="Minimum score of a result.")
    @click.option(
        "--explain", is_flag=True, help="Show how each score was computed, and which results were dropped and why."
    )
    @click.option("--no-sync", is_flag=True, help="Search the index as it is, without syncing first.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def search(
        query: str, max_results: int | None, min_score: float | None, explain: bool, no_sync: bool, as_json: bool
    ) -> None:
        """Search notes and transcripts by meaning and keyword, best first.

        \b
        Examples:
          memslot memory search "when do we release?"
          memslot memory search "gate code" -n 3 --explain
          memslot memory search "gate code" --json | jq -r '.results[0].path'
        """
        outcome = backend_of(ctx).search(
            query,
            max_results=max_results,
            min_score=min_score,
            explain=explain,
            fresh_seconds=0.0 if no_sync else FRESH_SECONDS,
        )
        if as_json:
            cites = cites_sources(memory_settings(ctx).citations, Session(ctx.agent_id))
            print_json(outcome_json(outcome, cites=cites, footer=False))
        else:
            _print_outcome(outcome)
        if outcome.mode == "unavailable":
            raise click.exceptions.Exit(1)

    return search


def make_get_command(ctx: PluginContext) -> click.Command:
    @click.command()
    @click.argument("path")
    @click.option("--from", "from_line", type=click.IntRange(1), default=1, help="The first line.", show_default=True)
    @click.option("--lines", type=click.IntRange(1, MAX_LINES), default=200, help="How many.", show_default=True)
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def get(path: str, from_line: int, lines: int, as_json: bool) -> None:
        """Print lines of an indexed file; PATH is as printed by search.

        \b
        Examples:
          memslot memory get MEMORY.md
          memslot memory get memory/2026-01-02.md --from 10 --lines 5
        """
        part = backend_of(ctx).read(path, start_line=from_line, max_lines=lines)
        if as_json:
            print_json(lines_json(part))
            return
        if not part.lines:
            raise click.ClickException(
                f'nothing to read in "{clean_lines(path)}" from line {from_line} on; '
                "only indexed files can be read, by the path that search prints"
            )
        click.echo(clean_lines(part.text))
        if part.next_line is not None:
            click.echo(f"More lines follow: --from {part.next_line}", err=True)

    return get


def _print_outcome(outcome: MemorySearchOutcome) -> None:
    for hit in outcome.hits:
        print_hit(hit)
    say_remarks(outcome)
    shown = [hit.explanation for hit in outcome.hits if hit.explanation is not None]
    explained = [*shown, *(outcome.explanation or {}).get("dropped", ())]
    if explained:
        print_table(*explain_table(explained))
