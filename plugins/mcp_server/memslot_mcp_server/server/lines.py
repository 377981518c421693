"""Bytes split into lines; of a line that is too long only its ends are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MAX_BYTES = 4 * 1024 * 1024
"""Largest message, over both transports; no tool takes a tenth of it."""
_END_BYTES = 4096


@dataclass(frozen=True)
class OversizedLine:
    """A line that was too long to keep: its size, and both of its ends, where a request has its id."""

    size: int
    start: bytes
    end: bytes


Line = bytes | OversizedLine


class LineSplitter:
    """Takes bytes as they arrive and gives whole lines."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._start = b""
        self._end = b""

    def feed(self, data: bytes) -> Iterator[Line]:
        """The lines that these bytes complete."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._add(line)
            yield self._take()
        self._add(rest)

    def close(self) -> Iterator[Line]:
        """What follows the last line end."""
        if self._size:
            yield self._take()

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if len(self._start) < _END_BYTES:
            self._start += piece[: _END_BYTES - len(self._start)]
        self._end = (self._end + piece[-_END_BYTES:])[-_END_BYTES:]
        if self._size <= self._max_bytes:
            self._parts.append(piece)
        else:
            self._parts.clear()

    def _take(self) -> Line:
        if self._size > self._max_bytes:
            line: Line = OversizedLine(self._size, self._start, self._end)
        else:
            line = b"".join(self._parts)
        self._parts, self._size, self._start, self._end = [], 0, b"", b""
        return line
