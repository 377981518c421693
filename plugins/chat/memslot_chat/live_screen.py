"""Shows a turn on a terminal: Markdown as it streams, one dim line per tool."""

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
_MAX_TAIL = 8_000
"""Characters of an incomplete block to keep; a terminal shows no more."""
_PER_SECOND = 10
_LINES_LEFT = 3
"""Spare lines of the terminal: a redrawn area must never scroll, or it could not be erased."""
_MAX_RENDERED = 200_000
"""Characters of a block; rendering more takes seconds, so it is shown raw."""


class LiveScreen:
    """Prints each block of an answer once it is complete; only the current block is redrawn.

    So an answer may be longer than the terminal, and the terminal may be resized meanwhile.
    """

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console

        self.console = console or Console(highlight=False)
        self._live: Live | None = None
        self._blocks = Blocks()
        self._has_printed = False
        self._running: list[str] = []

    # The Screen protocol

    def waiting(self, why: str = "") -> None:
        self._animate(one_line(safe(why)) or "thinking")

    def recalled(self, context: str) -> None:
        self._dim(recalled_line(context))

    def text(self, piece: str) -> None:
        for block in self._blocks.add(safe(piece)):
            self._print_block(block)
        coming = self._blocks.coming
        if coming.strip():
            self._show(_IncompleteBlock(coming, self._has_printed))

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
            self._live.update("", refresh=True)  # else the last frame would be drawn again below the block
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
    """A block of Markdown without surrounding blank lines, which rich adds depending on the neighbours."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for line in self.lines(console, options):
            yield from line
            yield _new_line()

    def lines(self, console: Console, options: ConsoleOptions) -> list[list[Segment]]:
        from rich.text import Text

        is_long = len(self._text) > _MAX_RENDERED
        what = Text(self._text) if is_long else markdown(self._text)
        lines = console.render_lines(what, options.update(height=None), pad=False)
        while lines and _is_blank(lines[0]):
            del lines[0]
        while lines and _is_blank(lines[-1]):
            del lines[-1]
        return lines


class _IncompleteBlock:
    """The tail of an incomplete block: as many lines as fit."""

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
    """Render a model's text. HTML tags are shown as text, and URLs are shown rather than hidden behind links."""
    from markdown_it import MarkdownIt
    from rich.markdown import Markdown

    laid_out = Markdown("", hyperlinks=False, code_theme="ansi_dark")
    laid_out.parsed = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).parse(text)
    return laid_out


class Blocks:
    """Splits streamed text into complete blocks, in constant time per piece.

    A block ends at a blank line outside of code, once the next line has started and is not indented.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        """The pieces of the current line."""
        self._end = ""
        self._fence = ""
        self._opening = ""
        self._after_blank = False

    def add(self, piece: str) -> list[str]:
        """Add a piece; return the blocks that are now complete."""
        whole: list[str] = []
        for part in piece.splitlines(keepends=True):
            if self._after_blank and not self._line and not self._fence and not part[0].isspace():
                whole.append(self._take())
            self._line.append(part)
            self._end = (self._end + part)[-_MAX_TAIL:]
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
        """Return the incomplete block and start over."""
        self._fence, self._after_blank = "", False
        return self._take()

    def _take(self) -> str:
        block = "".join([*self._lines, *self._line])
        self._lines, self._line, self._end = [], [], ""
        return block

    @property
    def coming(self) -> str:
        """The tail of the current block; truncated code still starts with its fence."""
        if len(self._end) < _MAX_TAIL or not self._fence:
            return self._end
        return self._opening + self._end.partition("\n")[2]
