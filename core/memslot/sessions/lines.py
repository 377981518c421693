"""Transcript lines: encoding and parsing."""

from __future__ import annotations

import hashlib
import json
import math
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memslot.errors import SessionError
from memslot.sessions.times import to_iso, to_ms
from memslot.sessions.versions import version_of

PROGRAM = "memslot"
VERSION = 1
"""Version of the lines we write."""
FOREIGN_VERSION = 3
"""Newest supported version of OpenClaw's transcripts, which use the same line types."""
MAX_LINE_BYTES = 32 * 1024 * 1024
"""Anything larger is a file, not a message; transcript readers reject it."""
_MAX_DEPTH = 200


@dataclass(frozen=True)
class Header:
    """The first line: the session's id and the format version of the lines that follow."""

    id: str | None
    version: int
    program: str | None
    started_at: int | None
    data: Mapping[str, Any]

    @property
    def workspace(self) -> str | None:
        """Real path of the conversation's workspace, or None if it wasn't recorded."""
        held = self.data.get("workspace")
        return held if isinstance(held, str) and held else None

    @property
    def is_newer(self) -> bool:
        """Whether a newer program wrote it. Such a transcript is read as far as possible and never written."""
        return self.version > (VERSION if self.program == PROGRAM else FOREIGN_VERSION)


def encode_header(session_id: str, agent_id: str, started_at: int, facts: Mapping[str, Any]) -> bytes:
    fields = {
        **facts,
        "type": "session",
        "version": VERSION,
        "program": PROGRAM,
        "id": session_id,
        "timestamp": to_iso(started_at),
        "agent": agent_id,
    }
    first = ("type", "version", "program", "id", "timestamp", "agent")
    return encode({**{key: fields[key] for key in first}, **fields})


def encode_message(message_id: str, moment: int | None, message: Mapping[str, Any]) -> bytes:
    """Encode a message line; the timestamp is omitted if unknown."""
    stamp = {} if moment is None else {"timestamp": to_iso(moment)}
    return encode({"type": "message", "id": message_id, **stamp, "message": message})


def encode_compaction(
    line_id: str, moment: int, summary: str, first_kept_id: str | None, tokens_before: int | None
) -> bytes:
    """Encode a compaction line: from here on, the summary replaces all messages before the first kept one."""
    fields: dict[str, Any] = {"type": "compaction", "id": line_id, "timestamp": to_iso(moment), "summary": summary}
    kept = {} if first_kept_id is None else {"firstKeptEntryId": first_kept_id}
    tokens = {} if tokens_before is None else {"tokensBefore": tokens_before}
    return encode({**fields, **kept, **tokens})


def encode(record: Mapping[str, Any]) -> bytes:
    """Encode one line, newline included. Values JSON can't represent become strings, NaN and infinity become null."""
    try:
        text = json.dumps(_plain(record, 0), ensure_ascii=False, separators=(",", ":"), default=str, allow_nan=False)
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError:  # a lone surrogate can only be written as an escape
            data = json.dumps(json.loads(text), separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise SessionError(f"The message cannot be written as JSON ({error}).") from None
    if len(data) > MAX_LINE_BYTES:
        raise SessionError(
            f"The message has {len(data):,} bytes, more than the limit of {MAX_LINE_BYTES:,}; "
            "put the large part into a file and reference it."
        )
    return data + b"\n"


def _plain(value: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise ValueError(f"it is nested more than {_MAX_DEPTH} levels deep")
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def parse(raw: bytes) -> dict[str, Any] | None:
    """Parse a line; None if it is not a JSON object."""
    try:
        record = json.loads(raw.removeprefix(BOM_UTF8).decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def header_of(record: Mapping[str, Any] | None) -> Header | None:
    """Return the header if a file's first record is one."""
    if record is None or record.get("type") != "session":
        return None
    found, version, program = record.get("id"), record.get("version"), record.get("program")
    return Header(
        id=found if isinstance(found, str) and found else None,
        version=version_of(version),
        program=program if isinstance(program, str) else None,
        started_at=to_ms(record.get("timestamp")),
        data=record,
    )


def key_of(record: Mapping[str, Any], raw: bytes) -> str:
    """Return a line's unique key: its id, or else its hash."""
    found = record.get("id")
    return found if isinstance(found, str) and found else hashlib.sha256(raw.rstrip(b"\r\n")).hexdigest()


def message_of(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the message in a record; some programs omit the wrapper."""
    if record.get("type") != "message":
        return None
    inner = record.get("message")
    return inner if isinstance(inner, Mapping) else record
