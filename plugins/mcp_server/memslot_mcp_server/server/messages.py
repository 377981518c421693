"""JSON-RPC messages parsed from lines of bytes, or refused with a reason."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import mcp_types as types

from memslot_mcp_server.server.lines import MAX_BYTES, Line, OversizedLine

_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,200}")'
_ID_AT_START = re.compile(rb'\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*' + _ID + rb"\s*,")
_ID_AT_END = re.compile(_ID + rb'\s*(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*)*\}\s*\Z')


@dataclass(frozen=True)
class Refused:
    """A line that is not a message, with the answer to it."""

    answer: types.JSONRPCError


def read_message(line: Line) -> types.JSONRPCMessage | Refused:
    """Parse a line as a message."""
    if isinstance(line, OversizedLine):
        limit = MAX_BYTES // (1024 * 1024)
        said = f"the message has {line.size:,} bytes; the limit is {limit} MB"
        return _refuse(types.INVALID_REQUEST, said, _id_of(line))
    try:
        tree = json.loads(line, parse_constant=_refuse_constant)
    except RecursionError:
        return _refuse(types.PARSE_ERROR, "the message is nested too deeply")
    except ValueError as error:  # also bytes that are not UTF-8
        return _refuse(types.PARSE_ERROR, f"the message is not one line of UTF-8 JSON: {error}"[:300])
    if isinstance(tree, list):
        return _refuse(types.INVALID_REQUEST, "batches are not supported; send one message per line")
    found = tree.get("id") if isinstance(tree, dict) else None
    request_id = found if isinstance(found, int | str) and not isinstance(found, bool) else None
    if isinstance(tree, dict) and "method" in tree and "id" in tree and request_id is None:
        # The SDK would take it for a notification, and the client would wait for an answer.
        return _refuse(types.INVALID_REQUEST, "a request's id must be an integer or a string")
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        said = "the message is not a JSON-RPC 2.0 request or notification"
        return _refuse(types.INVALID_REQUEST, said, request_id)


def _refuse_constant(name: str) -> float:
    """Python reads NaN and Infinity as numbers; JSON has neither."""
    raise ValueError(f"{name} is not a JSON number")


def _refuse(code: int, message: str, request_id: int | str | None = None) -> Refused:
    error = types.ErrorData(code=code, message=message)
    return Refused(types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error))


def _id_of(line: OversizedLine) -> int | str | None:
    """The id of a request too long to parse: clients write it at one of the ends."""
    found = _ID_AT_START.match(line.start) or _ID_AT_END.search(line.end)
    if found is None:
        return None
    try:
        value = json.loads(found[1])
    except ValueError:
        return None
    return value if isinstance(value, int | str) else None
