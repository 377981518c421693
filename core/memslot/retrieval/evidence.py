"""Evidence: how much of a query single lines and windows of adjacent lines hold.

A chunk may hold the words of a question scattered; an answer holds them in one line or a few adjacent ones. With word
vectors, a similar word counts in part.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from memslot.retrieval.matcher import Matcher
from memslot.retrieval.terms import stems
from memslot.retrieval.vocabulary import LINE_END, shared_vocabulary

if TYPE_CHECKING:
    from memslot.retrieval.word_vectors import WordVectors

WINDOW = 3
"""Lines per window, blank ones aside."""
_LONGEST_LABEL = 40


class Evidence(NamedTuple):
    """What a text holds of a query, as shares of the query's weight.

    `lines`: the share of each line. `line`, `window`: the best line, the best three adjacent lines. `phrase`: the
    share of the query's phrases that occur. `label`: the best line begins with a word of the query and a colon
    (`Maria: …`, `Wi-Fi password: …`). `terms`: a bit mask of the terms that occur.
    """

    lines: Sequence[float]
    line: float
    window: float
    phrase: float
    label: bool
    terms: int

    @property
    def passage(self) -> float:
        """The mean of the best line and the best window."""
        return (self.line + self.window) / 2


class Matches:
    """The terms in each line of a text that holds any, and those that are adjacent."""

    __slots__ = ("lines", "neighbours")

    def __init__(self) -> None:
        self.lines: dict[int, int] = {}
        self.neighbours: set[tuple[int, int]] = set()


def gather_evidence(texts: Sequence[str], matcher: Matcher, words: WordVectors | None = None) -> list[Evidence]:
    """Match a query against each of the texts."""
    if not texts:
        return []
    known = shared_vocabulary(matcher.tokenizer)
    numbers = known.read(texts)
    bits = matcher.bits_in(known)
    if words is not None and any(term.has_meaning for term in matcher.terms):
        from memslot.retrieval.similar_words import Lines, similar_shares

        lines = Lines(numbers, len(known))
        matched = matches_by_text(lines.find(bits), bits, len(texts))
        shares = similar_shares(lines, bits, matcher, words, known)
    else:
        plain = [_PlainLines(each) for each in numbers]
        found = ((text, *hit) for text, each in enumerate(plain) for hit in each.find(bits))
        matched = matches_by_text(found, bits, len(texts))
        shares = [exact_shares(each, lines.is_filled, matcher) for each, lines in zip(matched, plain, strict=True)]
    return [_evidence(text, each, *share, matcher) for text, each, share in zip(texts, matched, shares, strict=True)]


class _PlainLines:
    """A text as word numbers."""

    def __init__(self, numbers: bytes) -> None:
        self._numbers = array("I")
        self._numbers.frombytes(numbers)
        self._ends = [place for place, number in enumerate(self._numbers) if number == LINE_END]

    @property
    def is_filled(self) -> list[bool]:
        """Whether each line holds a word."""
        return [end - before > 1 for before, end in pairwise([-1, *self._ends])]

    def find(self, wanted: Mapping[int, int]) -> Iterator[tuple[int, int, int]]:
        """Line, place and number of each wanted word."""
        if wanted.keys().isdisjoint(self._numbers):
            return
        line = 0
        for place, number in enumerate(self._numbers):
            if number in wanted:
                yield line, place, number
            elif number == LINE_END:
                line += 1


def matches_by_text(found: Iterable[tuple[int, int, int, int]], bits: Mapping[int, int], texts: int) -> list[Matches]:
    """Group what was found (text, line, place, word number) by text."""
    matched = [Matches() for _ in range(texts)]
    before, end_before = 0, (-1, -1)
    for text, line, place, word in found:
        here, lines = bits[word], matched[text].lines
        lines[line] = lines.get(line, 0) | here
        if (text, place) == end_before:  # a line end takes a place
            matched[text].neighbours.add((before, here))
        before, end_before = here, (text, place + 1)
    return matched


def exact_shares(matches: Matches, is_filled: Sequence[bool], matcher: Matcher) -> tuple[list[float], float]:
    """The share of each line, and of the best window."""
    masks = matches.lines
    lines = [matcher.share(masks.get(line, 0)) for line in range(len(is_filled))]
    filled = [masks.get(line, 0) for line, has_words in enumerate(is_filled) if has_words] if masks else []
    windows = {reduce(or_, filled[number : number + WINDOW]) for number in range(len(filled))}
    return lines, max(map(matcher.share, windows), default=0.0)


def _evidence(text: str, matches: Matches, lines: Sequence[float], window: float, matcher: Matcher) -> Evidence:
    line = max(lines)
    best = lines.index(line)
    return Evidence(
        lines,
        line,
        max(window, line),
        matcher.phrase_share(matches.neighbours),
        best in matches.lines and ":" in text and has_label(text.split("\n", best + 1)[best], matcher),
        reduce(or_, matches.lines.values(), 0),
    )


def has_label(line: str, matcher: Matcher) -> bool:
    """Whether a line begins with a word of the query and a colon."""
    label, colon, _ = line[: _LONGEST_LABEL + 1].partition(":")
    return bool(colon) and matcher.bits_of(stems(label, matcher.tokenizer)) > 0
