"""What comes before a prompt unasked: few memories, relevant ones, fenced, and never late."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memslot import SingleFlight, StillRunningError, fence, one_line, redact

from memslot_memory_lancedb.memories import Found
from memslot_memory_lancedb.recall.finding import Recalling, clean_query
from memslot_memory_lancedb.recall.trivial import is_trivial
from memslot_memory_lancedb.scores import FLOOR

_FOR_THE_EMBEDDER = 0.6
"""The part of the time that the embedder may take; the rest is for searching by words without it."""
_ROOM = 100_000
logger = logging.getLogger("memslot.plugin.memory-lancedb")


@dataclass(frozen=True)
class RecallLimits:
    """How much, and how long."""

    count: int = 3
    max_chars: int = 1000
    seconds: float = 3.0


class AutoRecall:
    """Looks for memories that fit a prompt. Never raises, and never takes longer than it may."""

    def __init__(
        self,
        recalling: Recalling,
        limits: RecallLimits = RecallLimits(),
        prepare: Callable[[], bool] = lambda: True,
        tell: Callable[[str], None] = lambda problem: None,
    ) -> None:
        self._recalling = recalling
        self._limits = limits
        self._prepare = prepare
        self._tell = tell
        self._patience: SingleFlight[list[Found]] = SingleFlight("auto-recall")
        self.problem: str | None = None
        """Why the last recall gave nothing, if it failed; None once one has worked."""

    def context_for(self, prompt: str) -> str:
        """A fenced block for a prompt; empty where nothing fits, nothing is asked, or something is wrong."""
        try:
            # Not within the time: LanceDB is a second's work to load, once, and what loads does not hang.
            if is_trivial(prompt) or not self._prepare():
                return ""
            found = self._patience.call(self._limits.seconds, lambda: self._relevant(prompt))
        except TimeoutError:
            said = f"nothing was recalled: embedder and store did not answer within {self._limits.seconds:g} s"
            return self._give_up(said)
        except StillRunningError:
            return self._give_up("nothing was recalled: an earlier recall still waits for embedder or store")
        except Exception as error:
            return self._give_up(f"nothing was recalled: {error}")
        self.problem = None
        if self._recalling.fault is not None:  # the status tells it as the embedder's
            self._warn(f"recalled by words only: {self._recalling.fault}")
        return _fenced([redact(each.memory.text) for each in found], self._limits.max_chars)

    def _relevant(self, prompt: str) -> list[Found]:
        """The memories that any sentence of the prompt asks for; none that is a weak match."""
        from memslot.retrieval import WEAK_SCORE, prompt_queries

        queries = prompt_queries(clean_query(prompt))
        recalled = self._recalling.find_any(queries, self._limits.count, self._limits.seconds * _FOR_THE_EMBEDDER)
        return [
            each
            for each in recalled.found
            if each.relevance >= WEAK_SCORE and (each.score >= FLOOR or not each.compared)
        ]

    def _give_up(self, problem: str) -> str:
        self.problem = one_line(problem)
        self._warn(self.problem)
        return ""

    def _warn(self, problem: str) -> None:
        logger.warning("%s", problem)
        self._tell(problem)


def _fenced(texts: Sequence[str], max_chars: int) -> str:
    """The texts in their fence, each once: whole, or as many of its lines as there is room for."""
    kept: list[str] = []
    for text in dict.fromkeys(texts):
        lines = [line for line in text.split("\n") if line.strip()]

        def is_cut(count: int, lines: Sequence[str] = lines) -> bool:
            parts = [*kept, "\n".join(lines[:count])]
            return len(fence(parts, max_chars=max_chars)) < len(fence(parts, max_chars=max_chars + _ROOM))

        most = bisect_left(range(1, len(lines) + 1), True, key=is_cut)
        if most:
            kept.append("\n".join(lines[:most]))
    block = fence(kept, max_chars=max_chars)
    # One line alone may be too long.
    return block or fence(texts[:1], max_chars=max_chars)
