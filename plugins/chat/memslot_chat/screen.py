"""What a turn shows of itself, and the plain way to show it."""

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

_LONGEST_LINE = 160
# Escape sequences begin with a control character (C0, DEL or C1); without it they are harmless letters. Bidirectional
# controls can show a text in another order than it is, and the Unicode tags carry text that nobody sees.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
_HALVES = re.compile("[\ud800-\udfff]")


class Screen(Protocol):
    """Is told of a turn as it goes. Text comes from models, tools and memory: whoever shows it makes it safe."""

    def waiting(self, why: str = "") -> None:
        """The model is asked, and has said nothing yet."""

    def recalled(self, context: str) -> None:
        """Plugins put something before the prompt."""

    def text(self, piece: str) -> None:
        """The model says something."""

    def end_text(self) -> None:
        """What the model was saying ends here."""

    def calling(self, calls: Sequence[RequestedCall]) -> None:
        """Tools are called."""

    def called(self, outcome: CallOutcome) -> None:
        """A tool came back."""

    def note(self, text: str) -> None:
        """Something a person may like to know."""

    def warn(self, text: str) -> None:
        """Something a person should know."""


class PlainScreen:
    """The answer on stdout as it comes, without colours; all else on stderr, and notes only where a person reads it."""

    def __init__(self, out: TextIO | None, *, err: TextIO | None = None) -> None:
        self._out = out
        self._err = err if err is not None else sys.stderr
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
                raise  # who read it has seen enough
            except OSError as error:
                # What is left in the buffer must not be tried again when Python ends.
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
            click.secho(one_line(text, _LONGEST_LINE), file=self._err, dim=True)

    def warn(self, text: str) -> None:
        click.echo(click.style("Warning: ", fg="yellow") + one_line(text), file=self._err)


def say_error(text: str) -> None:
    """An error, on stderr."""
    click.echo(click.style("Error: ", fg="red", bold=True) + one_line(text, 10_000), err=True)


def counted(number: int, noun: str) -> str:
    """`1 prompt`, `2 prompts`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def recalled_line(context: str) -> str:
    """`recalled 2 lines from memory`."""
    number = count_recalled(context)
    if not number:
        return f"a plugin put {len(context):,} characters before the prompt"
    return f"recalled {counted(number, 'line')} from memory"


def count_recalled(context: str) -> int:
    """How many memories are in what was put before a prompt."""
    return _count_items(context) - _count_items(strip_recalled(context))


def _count_items(text: str) -> int:
    return sum(line.startswith("- ") for line in text.splitlines())


def called_line(outcome: CallOutcome, width: int = _LONGEST_LINE) -> str:
    """`memory_search {"query": "gate"} · 0.1 s · 317 characters`; why a call failed may take more than the width."""
    name = outcome.call.name
    came = f"{len(outcome.text):,} characters"
    if outcome.is_error:
        came = f"failed: {one_line(safe(outcome.text), 200)}"
    end = f" · {outcome.seconds:.1f} s · {came}"
    room = 40 if outcome.is_error else width - len(name) - len(end) - 1
    asked = one_line(safe(outcome.call.arguments), max(10, room))
    return f"{name}{end}" if asked == "{}" else f"{name} {asked}{end}"


def safe(text: str) -> str:
    """The text without what could steer a terminal or hide itself; lines and tabs stay."""
    return _HALVES.sub("\ufffd", _UNSAFE.sub("", text))
