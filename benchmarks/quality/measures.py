"""How good answers are: what was found, how high up, whether it can be read, and whether silence was kept."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from question_sets import Question, QuestionSet
from series import Item, Series

DEPTHS = (1, 3, 6)
SHOWN = 6
"""Results that the product shows by default."""


@dataclass(frozen=True)
class Answer:
    """A result of a search: lines `first` to `last` of a file, and what is shown of them."""

    path: str
    first: int
    last: int
    snippet: str

    def holds(self, gold: tuple[str, int]) -> bool:
        return self.path == gold[0] and self.first <= gold[1] <= self.last


@dataclass(frozen=True)
class Found:
    """All results of a search, best first; `weak` where the memory itself calls them poor."""

    answers: Sequence[Answer]
    weak: bool = False


class Memory(Protocol):
    """Something that can be asked about one workspace."""

    def search(self, query: str) -> Found: ...

    def recall(self, prompt: str) -> str:
        """What stands before a prompt unasked."""

    def close(self) -> None: ...


def find(memory: Memory, asked: QuestionSet, name: str | None = None) -> list[Series]:
    """hit@k: a right result among the first k. seen@6: the whole line that answers stands in a snippet shown."""
    found = [(question, memory.search(question.text).answers) for question in asked.questions]

    def series(measure: str, holds: Callable[[Question, Sequence[Answer]], bool]) -> Series:
        items = [Item(each.id, each.is_open, float(holds(each, answers))) for each, answers in found]
        return Series(name or asked.id, measure, items)

    def hit(depth: int) -> Callable[[Question, Sequence[Answer]], bool]:
        return lambda question, answers: any(answer.holds(gold) for answer in answers[:depth] for gold in question.gold)

    def is_seen(question: Question, answers: Sequence[Answer]) -> bool:
        return any(
            answer.holds(gold) and asked.line(*gold).strip() in answer.snippet
            for answer in answers[:SHOWN]
            for gold in question.gold
        )

    return [*(series(f"hit@{depth}", hit(depth)) for depth in DEPTHS), series(f"seen@{SHOWN}", is_seen)]


def answered(memory: Memory, strange: Iterable[Question], name: str, measure: str) -> Series:
    """The share of off-topic questions that get results which are not called weak."""
    items = []
    for question in strange:
        found = memory.search(question.text)
        items.append(Item(question.id, question.is_open, float(bool(found.answers) and not found.weak)))
    return Series(name, measure, items)


def recalled(memory: Memory, asked: QuestionSet, name: str | None = None) -> list[Series]:
    """evidence: a line that answers stands in what is injected. relevant: the share of items injected that hold one."""
    evidence, relevant = [], []
    for question in asked.questions:
        facts = asked.facts(question)
        injected = items_in(memory.recall(question.text))
        right = sum(any(fact in item for fact in facts) for item in injected)
        evidence.append(Item(question.id, question.is_open, float(right > 0)))
        relevant.append(Item(question.id, question.is_open, right, len(injected)))
    return [Series(name or asked.id, "evidence", evidence), Series(name or asked.id, "relevant", relevant)]


def injected(memory: Memory, strange: Iterable[Question], name: str, measure: str) -> Series:
    """The share of off-topic prompts before which something is injected."""
    items = [Item(each.id, each.is_open, float(bool(items_in(memory.recall(each.text))))) for each in strange]
    return Series(name, measure, items)


def items_in(context: str) -> list[str]:
    """The passages or lines of a recalled block, one for each `- `, as they were before the fence escaped them."""
    return [" ".join(html.unescape(line[2:]).split()) for line in context.splitlines() if line.startswith("- ")]
