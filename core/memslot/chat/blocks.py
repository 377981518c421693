"""The blocks of a Markdown text that comes in pieces."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LONGEST_END = 8_000
"""Characters: more of a block that is still coming is not to be seen on a terminal."""


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
