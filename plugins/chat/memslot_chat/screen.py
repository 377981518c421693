"""The output interface of a turn, and its plain-text implementation."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Protocol, TextIO

import click
from memslot import one_line, strip_recalled

from memslot_chat.errors import ChatError
from memslot_chat.reply import RequestedCall
from memslot_chat.tool_calls import CallOutcome

_MAX_LINE = 160
# Escape sequences start with a control character (C0, DEL or C1); without it they are harmless letters. Bidirectional
# controls can reorder text, and Unicode tags carry invisible text.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


class Screen(Protocol):
    """Receives the events of a turn. Text comes from models, tools and memory: implementations must sanitize it."""

    def waiting(self, why: str = "") -> None:
        """A request was sent; no answer yet."""

    def recalled(self, context: str) -> None:
        """Plugins prepended context to the prompt."""

    def text(self, piece: str) -> None:
        """A piece of the answer arrived."""

    def end_text(self) -> None:
        """The answer's text is complete."""

    def calling(self, calls: Sequence[RequestedCall]) -> None:
        """Tool calls were started."""

    def called(self, outcome: CallOutcome) -> None:
        """A tool call finished."""

    def note(self, text: str) -> None:
        """Show information."""

    def warn(self, text: str) -> None:
        """Show a warning."""


class PlainScreen:
    """Streams the answer to stdout without colours; the rest goes to stderr, notes only if it is a terminal."""

    def __init__(self, out: TextIO | None) -> None:
        self._out = out
        self._err = sys.stderr
        self._at_line_start = True

    def waiting(self, why: str = "") -> None:
        if why:
            self.note(why)

    def recalled(self, context: str) -> None:
        self.note(recalled_line(context))

    def text(self, piece: str) -> None:
        shown = safe(piece)
        if self._out is not None and shown:
            try:
                self._out.write(shown)
                self._out.flush()
            except BrokenPipeError:
                raise  # the reader closed the pipe
            except OSError as error:
                # Python must not flush the rest of the buffer again at exit.
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())
                raise ChatError(f"the answer cannot be written: {error.strerror or error}") from None
            self._at_line_start = shown.endswith("\n")

    def end_text(self) -> None:
        if not self._at_line_start:
            self.text("\n")

    def calling(self, calls: Sequence[RequestedCall]) -> None:
        pass

    def called(self, outcome: CallOutcome) -> None:
        self.note(called_line(outcome))

    def note(self, text: str) -> None:
        if self._err.isatty():
            click.secho(one_line(text, _MAX_LINE), file=self._err, dim=True)

    def warn(self, text: str) -> None:
        click.echo(click.style("Warning: ", fg="yellow") + one_line(text), file=self._err)


def say_error(text: str) -> None:
    """Print an error to stderr."""
    click.echo(click.style("Error: ", fg="red", bold=True) + one_line(text, 10_000), err=True)


def counted(number: int, noun: str) -> str:
    """Format a count: `1 prompt`, `2 prompts`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def recalled_line(context: str) -> str:
    """Format as `recalled 2 lines from memory`."""
    number = count_recalled(context)
    if not number:
        return f"a plugin added {len(context):,} characters to the prompt"
    return f"recalled {counted(number, 'line')} from memory"


def count_recalled(context: str) -> int:
    """Count the memories in the context prepended to a prompt."""
    return _count_items(context) - _count_items(strip_recalled(context))


def _count_items(text: str) -> int:
    return sum(line.startswith("- ") for line in text.splitlines())


def called_line(outcome: CallOutcome, width: int = _MAX_LINE) -> str:
    """Format as `memory_search {"query": "gate"} · 0.1 s · 317 characters`; an error may exceed the width."""
    name = outcome.call.name
    came = f"{len(outcome.text):,} characters"
    if outcome.is_error:
        came = f"failed: {one_line(safe(outcome.text), 200)}"
    end = f" · {outcome.seconds:.1f} s · {came}"
    room = 40 if outcome.is_error else width - len(name) - len(end) - 1
    asked = one_line(safe(outcome.call.arguments), max(10, room))
    return f"{name}{end}" if asked == "{}" else f"{name} {asked}{end}"


def safe(text: str) -> str:
    """Remove terminal control and invisible characters; newlines and tabs stay."""
    return _LONE_SURROGATES.sub("\ufffd", _UNSAFE.sub("", text))
