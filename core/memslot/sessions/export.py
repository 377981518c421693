"""Session export: JSON5 with metadata, the raw JSON Lines, or readable Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from memslot.errors import SessionError
from memslot.sessions.record import SessionRecord
from memslot.sessions.store import SessionStore
from memslot.sessions.summary import title_of
from memslot.sessions.times import to_iso
from memslot.sessions.transcript import Entry, Transcript, read_jsonl

ExportFormat = Literal["json5", "jsonl", "markdown"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
EXPORT_VERSION = 1
_SPEAKERS = {"user": "User", "assistant": "Assistant", "system": "System"}


def export_session(store: SessionStore, session_id: str, form: ExportFormat) -> bytes:
    """Export a session, unredacted. Raises SessionError if it does not exist."""
    transcript = store.read(session_id)
    if form == "jsonl":
        return b"".join(_whole_lines(store, session_id))
    record = store.record(session_id) or SessionRecord(session_id)
    if form == "json5":
        return _json5(record, transcript).encode("utf-8", "backslashreplace")
    return _markdown(record, transcript).encode("utf-8", "replace")


def _whole_lines(store: SessionStore, session_id: str) -> Iterator[bytes]:
    """Yield every valid line verbatim, so an import reproduces the transcript."""
    path = store.path_of(session_id)
    try:
        for _, raw, parsed in read_jsonl(path):
            if parsed is not None:
                yield raw.rstrip(b"\r\n") + b"\n"
    except FileNotFoundError:
        return
    except OSError as error:
        raise SessionError(f"{path} cannot be read ({error.strerror or error}).") from None


def _json5(record: SessionRecord, transcript: Transcript) -> str:
    tree: dict[str, Any] = {
        "version": EXPORT_VERSION,
        "program": "memslot",
        "session": {**record.data, "id": record.id},
        "messages": [_message(entry) for entry in transcript.entries],
    }
    text = json.dumps(tree, ensure_ascii=False, indent=2, default=str)
    return f"// A session of memslot; `memslot sessions import` reads it.\n{text}\n"


def _message(entry: Entry) -> dict[str, Any]:
    identity = {} if entry.id is None else {"id": entry.id}
    stamp = {} if entry.time is None else {"timestamp": to_iso(entry.time)}
    return {**identity, **stamp, "message": dict(entry.message)}


def _markdown(record: SessionRecord, transcript: Transcript) -> str:
    spoken = [entry for entry in transcript.entries if entry.role in _SPEAKERS and entry.text.strip()]
    first = next((entry.text for entry in spoken if entry.role == "user"), "")
    parts = [f"# {title_of(record.title or first) or record.id}", f"Session `{record.id}`"]
    for entry in spoken:
        parts.append(f"## {_SPEAKERS[entry.role]}{_when(entry.time)}\n\n{entry.text.strip()}")
    return "\n\n".join(parts) + "\n"


def _when(moment: int | None) -> str:
    return "" if moment is None else f" ({datetime.fromtimestamp(moment / 1000, UTC):%Y-%m-%d %H:%M} UTC)"
