"""Why a candidate stands where it stands, or nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SHOWN = "shown"
KEPT_FOR_ITS_WORDS = "below minScore, kept for its rare words"
BELOW_MIN_SCORE = "below minScore"
BEYOND_MAX_RESULTS = "beyond maxResults"
"""What became of a candidate."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that went into one candidate's score, and what became of it.

    Ranks count from 1 and are None where a leg did not find the candidate. `line` to `date` are None where the
    candidate was not looked at closer, `date` also where the question names none.
    """

    id: int
    path: str
    start_line: int
    end_line: int
    score: float
    outcome: str
    text_score: float
    text_rank: int | None
    vector_score: float | None
    vector_rank: int | None
    fused: float
    line: float | None = None
    window: float | None = None
    phrase: float | None = None
    label: bool | None = None
    date: float | None = None
    decay: float = 1.0
    mmr_penalty: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """A mapping with stable keys, for `--explain` and for tools."""
        return {
            "path": self.path,
            "startLine": self.start_line,
            "endLine": self.end_line,
            "score": _short(self.score),
            "outcome": self.outcome,
            "textScore": _short(self.text_score),
            "textRank": self.text_rank,
            "vectorScore": _short(self.vector_score),
            "vectorRank": self.vector_rank,
            "fusedScore": _short(self.fused),
            "bestLine": _short(self.line),
            "bestWindow": _short(self.window),
            "phrase": _short(self.phrase),
            "label": self.label,
            "date": _short(self.date),
            "decay": _short(self.decay),
            "mmrPenalty": _short(self.mmr_penalty),
        }


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
