"""Evidence: how much of a query single lines and windows of adjacent lines contain.

A chunk may contain a question's words scattered; an answer has them in one line or a few adjacent ones.
"""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import NamedTuple

from memslot.retrieval.matcher import Matcher
from memslot.retrieval.terms import stems
from memslot.retrieval.vocabulary import LINE_END, shared_vocabulary

WINDOW = 3
"""Lines per window, blank ones aside."""
_MAX_LABEL = 40


class Evidence(NamedTuple):
    """How much of a query a text contains, as shares of the query's weight.

    `lines`: the share of each line. `line`, `window`: the best line, the best three adjacent lines.
    """

    lines: Sequence[float]
    line: float
    window: float

    @property
    def passage(self) -> float:
        """The mean of the best line and the best window."""
        return (self.line + self.window) / 2


def gather_evidence(texts: Sequence[str], matcher: Matcher) -> list[Evidence]:
    """Match a query against each of the texts."""
    if not texts:
        return []
    known = shared_vocabulary(matcher.tokenizer)
    numbers = known.read(texts)
    bits = matcher.bits_in(known)
    lines = [_Lines(each) for each in numbers]
    return [_evidence(each.terms_by_line(bits), each.is_filled, matcher) for each in lines]


class _Lines:
    """A text as word ids."""

    def __init__(self, numbers: bytes) -> None:
        self._numbers = array("I")
        self._numbers.frombytes(numbers)
        self._ends: list[int] = []
        with contextlib.suppress(ValueError):  # raised by `index` after the last one
            while True:
                self._ends.append(self._numbers.index(LINE_END, self._ends[-1] + 1 if self._ends else 0))

    @property
    def is_filled(self) -> list[bool]:
        """Whether each line contains a word."""
        return [end - before > 1 for before, end in pairwise([-1, *self._ends])]

    def terms_by_line(self, bits: Mapping[int, int]) -> dict[int, int]:
        """Return the terms in each line as a bit mask, for lines that have any. `bits` are each word's."""
        found: dict[int, int] = {}
        if bits.keys().isdisjoint(self._numbers):
            return found
        line = 0
        for number in self._numbers:
            if number == LINE_END:
                line += 1
            elif number in bits:
                found[line] = found.get(line, 0) | bits[number]
        return found


def _evidence(masks: Mapping[int, int], is_filled: Sequence[bool], matcher: Matcher) -> Evidence:
    lines = [matcher.share(masks.get(line, 0)) for line in range(len(is_filled))]
    filled = [masks.get(line, 0) for line, has_words in enumerate(is_filled) if has_words] if masks else []
    windows = {reduce(or_, filled[number : number + WINDOW]) for number in range(len(filled))}
    line = max(lines)
    return Evidence(lines, line, max(line, *map(matcher.share, windows)) if windows else line)


def has_label(line: str, matcher: Matcher) -> bool:
    """Whether a line begins with a word of the query and a colon."""
    label, colon, _ = line[: _MAX_LABEL + 1].partition(":")
    return bool(colon) and matcher.bits_of(stems(label, matcher.tokenizer)) > 0
