"""Output of the commands: results on stdout, messages on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click


def print_json(data: Any) -> None:
    """Print one JSON document, with escapes if stdout can't encode every character."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    click.echo(json.dumps(data, ensure_ascii=not encoding.lower().startswith("utf"), indent=2))


def clean(text: str, limit: int = 10_000) -> str:
    """One printable line, without control characters or escape sequences."""
    folded = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return folded if len(folded) <= limit else folded[: limit - 1] + "…"


def say(message: str) -> None:
    """Print a message to stderr."""
    click.echo(message, err=True)


def say_warning(message: str) -> None:
    click.echo(click.style("Warning: ", fg="yellow") + clean(message), err=True)


def say_done(message: str) -> None:
    click.echo(click.style("✓ ", fg="green") + message)


def print_pairs(pairs: Iterable[tuple[str, object]]) -> None:
    """Print name-value pairs, without empty values."""
    known = [(name, clean(str(value))) for name, value in pairs if value not in (None, "")]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        click.echo(f"{click.style(name.ljust(width), bold=True)}  {value}")


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table: by rich on a terminal, aligned columns otherwise."""
    cells = [[clean(str(cell)) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in headings:
            table.add_column(heading, overflow="fold")
        for row in cells:
            table.add_row(*(Text(cell) for cell in row))  # Text, not markup: a memory may hold square brackets
        Console().print(table)
        return
    widths = [max(len(row[i]) for row in [list(headings), *cells]) for i in range(len(headings))]
    for row in [list(headings), *cells]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def pluralize(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def memories(number: int) -> str:
    return pluralize(number, "memory", "memories")
