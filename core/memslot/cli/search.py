"""`memslot search`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memslot.cli.memory_output import print_explanation, print_hit, say_remarks
from memslot.cli.options import agent_option, json_option
from memslot.cli.output import clean, print_json, say_warning
from memslot.cli.slot import ANSWER_SECONDS, check_memory_id, open_memories, refresh_all

if TYPE_CHECKING:
    from memslot.memory.contract import MemorySearchOutcome
    from memslot.memory.stack import StackOutcome


@click.command("search")
@click.argument("query")
@click.option("--in", "memory_id", metavar="ID", help="Search this memory only.")
@click.option(
    "-n", "--max-results", type=click.IntRange(1, 200), help="Maximum number of results (default: from the config)."
)
@click.option("--min-score", type=click.FloatRange(0, 1), help="Minimum score of a result.")
@click.option("--explain", is_flag=True, help="Show how each score was computed.")
@agent_option
@json_option
def command(
    query: str,
    memory_id: str | None,
    max_results: int | None,
    min_score: float | None,
    explain: bool,
    agent: str | None,
    as_json: bool,
) -> None:
    """Search every memory in the slot for QUERY; one list, best match first.

    A memory that fails is named on stderr, and the others answer. Exits with 1 if none does.

    \b
    Examples:
      memslot search "when do we release?"
      memslot search "what does Ada drink?" --in memory-lancedb -n 3
      memslot search "gate code" --json | jq -r '.results[0].path'
    """
    if not query.strip():
        raise click.UsageError("the query is empty: give a few words to search for")
    with open_memories(agent) as host:
        only = check_memory_id(host, memory_id)
        refresh_all(host, only)
        outcome = host.memories.search(
            query,
            max_results=max_results,
            only=only,
            min_score=min_score,
            explain=explain,
            seconds=ANSWER_SECONDS,
        )
        if as_json:
            print_json(_outcome_json(outcome, explain))
        else:
            _print_outcome(outcome, explain)
        for problem_id, problem in outcome.problems.items():
            say_warning(f"{problem_id}: {clean(problem)}")
    if all(each.mode == "unavailable" for each in outcome.outcomes.values()):
        raise click.exceptions.Exit(1)


def _print_outcome(outcome: StackOutcome, explain: bool) -> None:
    several = len(outcome.outcomes) + len(outcome.problems) > 1
    for found in outcome.hits:
        print_hit(found.hit, found.memory_id if several else None)
        if explain and found.hit.explanation:
            print_explanation(found.hit.explanation)
            click.echo(err=True)
    for memory_id, each in outcome.outcomes.items():
        say_remarks(each, memory_id if several else None)
    if outcome.weak and not any(each.warning for each in outcome.outcomes.values()):
        click.echo("None of these is a good match; they are the closest ones.", err=True)


def _outcome_json(outcome: StackOutcome, explain: bool) -> dict[str, Any]:
    return {
        "results": [{"memory": found.memory_id, **found.hit.to_json()} for found in outcome.hits],
        "weak": outcome.weak,
        "memories": {memory_id: _memory_json(each, explain) for memory_id, each in outcome.outcomes.items()},
        "problems": dict(outcome.problems),
    }


def _memory_json(outcome: MemorySearchOutcome, explain: bool) -> dict[str, Any]:
    """How one memory searched; keys without a value are left out."""
    told = {
        "mode": outcome.mode,
        "provider": outcome.provider,
        "model": outcome.model,
        "fallback": outcome.fallback,
        "warning": outcome.warning,
        "action": outcome.action,
        "stale": outcome.stale,
        "explain": outcome.explanation if explain else None,
    }
    return {name: value for name, value in told.items() if value is not None}
