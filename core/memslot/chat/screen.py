"""What a turn shows of itself, and the plain way to show it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Protocol, TextIO

import click

from memslot.chat.cleaning import safe
from memslot.chat.failures import ChatError
from memslot.chat.reply import RequestedCall
from memslot.chat.tool_round import CallOutcome
from memslot.memory.fence import TAG
from memslot.text import one_line

_LONGEST_LINE = 160


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


def recalled_line(context: str) -> str:
    """`recalled 2 lines from memory`."""
    number = count_recalled(context)
    if not number:
        return f"a plugin put {len(context):,} characters before the prompt"
    return f"recalled {number} {'line' if number == 1 else 'lines'} from memory"


def count_recalled(context: str) -> int:
    """How many lines of memory stand in what was put before a prompt."""
    inside, number = False, 0
    for line in context.splitlines():
        if line.strip() in (f"<{TAG}>", f"</{TAG}>"):
            inside = not line.strip().startswith("</")
        elif inside and line.startswith("- "):
            number += 1
    return number


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
