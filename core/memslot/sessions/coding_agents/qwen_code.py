"""Conversations of Qwen Code: `~/.qwen/projects/<project>/chats/<session>.jsonl`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memslot.sessions.imports import ForeignLine, ForeignSession, RawLine
from memslot.sessions.times import to_ms

_ROLES = {"user": "user", "assistant": "assistant"}
_WRAPPED = ("<qwen:", "<system-reminder>", "<state_snapshot>")
"""How parts begin that the program or a hook wrote."""


def is_qwen_code(record: Mapping[str, Any]) -> bool:
    message = record.get("message")
    is_line = isinstance(record.get("uuid"), str) and isinstance(record.get("sessionId"), str)
    return is_line and isinstance(message, Mapping) and isinstance(message.get("parts"), list)


def read_qwen_code(name: str, lines: Iterable[RawLine]) -> ForeignSession:
    """One conversation; `name` is the file's name without its ending."""
    their_id, skipped = "", 0
    facts: dict[str, Any] = {}
    said: list[ForeignLine] = []
    for _, _, record in lines:
        if record is None:
            skipped += 1
            continue
        if not their_id and isinstance(record.get("sessionId"), str):
            their_id = record["sessionId"]
        for key in ("cwd", "gitBranch"):
            if isinstance(record.get(key), str) and record[key]:
                facts.setdefault(key, record[key])
        said.extend(_spoken(record))
    their_id = their_id or name
    return ForeignSession("qwen", f"qwen-{their_id}", their_id, tuple(said), facts=facts, skipped=skipped)


def _spoken(record: Mapping[str, Any]) -> Iterator[ForeignLine]:
    role = _ROLES.get(str(record.get("type")))
    if role is None or not is_qwen_code(record) or record.get("isSidechain"):
        return
    payload = record.get("systemPayload")
    typed = payload.get("displayText") if isinstance(payload, Mapping) else None
    text = typed if isinstance(typed, str) and role == "user" else "\n".join(_texts(record["message"]["parts"]))
    if text.strip():
        model = {"model": record["model"]} if role == "assistant" and isinstance(record.get("model"), str) else {}
        told = {"role": role, "content": text.strip(), **model}
        yield ForeignLine.of_message(record["uuid"], to_ms(record.get("timestamp")), told)


def _texts(parts: list[Any]) -> Iterator[str]:
    for part in parts:
        if not isinstance(part, Mapping) or part.get("thought") or not isinstance(part.get("text"), str):
            continue
        if not part["text"].lstrip().startswith(_WRAPPED):
            yield part["text"]
