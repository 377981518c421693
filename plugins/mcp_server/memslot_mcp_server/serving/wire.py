"""JSON-RPC messages as lines of bytes: cut, measured, read, and refused with a reason."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import mcp_types as types

MAX_BYTES = 4 * 1024 * 1024
"""A message may be this large, over both transports; no tool takes a tenth of it."""
_END_BYTES = 4096
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")'
_ID_AT_START = re.compile(rb'\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*' + _ID + rb"\s*,")
_ID_AT_END = re.compile(_ID + rb'\s*(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*)*\}\s*\Z')


@dataclass(frozen=True)
class Oversized:
    """A line that was too long to keep: its size, and both of its ends, where the id of a request stands."""

    size: int
    start: bytes
    end: bytes


@dataclass(frozen=True)
class Refused:
    """A line that is no message, with what to answer."""

    answer: types.JSONRPCError


class LineCutter:
    """Takes bytes as they come and gives whole lines; of one that is too long only its ends."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._start = b""
        self._end = b""

    def feed(self, data: bytes) -> Iterator[bytes | Oversized]:
        """The lines that these bytes complete."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._add(line)
            yield self._take()
        self._add(rest)

    def close(self) -> Iterator[bytes | Oversized]:
        """What stood behind the last line end."""
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

    def _take(self) -> bytes | Oversized:
        if self._size > self._max_bytes:
            line: bytes | Oversized = Oversized(self._size, self._start, self._end)
        else:
            line = b"".join(self._parts)
        self._parts, self._size, self._start, self._end = [], 0, b"", b""
        return line


def read_message(line: bytes | Oversized) -> types.JSONRPCMessage | Refused:
    """The message of a line, or why it is none."""
    if isinstance(line, Oversized):
        limit = MAX_BYTES // (1024 * 1024)
        said = f"the message has {line.size:,} bytes, and {limit} MB is the most that is taken"
        return _refuse(types.INVALID_REQUEST, said, _id_of(line))
    try:
        tree = json.loads(line, parse_constant=_refuse_constant)
    except RecursionError:
        return _refuse(types.PARSE_ERROR, "the message is nested too deeply")
    except ValueError as error:  # also bytes that are not UTF-8
        return _refuse(types.PARSE_ERROR, f"the message is not JSON in one line of UTF-8: {error}"[:300])
    if isinstance(tree, list):
        return _refuse(types.INVALID_REQUEST, "batches are not taken; send one message in each line")
    found = tree.get("id") if isinstance(tree, dict) else None
    request_id = found if isinstance(found, int | str) and not isinstance(found, bool) else None
    if isinstance(tree, dict) and "method" in tree and "id" in tree and request_id is None:
        # The SDK would take it for a notification, and whoever sent it would wait for an answer.
        return _refuse(types.INVALID_REQUEST, "the id of a request is a whole number or text")
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        said = "the message is not a request or notification of JSON-RPC 2.0"
        return _refuse(types.INVALID_REQUEST, said, request_id)


def _refuse_constant(name: str) -> float:
    """Python reads NaN and Infinity as numbers; JSON has neither, and no id can be told by one."""
    raise ValueError(f"{name} is not a JSON number")


def _refuse(code: int, message: str, request_id: int | str | None = None) -> Refused:
    error = types.ErrorData(code=code, message=message)
    return Refused(types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error))


def _id_of(line: Oversized) -> int | str | None:
    """The id of a request too long to parse, where it stands at one of its ends as all clients write it."""
    found = _ID_AT_START.match(line.start) or _ID_AT_END.search(line.end)
    if found is None:
        return None
    try:
        value = json.loads(found[1])
    except ValueError:
        return None
    return value if isinstance(value, int | str) else None
