"""How good answers are: what was found, how high up, and whether it can be read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from question_sets import Question, QuestionSet

DEPTHS = (1, 3, 6, 10, 20)
SHOWN = 6
"""Results that the product shows by default."""


@dataclass(frozen=True)
class Answer:
    """A result of a search: lines `first` to `last` of a file, and what is shown of them."""

    path: str
    first: int
    last: int
    snippet: str
    score: float

    def holds(self, gold: tuple[str, int]) -> bool:
        return self.path == gold[0] and self.first <= gold[1] <= self.last


def measure(asked: QuestionSet, answers: Mapping[str, Sequence[Answer]]) -> dict[str, float]:
    """The means over all questions, by name of the measure."""
    rows = [_measure_one(asked, question, answers[question.id]) for question in asked.questions]
    return {name: fmean(row[name] for row in rows) for name in rows[0]}


def _measure_one(asked: QuestionSet, question: Question, answers: Sequence[Answer]) -> dict[str, float]:
    right = [any(answer.holds(gold) for gold in question.gold) for answer in answers]
    first = right.index(True) + 1 if True in right else None
    row: dict[str, float] = {}
    for depth in DEPTHS:
        row[f"hit@{depth}"] = float(first is not None and first <= depth)
    for depth in DEPTHS:
        covered = [any(answer.holds(gold) for answer in answers[:depth]) for gold in question.gold]
        row[f"recall@{depth}"] = fmean(covered)
    row["MRR"] = 1 / first if first else 0.0
    row["NDCG@10"] = _ndcg(question, answers[:10])
    row[f"seen@{SHOWN}"] = float(any(_is_readable(asked, gold, answers[:SHOWN]) for gold in question.gold))
    return row


def _ndcg(question: Question, answers: Sequence[Answer]) -> float:
    """An answer gains 1 if it holds a gold line that none before it holds; at best each line has its own place."""
    missing = set(question.gold)
    gained = 0.0
    for place, answer in enumerate(answers, 1):
        held = {gold for gold in missing if answer.holds(gold)}
        if held:
            gained += 1 / math.log2(place + 1)
            missing -= held
    best = sum(1 / math.log2(place + 1) for place in range(1, min(10, len(set(question.gold))) + 1))
    return gained / best


def _is_readable(asked: QuestionSet, gold: tuple[str, int], answers: Sequence[Answer]) -> bool:
    """Whether the whole gold line stands in what is shown of its file."""
    line = asked.line(*gold).strip()
    return any(answer.holds(gold) and line in answer.snippet for answer in answers)
