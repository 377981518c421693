"""Server-sent events, as far as chat endpoints use them: the data of one event after the other."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

LONGEST_EVENT = 16 * 1024 * 1024


class OverlongEvent(Exception):
    """An event is larger than any answer needs."""


def read_events(chunks: Iterable[bytes]) -> Iterator[str]:
    """The data of each event. Chunks may end anywhere, also within a character.

    Comments and other fields are passed over. A last event without its blank line still counts: some servers
    leave it out.
    """
    data: list[str] = []
    size = 0
    for line in _lines(chunks):
        if not line:
            if data:
                yield "\n".join(data)
            data, size = [], 0
            continue
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
            size += len(value) + 1  # with its end, so that empty lines are not free
            if size > LONGEST_EVENT:
                raise OverlongEvent
    if data:
        yield "\n".join(data)


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """Lines without their ends, which are LF, CR LF or CR."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    pending: list[str] = []
    size = 0
    after_cr = False
    for chunk in chunks:
        text = decoder.decode(chunk)
        if after_cr and text:
            text, after_cr = text.removeprefix("\n"), False
        after_cr = after_cr or text.endswith("\r")
        *whole, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for line in whole:
            yield "".join([*pending, line])
            pending, size = [], 0
        if rest:
            pending.append(rest)
            size += len(rest)
            if size > LONGEST_EVENT:
                raise OverlongEvent
    if last := "".join([*pending, decoder.decode(b"", True)]):
        yield last
