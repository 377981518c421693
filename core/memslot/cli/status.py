"""`memslot status`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from memslot.cli.options import agent_option, json_option
from memslot.cli.output import clean, clean_lines, counted, echo, print_json, print_pairs
from memslot.cli.slot import ANSWER_SECONDS, open_memories

if TYPE_CHECKING:
    from memslot.memory.contract import MemoryStatus


@click.command("status")
@agent_option
@json_option
def command(agent: str | None, as_json: bool) -> None:
    """Show the state of every memory in the slot: what it holds, what it can do, and any problems.

    Exits with 1 if one of them has a problem.

    \b
    Examples:
      memslot status
      memslot status --json | jq '.memories[] | select(.healthy | not)'
    """
    from memslot.memory.capabilities import capabilities_of

    with open_memories(agent) as host:
        statuses = host.memories.statuses(seconds=ANSWER_SECONDS)
        can = {memory_id: capabilities_of(memory) for memory_id, memory in host.memories}
        healthy = all(status.is_healthy for status in statuses.values())
        if as_json:
            rows = [_status_json(each, status, can.get(each, ())) for each, status in statuses.items()]
            print_json({"healthy": healthy, "agent": host.agent_id, "memories": rows})
        else:
            for memory_id, status in statuses.items():
                _print_status(memory_id, status, can.get(memory_id, ()))
    if not healthy:
        raise click.exceptions.Exit(1)


def _print_status(memory_id: str, status: MemoryStatus, can: Sequence[str]) -> None:
    echo(click.style(f"{clean(memory_id)} ({clean(status.backend)})", bold=True, fg="cyan"))
    holds = ", ".join(f"{count:,} {_words(name)}" for name, count in status.counts.items())
    state = "ok" if status.is_healthy else counted(len(status.problems), "problem")
    print_pairs([("  state", state), ("  holds", holds), ("  can", ", ".join(("search", *can)))])
    for problem in status.problems:
        click.echo(click.style("Problem: ", fg="red") + f"{clean(memory_id)}: {clean_lines(problem)}", err=True)
    echo()


def _words(name: str) -> str:
    """Spell the count `withVector` as `with vector`."""
    return re.sub(r"(?<=[a-z])([A-Z])", lambda letter: f" {letter[1].lower()}", name)


def _status_json(memory_id: str, status: MemoryStatus, can: Sequence[str]) -> dict[str, Any]:
    return {
        "id": memory_id,
        "backend": status.backend,
        "healthy": status.is_healthy,
        "problems": list(status.problems),
        "counts": dict(status.counts),
        "can": ["search", *can],
        "details": dict(status.details),
    }
