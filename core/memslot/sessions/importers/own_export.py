"""Sessions that were exported as JSON5 by `memslot sessions export`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memslot.errors import SessionError
from memslot.sessions.foreign import ForeignLine, ForeignSession, made_key
from memslot.sessions.lines import encode_message
from memslot.sessions.times import to_ms

_DEEPEST = 250


def read_own_export(path: Path) -> ForeignSession:
    """The session of a file; a SessionError where it is not one."""
    import pyjson5

    try:
        tree = pyjson5.decode(path.read_bytes().decode("utf-8-sig"), _DEEPEST)
    except pyjson5.Json5Exception as error:
        reason = error.args[0] if error.args else "it cannot be read"  # the rest is what was read, private as it may be
        raise SessionError(f"{path} is not JSON5 ({reason}).") from None
    except UnicodeDecodeError:
        raise SessionError(f"{path} is not UTF-8 text.") from None
    session = tree.get("session") if isinstance(tree, dict) else None
    messages = tree.get("messages") if isinstance(tree, dict) else None
    if not isinstance(session, dict) or not isinstance(session.get("id"), str) or not isinstance(messages, list):
        raise SessionError(f"{path} is not a session that memslot has exported: it has no session and messages.")
    lines = [_line(place, each) for place, each in enumerate(messages) if isinstance(each, Mapping)]
    facts = {key: value for key, value in session.items() if key != "id"}
    title = session["title"] if isinstance(session.get("title"), str) else ""
    started_at = to_ms(session.get("createdAt"))
    return ForeignSession(
        "memslot", session["id"], session["id"], tuple(lines), title=title, started_at=started_at, facts=facts
    )


def _line(place: int, entry: Mapping[str, Any]) -> ForeignLine:
    message = entry.get("message")
    content = message if isinstance(message, Mapping) else {}
    found = entry.get("id")
    key = found if isinstance(found, str) and found else made_key("memslot", place, content)
    time = to_ms(entry.get("timestamp"))
    return ForeignLine(key, encode_message(key, time, content), time)
