"""Search results as text, the same in every command that searches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from memslot.cli.output import clean, clean_lines, echo

if TYPE_CHECKING:
    from memslot.memory.contract import MemoryHit, MemorySearchOutcome


def print_hit(hit: MemoryHit, memory_id: str | None = None) -> None:
    """Print a hit under a heading: its memory if given, its location and its score."""
    owner = click.style(f"{clean(memory_id)}  ", fg="cyan") if memory_id else ""
    echo(owner + click.style(f"{clean(hit.citation)}  {hit.score:.2f}", bold=True))
    echo(clean_lines(hit.snippet))
    echo()


def print_explanation(explanation: Mapping[str, Any] | None, indent: str = "  ") -> None:
    """Print how a score was computed, one line per part; the memory names the parts."""
    for name, value in (explanation or {}).items():
        if isinstance(value, Mapping):
            echo(f"{indent}{clean(name)}")
            print_explanation(value, indent + "  ")
        elif value is not None:
            shown = f"{value:.4g}" if isinstance(value, float) else value
            echo(f"{indent}{clean(name)}: {clean(str(shown))}")


def say_remarks(outcome: MemorySearchOutcome, memory_id: str | None = None) -> None:
    """Print a search's warnings and remedies on stderr."""
    of = f"{memory_id}: " if memory_id else ""
    for word, sentence in (("Warning", outcome.warning), ("Stale", outcome.stale), ("Try", outcome.action)):
        if sentence:
            click.echo(click.style(f"{word}: ", fg="yellow") + of + clean_lines(sentence), err=True)
