"""Server-sent events come whole, wherever the network cuts them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot.chat import sse
from memslot.chat.sse import OverlongEvent, read_events

STREAM = (
    ': hello\n\ndata: {"a": "naïve 🜁 日本"}\r\n\r\nevent: x\ndata: one\ndata:two\n\ndata: last\r\rdata: [DONE]'.encode()
)
EVENTS = ['{"a": "naïve 🜁 日本"}', "one\ntwo", "last", "[DONE]"]


def test_reads_the_data_of_each_event() -> None:
    assert list(read_events([STREAM])) == EVENTS


@settings(deadline=None)
@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_cuts_within_characters_and_line_ends_change_nothing(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[begin:end] for begin, end in itertools.pairwise(places)]

    assert list(read_events(pieces)) == EVENTS


def test_every_byte_by_itself() -> None:
    assert list(read_events(bytes([each]) for each in STREAM)) == EVENTS


def test_a_byte_order_mark_and_broken_bytes_do_no_harm() -> None:
    assert list(read_events([b"\xef\xbb\xbfdata: a\xff\n\n"])) == ["a\ufffd"]


def test_an_event_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "LONGEST_EVENT", 1000)

    with pytest.raises(OverlongEvent):
        list(read_events([b"data: ", *[b"x" * 100] * 11]))
    with pytest.raises(OverlongEvent):
        list(read_events([b"data: " + b"x" * 600 + b"\n"] * 2))
    with pytest.raises(OverlongEvent):
        list(read_events([b"data:\n"] * 1001))
