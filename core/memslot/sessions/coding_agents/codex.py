"""Conversations of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, older ones packed as `.zst`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from memslot.sessions.imports import ForeignLine, ForeignSession, RawLine
from memslot.sessions.times import to_ms

_TEXT_PARTS = ("input_text", "output_text", "text")
_ID_IN_NAME = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
_WRAPPED = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted|user_action|skill"
    r"|subagent_notification|user_shell_command|collaboration_mode|codex_internal_context|goal_context|recommended_plugins"
    r"|app-context|INSTRUCTIONS)\b|# AGENTS\.md instructions)"
)
"""How texts with the role `user` begin that the program wrote."""
_REQUEST = re.compile(r"^## My request(?: for Codex)?:\s*$", re.MULTILINE)
"""What is open in the editor comes before this line, what the user wrote after it."""
_PICTURE = re.compile(r"\s*</?image\b[^>]*>\s*")


def is_codex(record: Mapping[str, Any]) -> bool:
    if isinstance(record.get("payload"), Mapping):
        return record.get("type") in ("session_meta", "response_item", "turn_context", "event_msg")
    if record.get("record_type") == "state":
        return True
    # The oldest files: messages without a wrapping, whose parts have names that only this program uses.
    return record.get("type") == "message" and any(
        isinstance(part, Mapping) and part.get("type") in ("input_text", "output_text") for part in _parts(record)
    )


def read_codex(name: str, lines: Iterable[RawLine]) -> ForeignSession:
    """One conversation; `name` is the file's name without its ending."""
    found = _ID_IN_NAME.search(name)
    their_id = found[0] if found else ""
    facts: dict[str, Any] = {}
    started_at: int | None = None
    said: list[ForeignLine] = []
    skipped, is_begun = 0, False
    for number, _, record in lines:
        if record is None:
            skipped += 1
            continue
        meta = _meta(record, number)
        if meta is not None:
            if not is_begun and _is_sub_agent(meta):
                break  # the "user" of this whole file is another agent
            is_begun = True
            their_id = their_id or str(meta.get("id") or "")
            started_at = started_at or to_ms(meta.get("timestamp"))
            if isinstance(meta.get("cwd"), str):
                facts.setdefault("cwd", meta["cwd"])
        if record.get("type") == "compacted" and said and _is_summary(said[-1], record.get("payload")):
            said.pop()
        payload = record.get("payload") if record.get("type") == "response_item" else record
        if isinstance(payload, Mapping) and payload.get("type") == "message":
            role, text = payload.get("role"), _text(payload)
            if role == "user":
                text = "" if _WRAPPED.match(text) else _REQUEST.split(text)[-1].strip()
            if role in ("user", "assistant") and text:
                time = to_ms(record.get("timestamp"))
                # Lines have no id; since the file only grows, the line number can serve as one.
                key = ForeignLine.make_key("codex", number, role, text)
                said.append(ForeignLine.of_message(key, time, {"role": role, "content": text}))
    their_id = their_id or name
    return ForeignSession(
        "codex", f"codex-{their_id}", their_id, tuple(said), started_at=started_at, facts=facts, skipped=skipped
    )


def _is_summary(line: ForeignLine, compacted: Any) -> bool:
    """Whether a reply is the summary that the program asked for, to compact the conversation."""
    message = compacted.get("message") if isinstance(compacted, Mapping) else None
    is_reply = line.message.get("role") == "assistant"
    return is_reply and isinstance(message, str) and message.endswith(str(line.message.get("content")))


def _meta(record: Mapping[str, Any], number: int) -> Mapping[str, Any] | None:
    if record.get("type") == "session_meta":
        payload = record.get("payload")
        return payload if isinstance(payload, Mapping) else None
    return record if number == 1 and "type" not in record and isinstance(record.get("id"), str) else None


def _is_sub_agent(meta: Mapping[str, Any]) -> bool:
    source = meta.get("source")
    return meta.get("thread_source") == "subagent" or (isinstance(source, Mapping) and "subagent" in source)


def _parts(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _text(message: Mapping[str, Any]) -> str:
    if isinstance(message.get("content"), str):
        return str(message["content"]).strip()
    texts = (
        part.get("text") for part in _parts(message) if isinstance(part, Mapping) and part.get("type") in _TEXT_PARTS
    )
    return "\n".join(text for text in texts if isinstance(text, str) and not _PICTURE.fullmatch(text)).strip()
