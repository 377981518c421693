"""Conversations of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`; older ones end in `.json`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memslot.sessions.imports import ForeignLine, ForeignSession, RawLine
from memslot.sessions.times import to_ms

_ROLES = {"user": "user", "gemini": "assistant"}
_WRAPPED = ("<session_context>", "<state_snapshot>", "<loaded_context>", "This is the Gemini CLI.")
"""How texts of the type `user` begin that the program wrote."""
_HOOK_CONTEXT = re.compile(r"<hook_context>.*?</hook_context>", re.DOTALL)


def strip_hook_context(text: str) -> str:
    """A prompt without what hooks added to it."""
    return _HOOK_CONTEXT.sub("", text).strip()


def is_gemini_cli(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str)


def read_gemini_cli(name: str, lines: Iterable[RawLine]) -> ForeignSession:
    """One conversation; `name` is the file's name without its ending."""
    their_id, skipped = "", 0
    started_at: int | None = None
    messages: dict[str, Mapping[str, Any]] = {}
    for _, _, record in lines:
        if record is None:
            skipped += 1
            continue
        if is_gemini_cli(record):
            their_id = their_id or str(record["sessionId"])
            started_at = started_at or to_ms(record.get("startTime"))
        for message in _messages(record, is_first=not messages):
            messages[message["id"]] = message  # written again when its tools have answered
    their_id = their_id or name
    said = tuple(line for message in messages.values() for line in _spoken(message))
    return ForeignSession("gemini", f"gemini-{their_id}", their_id, said, started_at=started_at, skipped=skipped)


def _messages(record: Mapping[str, Any], *, is_first: bool) -> Iterator[Mapping[str, Any]]:
    """Return the messages of a line, without the history that is repeated under new ids after a compression."""
    if isinstance(record.get("id"), str):
        yield record
        return
    changes = record.get("$set")
    holder = changes if isinstance(changes, Mapping) else record
    listed = holder.get("messages")
    for message in listed if is_first and isinstance(listed, list) else ():
        if isinstance(message, Mapping) and isinstance(message.get("id"), str):
            yield message


def _spoken(message: Mapping[str, Any]) -> Iterator[ForeignLine]:
    role = _ROLES.get(str(message.get("type")))
    text = strip_hook_context("\n".join(_texts(message.get("content"))))
    if role is None or not text or (role == "user" and text.startswith(_WRAPPED)):
        return
    model = {"model": message["model"]} if role == "assistant" and isinstance(message.get("model"), str) else {}
    told = {"role": role, "content": text, **model}
    yield ForeignLine.of_message(message["id"], to_ms(message.get("timestamp")), told)


def _texts(content: object) -> Iterator[str]:
    parts = [content] if isinstance(content, str) else content
    for part in parts if isinstance(parts, list) else ():
        text = part.get("text") if isinstance(part, Mapping) and not part.get("thought") else part
        if isinstance(text, str):
            yield text
