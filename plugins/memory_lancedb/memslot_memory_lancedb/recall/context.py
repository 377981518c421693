"""What comes before a prompt unasked: few memories, relevant ones, fenced, and never late."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from memslot import SingleFlight, StillRunningError, fence, one_line, redact

from memslot_memory_lancedb.memories import Found
from memslot_memory_lancedb.recall.finding import Recalled, Recalling
from memslot_memory_lancedb.recall.noise import NoiseLevel
from memslot_memory_lancedb.recall.trivial import is_trivial
from memslot_memory_lancedb.scores import FLOOR

WORDS_FLOOR = 0.3
"""The share of a prompt's words that a memory without a vector must hold."""
_FOR_THE_EMBEDDER = 0.6
"""The part of the time that the embedder may take; the rest is for searching by words without it."""
_CONSIDERED = 4
"""Times the number shown: what is below the floor falls out."""
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
        noise: NoiseLevel,
        limits: RecallLimits = RecallLimits(),
        prepare: Callable[[], bool] = lambda: True,
        tell: Callable[[str], None] = lambda problem: None,
    ) -> None:
        self._recalling = recalling
        self._noise = noise
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
        return fence((redact(each.memory.text) for each in found), max_chars=self._limits.max_chars)

    def _relevant(self, prompt: str) -> list[Found]:
        seconds = self._limits.seconds * _FOR_THE_EMBEDDER
        recalled: Recalled = self._recalling.find(prompt, self._limits.count * _CONSIDERED, seconds)
        if not recalled.found:
            return []
        # Measured only where it is needed: a first measurement asks the embedder.
        noise = self._noise.floor if any(each.by == "meaning" for each in recalled.found) else FLOOR
        floors = {"meaning": noise, "words": WORDS_FLOOR}
        return [each for each in recalled.found if each.score >= floors[each.by]][: self._limits.count]

    def _give_up(self, problem: str) -> str:
        self.problem = one_line(problem)
        self._warn(self.problem)
        return ""

    def _warn(self, problem: str) -> None:
        logger.warning("%s", problem)
        self._tell(problem)
