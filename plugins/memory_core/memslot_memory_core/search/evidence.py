"""How much of a query single lines and neighbouring lines of a text hold.

A chunk may hold the words of a question here and there; what answers holds them in one line, or in a few that follow
each other. With vectors of words, a similar word counts in part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING

from memslot_memory_core.search.matching import Matcher, cut_lines

if TYPE_CHECKING:
    from memslot_memory_core.search.word_vectors import WordVectors

WINDOW = 3
"""Lines looked at together; blank ones do not count."""
_LONGEST_LABEL = 40


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a text holds of a query, as shares of the query's weight.

    `lines` has one share for each line of the text; `line` and `window` are those of the best line and of the best
    three in a row. `phrase` is the share of the query's word pairs that stand side by side, `label` whether the best
    line is filed under one of its words: `Maria: …`, `Wi-Fi password: …`. `terms` are the terms that occur.
    """

    lines: tuple[float, ...]
    line: float
    window: float
    phrase: float
    label: bool
    terms: int

    @property
    def passage(self) -> float:
        return (self.line + self.window) / 2


@dataclass(slots=True)
class _Read:
    """A text cut into the pieces of its lines, and the terms that were found in it."""

    lines: list[str]
    pieces: list[list[str]]
    bits: list[int]
    neighbours: set[tuple[int, int]]


def gather_evidence(texts: Sequence[str], matcher: Matcher, words: WordVectors | None = None) -> list[Evidence]:
    """Look for a query in each of the texts."""
    cut = [cut_lines(text) for text in texts]
    bits = matcher.bits_of(set().union(*(pieces for lines in cut for pieces in lines)))
    read = [_read(text.split("\n"), lines, bits) for text, lines in zip(texts, cut, strict=True)]
    if words is not None and any(term.has_meaning for term in matcher.terms):
        from memslot_memory_core.search.similar_words import similar_shares

        shares = similar_shares([each.pieces for each in read], bits, matcher, words)
    else:
        shares = [_exact_shares(each, matcher) for each in read]
    return [_sum_up(each, *share, matcher, bits) for each, share in zip(read, shares, strict=True)]


def _read(lines: list[str], cut: list[list[str]], bits: dict[str, int]) -> _Read:
    masks = []
    neighbours: set[tuple[int, int]] = set()
    held = bits.keys()
    for pieces in cut:
        if held.isdisjoint(pieces):  # most lines: asked in one go, not word by word
            masks.append(0)
            continue
        found = [bits[piece] for piece in pieces if piece in bits]
        masks.append(reduce(or_, found, 0))
        if len(found) > 1:
            here = [bits.get(piece, 0) for piece in pieces]
            neighbours.update(pair for pair in pairwise(here) if pair[0] and pair[1])
    return _Read(lines, cut, masks, neighbours)


def _exact_shares(read: _Read, matcher: Matcher) -> tuple[list[float], float]:
    """The share of each line, and that of the best window."""
    lines = [matcher.share(mask) for mask in read.bits]
    filled = [mask for mask, pieces in zip(read.bits, read.pieces, strict=True) if pieces]
    windows = (reduce(or_, filled[number : number + WINDOW]) for number in range(len(filled)))
    return lines, max(map(matcher.share, windows), default=0.0)


def _sum_up(read: _Read, lines: list[float], window: float, matcher: Matcher, bits: dict[str, int]) -> Evidence:
    best = max(range(len(lines)), key=lines.__getitem__)
    return Evidence(
        lines=tuple(lines),
        line=lines[best],
        window=max(window, lines[best]),
        phrase=matcher.phrase_share(read.neighbours),
        label=has_label(read.lines[best], bits),
        terms=reduce(or_, read.bits, 0),
    )


def has_label(line: str, bits: dict[str, int]) -> bool:
    """Whether a line begins with a word of the query and a colon."""
    label, colon, _ = line[: _LONGEST_LABEL + 1].partition(":")
    return bool(colon) and any(piece in bits for pieces in cut_lines(label) for piece in pieces)
