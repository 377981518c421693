"""Shows a turn on a terminal: Markdown as it comes, one dim line for each tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memslot import one_line

from memslot_chat.reply import RequestedCall
from memslot_chat.screen import called_line, recalled_line, safe
from memslot_chat.tool_calls import CallOutcome

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.live import Live
    from rich.markdown import Markdown
    from rich.segment import Segment

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LONGEST_END = 8_000
"""Characters: more of a block that is still coming is not to be seen on a terminal."""
_PER_SECOND = 10
_LINES_LEFT = 3
"""Of the terminal's height: what is redrawn must never scroll away, or it could not be taken back."""
_LONGEST_LAID_OUT = 200_000
"""Characters of a block; laying out more takes seconds, so it is shown as it is."""


class LiveScreen:
    """Prints each block of an answer for good once it is whole; only the block that is still coming is redrawn.

    So an answer may be longer than the terminal is high, and the terminal may change its size meanwhile.
    """

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console

        self.console = console or Console(highlight=False)
        self._live: Live | None = None
        self._blocks = Blocks()
        self._has_printed = False
        self._running: list[str] = []

    # What a turn tells

    def waiting(self, why: str = "") -> None:
        self._animate(one_line(safe(why)) or "thinking")

    def recalled(self, context: str) -> None:
        self._dim(recalled_line(context))

    def text(self, piece: str) -> None:
        for block in self._blocks.add(safe(piece)):
            self._print_block(block)
        coming = self._blocks.coming
        if coming.strip():
            self._show(_Coming(coming, self._has_printed))

    def end_text(self) -> None:
        self._stop()
        self._print_block(self._blocks.take_rest())
        self._has_printed = False
        self._running = []

    def calling(self, calls: Sequence[RequestedCall]) -> None:
        self._running = [call.name for call in calls]
        self._animate(", ".join(self._running))

    def called(self, outcome: CallOutcome) -> None:
        if outcome.call.name in self._running:
            self._running.remove(outcome.call.name)
        self._dim(called_line(outcome, self.console.width - 2), "red" if outcome.is_error else "dim")
        if self._running:
            self._animate(", ".join(self._running))
        else:
            self._stop()

    def note(self, text: str) -> None:
        self._dim(one_line(safe(text)))

    def warn(self, text: str) -> None:
        self._dim(one_line(safe(text)), "yellow")

    # Drawing

    def _dim(self, line: str, style: str = "dim") -> None:
        from rich.text import Text

        self.console.print(Text(f"· {line}", style=style), soft_wrap=False)

    def _print_block(self, text: str) -> None:
        if not text.strip():
            return
        if self._live is not None:
            self._live.update("", refresh=True)  # else what was shown last would be drawn once more below the block
        if self._has_printed:
            self.console.print()
        self.console.print(_Block(text))
        self._has_printed = True

    def _animate(self, what: str) -> None:
        from rich.spinner import Spinner
        from rich.text import Text

        self._show(Spinner("dots", Text(f"{what} …", style="dim", no_wrap=True, overflow="ellipsis"), style="dim"))

    def _show(self, what: RenderableType) -> None:
        from rich.live import Live

        if self._live is not None:
            self._live.update(what)
            return
        self._live = Live(
            what, console=self.console, refresh_per_second=_PER_SECOND, transient=True, vertical_overflow="crop"
        )
        self._live.start()

    def _stop(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.update("", refresh=True)
            live.stop()


class _Block:
    """A block of Markdown without blank lines around it: which ones rich adds depends on what stands beside it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for line in self.lines(console, options):
            yield from line
            yield _new_line()

    def lines(self, console: Console, options: ConsoleOptions) -> list[list[Segment]]:
        from rich.text import Text

        is_long = len(self._text) > _LONGEST_LAID_OUT
        what = Text(self._text) if is_long else markdown(self._text)
        lines = console.render_lines(what, options.update(height=None), pad=False)
        while lines and _is_blank(lines[0]):
            del lines[0]
        while lines and _is_blank(lines[-1]):
            del lines[-1]
        return lines


class _Coming:
    """The end of a block that is not whole yet: as many lines of it as there is room for."""

    def __init__(self, text: str, is_later: bool) -> None:
        self._block = _Block(text)
        self._is_later = is_later

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        if self._is_later:
            yield _new_line()
        for line in self._block.lines(console, options)[-max(1, console.height - _LINES_LEFT) :]:
            yield from line
            yield _new_line()


def _new_line() -> Segment:
    from rich.segment import Segment

    return Segment.line()


def _is_blank(line: list[Segment]) -> bool:
    return not "".join(segment.text for segment in line).strip()


def markdown(text: str) -> Markdown:
    """Text of a model, laid out. Tags in it are words to show, and addresses are shown, not hidden behind links."""
    from markdown_it import MarkdownIt
    from rich.markdown import Markdown

    laid_out = Markdown("", hyperlinks=False, code_theme="ansi_dark")
    laid_out.parsed = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).parse(text)
    return laid_out


class Blocks:
    """Takes a text piece by piece and gives each block once it is whole; a piece costs the same however much there is.

    A block ends at a blank line outside of code, once the next line has begun and does not belong to it by its
    indentation.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        """The pieces of the line that has not ended."""
        self._end = ""
        self._fence = ""
        self._opening = ""
        self._after_blank = False

    def add(self, piece: str) -> list[str]:
        """Take a piece; gives the blocks that are whole now."""
        whole: list[str] = []
        for part in piece.splitlines(keepends=True):
            if self._after_blank and not self._line and not self._fence and not part[0].isspace():
                whole.append(self._taken())
            self._line.append(part)
            self._end = (self._end + part)[-_LONGEST_END:]
            if part.endswith("\n"):
                self._end_line()
        return whole

    def _end_line(self) -> None:
        line = "".join(self._line)
        mark = _FENCE.match(line)
        if mark and not self._fence:
            self._fence, self._opening = mark[1], line
        elif mark and mark[1].startswith(self._fence) and not line.strip().strip(self._fence[0]):
            self._fence = ""
        self._after_blank = not line.strip()
        self._lines.append(line)
        self._line = []

    def take_rest(self) -> str:
        """The block that was coming; what is added from here on is another text."""
        self._fence, self._after_blank = "", False
        return self._taken()

    def _taken(self) -> str:
        block = "".join([*self._lines, *self._line])
        self._lines, self._line, self._end = [], [], ""
        return block

    @property
    def coming(self) -> str:
        """The end of the block that is coming; code still begins as code, also where its beginning is left out."""
        if len(self._end) < _LONGEST_END or not self._fence:
            return self._end
        return self._opening + self._end.partition("\n")[2]
