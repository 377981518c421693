"""Which words of a text are the query's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from memslot_memory_core.index.terms import stems
from memslot_memory_core.search.candidate import AskedTerm

_BLANKED = bytes(code if code == 10 or code > 127 or chr(code).isalnum() else 32 for code in range(256))
"""UTF-8 with ASCII punctuation as blanks: cutting at these is three times as fast as a pattern."""

_LEAST_SHARE = 0.15
"""Of its weight: what letters count that are probably no word, where a line holds them."""

_MOST_KEPT, _LONGEST_KEPT = 100_000, 40


@dataclass(slots=True)
class _Seen:
    """Pieces met so far: every search meets most of them again. Single reads and writes are safe between threads."""

    stems: dict[str, tuple[str, ...]] = field(default_factory=dict)
    holding: dict[str, list[str]] = field(default_factory=dict)


_seen = _Seen()


def cut_lines(text: str) -> list[list[str]]:
    """The pieces of each line: what stands between blanks and ASCII punctuation.

    A piece that is no plain word ("naïve…", 昨日の会議) may hold several of the index's words.
    """
    blanked = text.encode(errors="replace").translate(_BLANKED).decode()
    return [line.split() for line in blanked.split("\n")]


class Matcher:
    """A query's terms, to be looked for in many texts. Each term is a bit, so that a line is one number."""

    def __init__(self, terms: Sequence[AskedTerm], phrases: Sequence[tuple[str, str]] = ()) -> None:
        self.terms = tuple(terms)
        self.weights = [term.weight * max(term.share, _LEAST_SHARE) for term in terms]
        self.total = sum(term.weight * term.share for term in terms) or sum(self.weights) or 1.0
        self._bit = {term.stem: 1 << number for number, term in enumerate(terms)}
        rarity = {term.stem: term.rarity for term in terms}
        self._phrases = [
            (self._bit[first], self._bit[second], min(rarity[first], rarity[second]))
            for first, second in phrases
            if first in rarity and second in rarity
        ]
        self._phrase_total = sum(weight for _, _, weight in self._phrases)
        self._shares: dict[int, float] = {0: 0.0}

    def bits_of(self, pieces: set[str]) -> dict[str, int]:
        """Which of the pieces hold terms, and which terms, as bits. There may be others of an earlier text."""
        seen, others = _look_up(pieces)
        found: dict[str, int] = {}
        for stem, bit in self._bit.items():
            for piece in seen.holding.get(stem, ()):
                found[piece] = found.get(piece, 0) | bit
        for piece, tokens in others.items():
            bits = [self._bit[token] for token in tokens if token in self._bit]
            if bits:
                found[piece] = reduce(or_, bits)
        return found

    def share(self, bits: int) -> float:
        """What these terms are of the query, by weight: 0 to 1."""
        share = self._shares.get(bits)
        if share is None:
            weight = sum(weight for number, weight in enumerate(self.weights) if bits >> number & 1)
            share = self._shares[bits] = min(1.0, weight / self.total)
        return share

    def phrase_share(self, neighbours: set[tuple[int, int]]) -> float:
        """What share of the query's pairs of neighbouring words stand side by side in a text, by rarity."""
        if not neighbours or not self._phrase_total:
            return 0.0
        met = sum(
            weight
            for first, second, weight in self._phrases
            if any(before & first and after & second for before, after in neighbours)
        )
        return met / self._phrase_total

    @property
    def has_phrases(self) -> bool:
        return self._phrase_total > 0


def stems_of_pieces(pieces: set[str]) -> dict[str, tuple[str, ...]]:
    """What the index holds of each piece."""
    seen, others = _look_up(pieces)
    return {piece: others[piece] if piece in others else seen.stems[piece] for piece in pieces}


def _look_up(pieces: set[str]) -> tuple[_Seen, dict[str, tuple[str, ...]]]:
    """The store with all of these pieces in it, apart from those too long to be kept."""
    global _seen
    seen = _seen
    if len(seen.stems) > _MOST_KEPT:
        # A new one: a search in another thread may still be reading the old.
        seen = _seen = _Seen()
    new = pieces.difference(seen.stems)
    if not new:
        return seen, {}
    plain = [piece for piece in new if piece.isascii() and piece.isalpha() and (piece.islower() or piece.istitle())]
    tokens = stems(" ".join(plain))
    others: dict[str, tuple[str, ...]] = {}
    # One call for all is ten times as fast as one for each; plain words give one token each.
    fresh: dict[str, tuple[str, ...]] = {}
    if len(tokens) == len(plain):
        fresh = {piece: (token,) for piece, token in zip(plain, tokens, strict=True)}
    for piece in new.difference(fresh):
        (fresh if len(piece) <= _LONGEST_KEPT else others)[piece] = tuple(stems(piece))
    for piece, held in fresh.items():
        for token in held:
            seen.holding.setdefault(token, []).append(piece)
    seen.stems.update(fresh)
    return seen, others
