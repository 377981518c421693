"""How much of a query single lines and neighbouring lines of a text hold.

A chunk may hold the words of a question here and there; what answers holds them in one line, or in a few that follow
each other. With vectors of words, a similar word counts in part.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memslot_memory_core.index.terms import stems
from memslot_memory_core.search.matching import Matcher
from memslot_memory_core.search.vocabulary import LINE_END, vocabulary

if TYPE_CHECKING:
    from memslot_memory_core.search.word_vectors import WordVectors

    Word = TypeVar("Word", int, str)

WINDOW = 3
"""Lines looked at together; blank ones do not count."""
_LONGEST_LABEL = 40


class Evidence(NamedTuple):
    """What a text holds of a query, as shares of the query's weight.

    `lines` has one share for each line of the text; `line` and `window` are those of the best line and of the best
    three in a row. `phrase` is the share of the query's word pairs that stand side by side, `label` whether the best
    line is filed under one of its words: `Maria: …`, `Wi-Fi password: …`. `terms` are the terms that occur.
    """

    lines: Sequence[float]
    line: float
    window: float
    phrase: float
    label: bool
    terms: int

    @property
    def passage(self) -> float:
        return (self.line + self.window) / 2


class Read:
    """The terms in those lines of a text that hold any, and which of them stand side by side."""

    __slots__ = ("lines", "neighbours")

    def __init__(self) -> None:
        self.lines: dict[int, int] = {}
        self.neighbours: set[tuple[int, int]] = set()


def gather_evidence(texts: Sequence[str], matcher: Matcher, words: WordVectors | None = None) -> list[Evidence]:
    """Look for a query in each of the texts."""
    if not texts:
        return []
    known = vocabulary()
    numbers = known.read(texts)
    bits = matcher.bits_in(known)
    if words is not None and any(term.has_meaning for term in matcher.terms):
        from memslot_memory_core.search.similar_words import Lines, similar_shares

        lines = Lines(numbers, len(known))
        read = read_found(lines.find(bits), bits, len(texts))
        shares = similar_shares(lines, bits, matcher, words, known)
    else:
        plain = [_PlainLines(each) for each in numbers]
        found = ((text, *hit) for text, each in enumerate(plain) for hit in each.find(bits))
        read = read_found(found, bits, len(texts))
        shares = [exact_shares(each, lines.is_filled, matcher) for each, lines in zip(read, plain, strict=True)]
    return [sum_up(text, each, *share, matcher) for text, each, share in zip(texts, read, shares, strict=True)]


class _PlainLines:
    """A text as the numbers of its words."""

    def __init__(self, numbers: bytes) -> None:
        self._numbers = array("I")
        self._numbers.frombytes(numbers)
        self._ends = [place for place, number in enumerate(self._numbers) if number == LINE_END]

    @property
    def is_filled(self) -> list[bool]:
        """For each line whether there is a word in it."""
        return [end - before > 1 for before, end in pairwise([-1, *self._ends])]

    def find(self, wanted: Mapping[int, int]) -> Iterator[tuple[int, int, int]]:
        """The line and the place of each wanted word, and which it is."""
        if wanted.keys().isdisjoint(self._numbers):
            return
        line = 0
        for place, number in enumerate(self._numbers):
            if number in wanted:
                yield line, place, number
            elif number == LINE_END:
                line += 1


def read_found(found: Iterable[tuple[int, int, int, Word]], bits: Mapping[Word, int], texts: int) -> list[Read]:
    """What was found, each as text, line, place and word (or its number), by text."""
    read = [Read() for _ in range(texts)]
    before, end_before = 0, (-1, -1)
    for text, line, place, word in found:
        here, lines = bits[word], read[text].lines
        lines[line] = lines.get(line, 0) | here
        if (text, place) == end_before:  # the end of a line takes a place, too
            read[text].neighbours.add((before, here))
        before, end_before = here, (text, place + 1)
    return read


def exact_shares(read: Read, is_filled: Sequence[bool], matcher: Matcher) -> tuple[list[float], float]:
    """The share of each line, and that of the best window."""
    masks = read.lines
    lines = [matcher.share(masks.get(line, 0)) for line in range(len(is_filled))]
    filled = [masks.get(line, 0) for line, has_words in enumerate(is_filled) if has_words] if masks else []
    windows = {reduce(or_, filled[number : number + WINDOW]) for number in range(len(filled))}
    return lines, max(map(matcher.share, windows), default=0.0)


def sum_up(text: str, read: Read, lines: Sequence[float], window: float, matcher: Matcher) -> Evidence:
    """Line by line what was found, as what the text is worth."""
    line = max(lines)
    best = lines.index(line)
    return Evidence(
        lines,
        line,
        max(window, line),
        matcher.phrase_share(read.neighbours),
        best in read.lines and ":" in text and has_label(text.split("\n", best + 1)[best], matcher),
        reduce(or_, read.lines.values(), 0),
    )


def has_label(line: str, matcher: Matcher) -> bool:
    """Whether a line begins with a word of the query and a colon."""
    label, colon, _ = line[: _LONGEST_LABEL + 1].partition(":")
    return bool(colon) and matcher.bits_of(stems(label)) > 0
