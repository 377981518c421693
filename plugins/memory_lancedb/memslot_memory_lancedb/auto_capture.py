"""Auto-capture after a run: judges each user message once and keeps those worth it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memslot import MemslotError, Message, message_text, strip_recalled

from memslot_memory_lancedb.capture.elsewhere import Kept
from memslot_memory_lancedb.capture.rules import judge
from memslot_memory_lancedb.decisions import FAILED, Decision, DecisionLog, message_key
from memslot_memory_lancedb.memory_record import Origin
from memslot_memory_lancedb.memory_writer import MemoryWriter

MOST_PER_RUN = 3
ELSEWHERE = "elsewhere"
"""Rule for a message that another memory in the slot already has."""
KeptElsewhere = Callable[[str], Kept | None]


@dataclass(frozen=True)
class CaptureRules:
    """Capture settings."""

    max_chars: int = 500
    custom_triggers: tuple[str, ...] = ()


class AutoCapture:
    """Keeps at most three messages per run, and logs why each was kept or not."""

    def __init__(
        self,
        writer: MemoryWriter,
        log: DecisionLog,
        rules: CaptureRules = CaptureRules(),
    ) -> None:
        self._writer = writer
        self._log = log
        self._rules = rules

    def take(
        self, session: str, messages: Sequence[Message], kept_elsewhere: KeptElsewhere = lambda text: None
    ) -> list[Decision]:
        """Judge user messages not seen before; returns the decisions, newest first."""
        texts = [strip_recalled(message_text(each)).strip() for each in messages if each.get("role") == "user"]
        by_key = {message_key(text): text for text in texts if text}
        if not by_key:
            return []
        # Two processes may handle one run, if a killed host left it behind.
        with self._log.locked():
            return self._take(session, by_key, kept_elsewhere)

    def _take(self, session: str, by_key: dict[str, str], kept_elsewhere: KeptElsewhere) -> list[Decision]:
        unseen = self._log.unseen(session, list(by_key))
        decisions: list[Decision] = []
        kept = 0
        # Newest first: a program may pass a long history at once, whose end matters most.
        for key in reversed(list(by_key)):
            if key not in unseen:
                continue
            decision = self._decide(session, key, by_key[key], kept, kept_elsewhere)
            kept += decision.kept
            decisions.append(decision)
            # Logged one by one, so that a process that is killed here doesn't keep the message twice.
            self._log.add([decision])
        return decisions

    def _decide(self, session: str, key: str, text: str, kept: int, kept_elsewhere: KeptElsewhere) -> Decision:
        verdict = judge(text, max_chars=self._rules.max_chars, custom_triggers=self._rules.custom_triggers)
        if not verdict.kept:
            return Decision(session, key, False, verdict.rule, verdict.reason, verdict.text)
        if kept >= MOST_PER_RUN:
            reason = f"worth keeping, but {MOST_PER_RUN} messages of this run were kept already"
            return Decision(session, key, False, "limit", reason, verdict.text)
        if (elsewhere := kept_elsewhere(verdict.text)) is not None:
            return Decision(session, key, False, ELSEWHERE, f"worth keeping, but {elsewhere}", verdict.text)
        try:
            outcome = self._writer.keep(verdict.text, category=verdict.category, origin=Origin(session, key))
        except MemslotError as error:
            return Decision(session, key, False, FAILED, f"worth keeping, but it failed: {error}", verdict.text)
        memory_id = outcome.memory.id
        if outcome.action == "duplicate":
            reason = f"duplicates memory {memory_id}"
            return Decision(session, key, False, "duplicate", reason, verdict.text, memory_id)
        return Decision(session, key, True, verdict.rule, verdict.reason, verdict.text, memory_id)
