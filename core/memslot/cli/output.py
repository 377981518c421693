"""What commands print: results on stdout, the rest on stderr, colour only on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click


def print_json(data: Any) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(data, ensure_ascii=False, indent=2, default=str))


def say_error(message: str) -> None:
    click.echo(click.style("Error: ", fg="red", bold=True) + message, err=True)


def say_warning(message: str) -> None:
    click.echo(click.style("Warning: ", fg="yellow") + message, err=True)


def say_done(message: str) -> None:
    click.echo(click.style("✓ ", fg="green") + message)


def keep_log_quiet() -> None:
    """For commands that print diagnostics themselves: the log would say everything twice."""
    import logging

    logging.getLogger("memslot").addHandler(logging.NullHandler())


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table: drawn by rich on a terminal, plain columns where the output is read by a program."""
    rows = [[clean(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _print_rich(headings, rows)
        return
    widths = [max(len(row[i]) for row in [list(headings), *rows]) for i in range(len(headings))]
    for row in [list(headings), *rows]:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo(line.rstrip())


def _print_rich(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        # Text, not markup: a plugin's description may hold square brackets.
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    Console().print(table)


_STYLES = {
    "running": "green",
    "off": "dim",
    "error": "red",
    "ok": "green",
    "problem": "red",
    "warning": "yellow",
}


def clean(text: str) -> str:
    """One printable line: nothing a plugin says may move the cursor or colour the screen."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
