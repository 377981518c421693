"""Conversations of opencode: all in one database, `~/.local/share/opencode/opencode.db`, or what it exports as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import quote

from memslot.errors import SessionError
from memslot.sessions.imports import ForeignLine, ForeignSession

_SESSIONS = "SELECT id, title, directory, time_created FROM session WHERE parent_id IS NULL ORDER BY time_created, id"
_MESSAGES = "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id"


def is_opencode_export(tree: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether this is what `opencode export` prints."""
    return (
        isinstance(tree, Mapping) and isinstance(tree.get("info"), Mapping) and isinstance(tree.get("messages"), list)
    )


def read_opencode_export(tree: Mapping[str, Any]) -> ForeignSession:
    """The conversation of an export."""
    info = tree["info"]
    time = info.get("time") if isinstance(info.get("time"), Mapping) else {}
    messages = [
        each for each in tree["messages"] if isinstance(each, Mapping) and isinstance(each.get("info"), Mapping)
    ]
    told = ((each["info"], each.get("parts")) for each in messages)
    return _session(str(info.get("id") or ""), info.get("title"), info.get("directory"), time.get("created"), told)


def read_opencode(database: Path, session_id: str | None = None) -> Iterator[ForeignSession]:
    """The conversations of a database, or one of them; sub-agents' are left out. Raises a SessionError."""
    import sqlite3

    try:
        address = f"file:{quote(str(database.absolute()))}?mode=ro"
        connection = sqlite3.connect(address, uri=True, timeout=5)
        try:
            for their_id, title, folder, started_at in connection.execute(_SESSIONS).fetchall():
                if session_id is None or their_id == session_id:
                    yield _session(their_id, title, folder, started_at, _told(connection, their_id))
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise SessionError(f"{database} cannot be read as opencode's database ({error}).") from None


def _told(connection: Any, session_id: str) -> Iterator[tuple[Mapping[str, Any], list[Any]]]:
    parts: dict[str, list[Any]] = {}
    for message_id, data in connection.execute(_PARTS, (session_id,)):
        parts.setdefault(message_id, []).append(_object(data))
    for message_id, created, data in connection.execute(_MESSAGES, (session_id,)).fetchall():
        yield {**_object(data), "id": message_id, "time": {"created": created}}, parts.get(message_id, [])


def _object(data: object) -> Mapping[str, Any]:
    try:
        tree = json.loads(data) if isinstance(data, str) else None
    except (ValueError, RecursionError):
        tree = None
    return tree if isinstance(tree, dict) else {}


def _session(
    their_id: str, title: Any, folder: Any, started_at: Any, told: Iterable[tuple[Mapping[str, Any], Any]]
) -> ForeignSession:
    said = tuple(line for message, parts in told for line in _spoken(message, parts))
    return ForeignSession(
        "opencode",
        f"opencode-{their_id}",
        their_id,
        said,
        title=title if isinstance(title, str) else "",
        started_at=started_at if isinstance(started_at, int) else None,
        facts={"cwd": folder} if isinstance(folder, str) else {},
    )


def _spoken(message: Mapping[str, Any], parts: Any) -> Iterator[ForeignLine]:
    role, key, time = message.get("role"), message.get("id"), message.get("time")
    # A summary is what the program wrote at compaction.
    if role not in ("user", "assistant") or not isinstance(key, str) or message.get("summary") is True:
        return
    text = "\n".join(_texts(parts)).strip()
    if text:
        created = time.get("created") if isinstance(time, Mapping) else None
        told = {"role": role, "content": text}
        if role == "assistant" and isinstance(message.get("modelID"), str):
            told["model"] = message["modelID"]
        yield ForeignLine.of_message(key, created if isinstance(created, int) else None, told)


def _texts(parts: Any) -> Iterator[str]:
    for part in parts if isinstance(parts, list) else ():
        # Synthetic parts are added by the program, such as a file that was mentioned.
        is_text = isinstance(part, Mapping) and part.get("type") == "text"
        if is_text and not part.get("synthetic") and not part.get("ignored") and isinstance(part.get("text"), str):
            yield part["text"]
