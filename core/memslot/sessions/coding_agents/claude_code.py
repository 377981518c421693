"""Conversations of Claude Code: `~/.claude/projects/<project>/<session>.jsonl`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memslot.sessions.imports import ForeignLine, ForeignSession, RawLine
from memslot.sessions.times import to_ms

_NOT_SAID = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")
"""Marks of the program's own lines: sub-agents, notices, summaries, failures."""
_WRAPPED = re.compile(
    r"\s*(?:<(?:command-|local-command-|bash-|ide_|task-notification|teammate-message|system-reminder|user-prompt-submit-hook)"
    r"|\[Request interrupted by user|Caveat: The messages below were generated)"
)
"""How texts with the role `user` begin that the user did not type."""
_TITLES = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
"""Kinds of lines with a title, and its key; later ones win: the last is the user's own choice."""
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


def is_claude_code(record: Mapping[str, Any]) -> bool:
    return (
        record.get("type") in ("user", "assistant")
        and isinstance(record.get("uuid"), str)
        and isinstance(record.get("message"), Mapping)
    ) or (record.get("type") == "summary" and "leafUuid" in record)


def read_claude_code(name: str, lines: Iterable[RawLine]) -> ForeignSession:
    """One conversation; `name` is the file's name without its ending."""
    their_id, facts, skipped = "", {}, 0
    titles: dict[str, str] = {}
    said: list[ForeignLine] = []
    for _, _, record in lines:
        if record is None:
            skipped += 1
            continue
        if not their_id and isinstance(record.get("sessionId"), str):
            their_id = record["sessionId"]
        for key in ("cwd", "gitBranch"):
            if key not in facts and isinstance(record.get(key), str) and record[key]:
                facts[key] = record[key]
        if (kind := record.get("type")) in _TITLES and isinstance(title := record.get(_TITLES[kind]), str):
            titles[kind] = title
        said.extend(_spoken(record))
    # A resumed session continues in a new file, whose first lines still have the old id.
    their_id = name or their_id
    best = next((titles[kind] for kind in reversed(_TITLES) if titles.get(kind)), "")
    return ForeignSession(
        "claude-code", f"claude-code-{their_id}", their_id, tuple(said), title=best, facts=facts, skipped=skipped
    )


def _spoken(record: Mapping[str, Any]) -> Iterator[ForeignLine]:
    message, key = record.get("message"), record.get("uuid")
    if record.get("type") not in ("user", "assistant") or not isinstance(message, Mapping) or not isinstance(key, str):
        return
    role = message.get("role")
    if role not in ("user", "assistant") or any(record.get(mark) for mark in _NOT_SAID):
        return
    text = "\n".join(_texts(message.get("content"))).strip()
    if text:
        more = {"model": message["model"]} if role == "assistant" and isinstance(message.get("model"), str) else {}
        time = to_ms(record.get("timestamp"))
        yield ForeignLine.of_message(key, time, {"role": role, "content": text, **more})


def _texts(content: object) -> Iterator[str]:
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, Mapping) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            continue  # tool calls, their results, reasoning, images
        if not _WRAPPED.match(part["text"]):
            yield _REMINDER.sub("", part["text"])
