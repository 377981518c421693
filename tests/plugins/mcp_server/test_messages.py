"""Lines of bytes become messages or readable refusals, whatever comes down the pipe."""

from __future__ import annotations

import itertools
import json

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot_mcp_server.server.lines import MAX_BYTES, LineSplitter, OversizedLine
from memslot_mcp_server.server.messages import Refused, read_message


@given(data=st.binary(max_size=200).map(lambda raw: raw.replace(b"a", b"\n")), cuts=st.lists(st.integers(0, 200)))
def test_lines_are_the_same_however_the_bytes_arrive(data: bytes, cuts: list[int]) -> None:
    splitter = LineSplitter()
    places = [0, *sorted(cut for cut in cuts if cut <= len(data)), len(data)]
    lines = [line for start, end in itertools.pairwise(places) for line in splitter.feed(data[start:end])]
    lines += splitter.close()

    wanted = data.split(b"\n")
    assert lines == (wanted if wanted[-1] else wanted[:-1])


@given(sizes=st.lists(st.integers(0, 40), min_size=1), piece=st.integers(1, 7))
def test_a_line_that_is_too_long_costs_only_itself(sizes: list[int], piece: int) -> None:
    splitter = LineSplitter(max_bytes=20)
    data = b"".join(b"x" * size + b"\n" for size in sizes)
    lines = [line for start in range(0, len(data), piece) for line in splitter.feed(data[start : start + piece])]

    assert [line.size if isinstance(line, OversizedLine) else len(line) for line in lines] == sizes
    assert [isinstance(line, OversizedLine) for line in lines] == [size > 20 for size in sizes]


def test_what_is_too_long_is_not_kept_in_memory() -> None:
    splitter = LineSplitter(max_bytes=1000)
    for _ in range(100):
        assert list(splitter.feed(b"x" * 65536)) == []

    (line,) = splitter.feed(b"\n")
    assert isinstance(line, OversizedLine)
    assert len(line.start) + len(line.end) < 10_000


def _oversized(message: dict[str, object]) -> OversizedLine:
    splitter = LineSplitter(max_bytes=100)
    (line,) = splitter.feed(json.dumps(message).encode() + b"\n")
    assert isinstance(line, OversizedLine)
    return line


NO_IDS = (b"null", b"1.5", b"true", b"{}", b"[1]")
LONG = {"name": "echo", "arguments": {"text": "x" * 20_000}}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": LONG}, 7),
        ({"method": "tools/call", "jsonrpc": "2.0", "id": "a-1", "params": LONG}, "a-1"),
        ({"method": "tools/call", "params": LONG, "jsonrpc": "2.0", "id": 3}, 3),
        ({"method": "tools/call", "params": LONG, "id": 3, "jsonrpc": "2.0"}, 3),
        ({"method": "tools/call", "jsonrpc": "2.0", "params": {"arguments": {"x": "y" * 20_000, "id": 5}}}, None),
        ({"params": {"id": 5, "x": "y" * 20_000}, "method": "tools/call", "jsonrpc": "2.0"}, None),
    ],
)
def test_a_request_that_is_too_long_is_answered_by_its_id(message: dict[str, object], expected: object) -> None:
    refused = read_message(_oversized(message))

    assert isinstance(refused, Refused)
    assert refused.answer.id == expected
    assert "4 MB" in refused.answer.error.message


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        *((b'{"jsonrpc": "2.0", "id": %s, "method": "ping"}' % each, types.INVALID_REQUEST, None) for each in NO_IDS),
        (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', types.PARSE_ERROR, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": -Infinity}}', types.PARSE_ERROR, None),
        (b"{", types.PARSE_ERROR, None),
        (b"hello", types.PARSE_ERROR, None),
        (b"\xff\xfe", types.PARSE_ERROR, None),
        (b"[" * 100_000, types.PARSE_ERROR, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"} trailing', types.PARSE_ERROR, None),
        (b"[]", types.INVALID_REQUEST, None),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', types.INVALID_REQUEST, None),
        (b"7", types.INVALID_REQUEST, None),
        (b"{}", types.INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 4}', types.INVALID_REQUEST, 4),
        (b'{"jsonrpc": "2.0", "id": 4, "method": 7}', types.INVALID_REQUEST, 4),
        (b'{"jsonrpc": "1.0", "id": "x", "method": "ping"}', types.INVALID_REQUEST, "x"),
        (b'{"jsonrpc": "2.0", "id": true, "method": []}', types.INVALID_REQUEST, None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_no_message_is_refused_with_a_reason(line: bytes, code: int, request_id: object) -> None:
    refused = read_message(line)

    assert isinstance(refused, Refused)
    assert (refused.answer.error.code, refused.answer.id) == (code, request_id)
    assert len(refused.answer.error.message) < 400


@given(
    st.binary(max_size=300)
    | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(lambda v: json.dumps(v).encode())
)
def test_reading_never_raises(line: bytes) -> None:
    read_message(line)


def test_a_message_of_the_largest_size_is_read() -> None:
    frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": ""}}}
    room = MAX_BYTES - len(json.dumps(frame))
    frame["params"]["arguments"]["text"] = "x" * room  # type: ignore[index]
    (line,) = LineSplitter().feed(json.dumps(frame).encode() + b"\n")

    assert isinstance(read_message(line), types.JSONRPCRequest)
