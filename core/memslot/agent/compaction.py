"""The memory flush: one silent turn in which an agent saves what matters before its context is compacted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memslot.embeddings.tokens import estimate_tokens
from memslot.events import Message
from memslot.sessions.record import SessionRecord
from memslot.sessions.store import SessionStore
from memslot.sessions.times import now_ms

if TYPE_CHECKING:
    from memslot.config.model import AgentDefaults, Config
    from memslot.config.paths import Places

NO_REPLY = "NO_REPLY"
"""The reply of an agent that has nothing to say to the user."""
_ALONE = re.compile(rf"[\s\W_]*?{NO_REPLY}[\s\W_]*")
_FIRST = re.compile(rf"[\s*_]*{NO_REPLY}(?!\w)")
_LAST = re.compile(rf"(?:^|\s)[*_]*{NO_REPLY}[\s*_.!]*\Z")
_TOKENS_PER_MESSAGE = 4
_TOKENS_PER_PICTURE = 1_000
"""Approximate tokens of an image: models count them by size, not by the length of the encoding."""


def is_silent_reply(text: str) -> bool:
    """Whether an agent's answer begins or ends with NO_REPLY and is therefore not shown to the user.

    An answer that merely mentions it, in quotes or in the middle, is shown.
    """
    last_line = text.strip().rpartition("\n")[2]
    return bool(_ALONE.fullmatch(last_line) or _FIRST.match(text) or _LAST.search(last_line))


def count_tokens(messages: Iterable[Message], system_prompt: str = "") -> int:
    """Estimate the tokens of a conversation, for when the model's own count is not available."""
    return estimate_tokens(system_prompt) + sum(_TOKENS_PER_MESSAGE + _tokens_of(dict(each)) for each in messages)


def _tokens_of(value: Any) -> int:
    if isinstance(value, str):
        return _TOKENS_PER_PICTURE if value.startswith("data:image/") else estimate_tokens(value)
    if isinstance(value, Mapping):
        if str(value.get("type", "")).startswith(("image", "input_image")):
            return _TOKENS_PER_PICTURE
        return sum(_tokens_of(item) for item in value.values())
    if isinstance(value, list | tuple):
        return sum(_tokens_of(item) for item in value)
    return 1 if value is not None else 0


@dataclass(frozen=True)
class WindowBudget:
    """How a context window is divided: `reserve` tokens stay free, and the flush happens `soft` tokens earlier."""

    window: int
    reserve: int
    soft: int

    @classmethod
    def of(cls, defaults: AgentDefaults, window: int | None = None) -> WindowBudget:
        """Build from the settings. If they would use up a small window, they share half of it."""
        size = window or defaults.context_window
        reserve = defaults.compaction.reserve_tokens_floor
        soft = defaults.compaction.memory_flush.soft_threshold_tokens
        if reserve + soft >= size:
            half = size // 2
            reserve, soft = half * reserve // (reserve + soft), half * soft // (reserve + soft)
        return cls(size, reserve, soft)

    @property
    def flush_at(self) -> int:
        return self.window - self.reserve - self.soft

    @property
    def compact_at(self) -> int:
        return self.window - self.reserve


@dataclass(frozen=True)
class FlushTurn:
    """The prompts of the silent turn. The agent's answer is not shown if it is a silent reply."""

    system_prompt: str
    prompt: str

    @property
    def messages(self) -> tuple[Message, Message]:
        """Messages to append to the conversation, for this turn only."""
        return {"role": "system", "content": self.system_prompt}, {"role": "user", "content": self.prompt}


class CompactionFlush:
    """Decides when an agent must flush its notes and compact its context, and records that it did."""

    def __init__(self, config: Config, places: Places, agent_id: str, *, context_window: int | None = None) -> None:
        self._workspace = config.workspace(agent_id, places)
        self.store = SessionStore.of_agent(places, agent_id, self._workspace)
        """Records which flushes were done."""
        self.budget = WindowBudget.of(config.agents.defaults, context_window)
        """How the context window is divided."""
        self._settings = config.agents.defaults.compaction.memory_flush

    def needs_compaction(self, tokens: int) -> bool:
        """Whether a conversation of this many tokens must be compacted now."""
        return tokens >= self.budget.compact_at

    def reason_not_due(self, session_id: str, tokens: int, *, can_write: bool = True) -> str | None:
        """Return why no flush is due, in a few words, or None if one is.

        `can_write` is False in a run whose tools cannot write notes, as in group chats.
        """
        if not self._settings.enabled:
            return "the flush is turned off"
        if tokens < self.budget.flush_at:
            return f"{tokens} tokens are fewer than {self.budget.flush_at}"
        if not can_write:
            return "the agent has no tool to write notes with"
        if not is_writable(self._workspace):
            return f"{self._workspace} cannot be written"
        record = self.store.record(session_id)
        return _DONE if record is not None and was_flushed(record) else None

    def begin(
        self, session_id: str, tokens: int, *, can_write: bool = True, today: date | None = None
    ) -> FlushTurn | None:
        """Return the silent turn if one is due, and record it as done, so that only one process gets it. Else None."""
        if self.reason_not_due(session_id, tokens, can_write=can_write) is not None or not self._claim(session_id):
            return None
        day = (today or date.today()).isoformat()
        return FlushTurn(
            self._settings.system_prompt.replace("YYYY-MM-DD", day), self._settings.prompt.replace("YYYY-MM-DD", day)
        )

    def _claim(self, session_id: str) -> bool:
        claimed = False

        def claim(record: SessionRecord) -> Mapping[str, Any]:
            nonlocal claimed
            claimed = not was_flushed(record)
            count = record.compaction_count
            return {"memoryFlushAt": now_ms(), "memoryFlushCompactionCount": count} if claimed else {}

        self.store.update(session_id, claim)
        return claimed

    def make_due_again(self, session_id: str) -> None:
        """Make the flush due again, because the model could not be asked."""
        self.store.update(
            session_id, lambda record: {"memoryFlushCompactionCount": None} if was_flushed(record) else {}
        )


_DONE = "it has already run since the last compaction"


def was_flushed(record: SessionRecord) -> bool:
    """Whether the flush of this compaction cycle was done."""
    return record.memory_flush_compaction_count == record.compaction_count


def is_writable(folder: Path) -> bool:
    """Whether notes can be written in a folder, or in its nearest existing parent if it must be created."""
    for name in ("memory", "."):
        at = folder / name
        while not at.exists() and at != at.parent:
            at = at.parent
        if not at.is_dir() or not os.access(at, os.W_OK | os.X_OK):
            return False
    return True
