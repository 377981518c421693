"""Parses one line of a transcript, cleaned and redacted."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from typing import Any, NamedTuple

from memslot import redact, strip_recalled, to_ms

_SPEAKERS = {"user": "User", "assistant": "Assistant"}
_SURROGATE = re.compile("[\ud800-\udfff]")


class Message(NamedTuple):
    """A message as one line, its role, and its time if known."""

    speaker: str
    text: str
    time: float | None

    @property
    def line(self) -> str:
        return f"{self.speaker}: {self.text}"


class BrokenLineError(ValueError):
    """A line that is not a JSON object."""


def read_message(raw: bytes) -> Message | None:
    """The user's or assistant's message in a line; None for other lines and for empty messages.

    Recalled blocks and secrets are removed.
    """
    if raw.isspace():
        return None
    record = _parse(raw)
    if record.get("type") != "message":
        return None
    inner = record.get("message")
    message = inner if isinstance(inner, Mapping) else record
    role = message.get("role")
    speaker = _SPEAKERS.get(role) if isinstance(role, str) else None
    if speaker is None:
        return None
    text = _clean(_text_of(message.get("content")))
    if not text:
        return None
    return Message(speaker, text, _first_time(record.get("timestamp"), message.get("timestamp")))


def is_whole(raw: bytes) -> bool:
    """Whether a line without a line end is complete; no prefix of a JSON object is valid JSON."""
    try:
        _parse(raw)
    except BrokenLineError:
        return False
    return True


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        record = json.loads(raw.removeprefix(BOM_UTF8).decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise BrokenLineError(str(error)) from None
    if not isinstance(record, dict):
        raise BrokenLineError("not an object")
    return record


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def _clean(text: str) -> str:
    text = redact(strip_recalled(text))
    if not text.isascii():
        text = _SURROGATE.sub("\ufffd", text)
    return " ".join(text.replace("\0", " ").split())


def _first_time(*stamps: object) -> float | None:
    moment = next((moment for moment in map(to_ms, stamps) if moment is not None), None)
    return None if moment is None else moment / 1000
