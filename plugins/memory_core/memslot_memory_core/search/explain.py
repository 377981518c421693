"""Explanations of a candidate's rank, or why it was dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memslot.retrieval import relevance_of

SHOWN = "shown"
WEAK = "shown as a weak match"
BELOW_MIN_SCORE = "below minScore"
BEYOND_MAX_RESULTS = "beyond maxResults"
"""What became of a candidate."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that went into one candidate's score, and its outcome.

    Ranks count from 1 and are None if a leg did not find the candidate. `z` is its semantic z-score. `line` and
    `window` are None if the candidate was not reranked, `date` if the question names none.
    """

    path: str
    start_line: int
    end_line: int
    score: float
    outcome: str
    text_score: float
    text_rank: int | None
    z: float | None
    z_rank: int | None
    cosine: float | None
    part_cosine: float | None
    words: float
    relevance: float
    line: float | None = None
    window: float | None = None
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
            "z": _short(self.z),
            "zRank": self.z_rank,
            "vectorScore": _short(self.cosine),
            "partScore": _short(self.part_cosine),
            "words": _short(self.words),
            "relevance": _short(self.relevance),
            "bestLine": _short(self.line),
            "bestWindow": _short(self.window),
            "date": _short(self.date),
            "decay": _short(self.decay),
            "mmrPenalty": _short(self.mmr_penalty),
            "parts": self._parts(),
        }

    def _parts(self) -> dict[str, float]:
        """What the score is made of, each from 0 to 1."""
        read = [each for each in (self.line, self.window) if each is not None]
        parts = {
            "words": self.words,
            "meaning": None if self.z is None else relevance_of(0.0, self.z),
            "evidence": max(read) if read else None,
            "decay": self.decay,
        }
        return {name: round(min(1.0, max(0.0, each)), 4) for name, each in parts.items() if each is not None}


_COLUMNS = (
    ("score", "score", ""),
    ("outcome", "outcome", ""),
    ("keywords", "textScore", "textRank"),
    ("meaning (z)", "z", "zRank"),
    ("cosine", "vectorScore", ""),
    ("best part", "partScore", ""),
    ("best line", "bestLine", ""),
    ("best passage", "bestWindow", ""),
    ("relevance", "relevance", ""),
    ("date", "date", ""),
    ("age factor", "decay", ""),
    ("repetition", "mmrPenalty", ""),
)
"""Heading, key of the value, and key of its rank."""
_SAYS_NOTHING = {"decay": 1.0, "mmrPenalty": 0.0}


def explain_table(explained: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Explanations as a text table, without empty columns."""

    def has_values(key: str) -> bool:
        return any(each.get(key) not in (None, _SAYS_NOTHING.get(key)) for each in explained)

    columns = [column for column in _COLUMNS if has_values(column[1])]
    rows = [[_where(each), *(_cell(each, key, rank) for _, key, rank in columns)] for each in explained]
    return ["where", *(heading for heading, _, _ in columns)], rows


def _where(explained: Mapping[str, Any]) -> str:
    start, end = explained.get("startLine"), explained.get("endLine")
    return f"{explained.get('path', '')}#L{start}" + (f"-L{end}" if end != start else "")


def _cell(explained: Mapping[str, Any], key: str, rank: str) -> str:
    value = explained.get(key)
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return f"{text} (#{explained[rank]})" if explained.get(rank) else text


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
