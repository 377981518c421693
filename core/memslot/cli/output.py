"""What commands print: results on stdout, the rest on stderr, colour only on a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

import click

from memslot.text import clean_lines as clean_lines
from memslot.text import json_text, one_line

_results: TextIO | None = None
_WIDEST_PADDING = 60


@contextlib.contextmanager
def results_apart() -> Iterator[None]:
    """Reserve stdout for the command's results; what plugins print goes to stderr."""
    global _results
    _results, sys.stdout = sys.stdout, sys.stderr
    try:
        yield
    finally:
        sys.stdout, _results = _results, None


def echo(text: str = "") -> None:
    """Print a line of results."""
    click.echo(text, file=_results)


def print_json(data: Any) -> None:
    """Print a JSON document, escaping what stdout cannot encode."""
    echo(json_text(data, getattr(_results or sys.stdout, "encoding", None)))


def say_error(message: str) -> None:
    """Print an error on stderr."""
    click.echo(click.style("Error: ", fg="red", bold=True) + message, err=True)


def say_warning(message: str) -> None:
    """Print a warning on stderr."""
    click.echo(click.style("Warning: ", fg="yellow") + message, err=True)


def say_done(message: str) -> None:
    """Print what was done, as a line of the results."""
    echo(click.style("✓ ", fg="green") + message)


def silence_log() -> None:
    """Silence the log, for commands that print diagnostics themselves."""
    import logging

    logging.getLogger("memslot").addHandler(logging.NullHandler())


def print_pairs(pairs: Iterable[Sequence[str]]) -> None:
    """Print names and values, one pair per line, without empty values."""
    known = [(name, clean(value)) for name, value in pairs if value]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        echo(f"{click.style(name.ljust(width), bold=True)}  {value}")


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table: drawn by rich on a terminal, plain columns otherwise."""
    rows = [[clean(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _print_rich(headings, rows)
        return
    # One long cell must not push the other rows' columns out of sight.
    widths = [
        max((len(row[i]) for row in [list(headings), *rows] if len(row[i]) <= _WIDEST_PADDING), default=0)
        for i in range(len(headings))
    ]
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
    "on": "green",
    "off": "dim",
    "error": "red",
    "ok": "green",
    "problem": "red",
    "warning": "yellow",
}


def clean(text: str) -> str:
    """One printable line: nothing a plugin says may move the cursor or colour the screen."""
    return one_line(str(text), 10_000)


def counted(number: int, noun: str) -> str:
    """`1 problem`, `2 problems`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
