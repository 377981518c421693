"""Which words of a text are the query's."""

from __future__ import annotations

from collections.abc import Sequence

from memslot_memory_core.index.terms import stems
from memslot_memory_core.search.candidate import AskedTerm

_BLANKED = bytes(code if code == 10 or code > 127 or chr(code).isalnum() else 32 for code in range(256))
"""UTF-8 with ASCII punctuation as blanks: cutting at these is three times as fast as a pattern."""

_PAIRS_MET = 0.6
"""What part of a question's pairs of letters its answer can hold: the others straddle two words."""

_MOST_KEPT, _LONGEST_KEPT = 100_000, 40
_kept: dict[str, tuple[str, ...]] = {}


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
        self.weights = [term.weight for term in terms]
        self.total = sum(term.weight * (_PAIRS_MET if term.is_pair else 1.0) for term in terms) or 1.0
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
        """The pieces that hold terms, with those terms as bits."""
        bit = self._bit
        found: dict[str, int] = {}
        for piece, tokens in stems_of_pieces(pieces).items():
            for token in tokens:
                if token in bit:
                    found[piece] = found.get(piece, 0) | bit[token]
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
    """What the index holds of each piece; plain words are remembered, as every search meets them again."""
    known = _kept
    found = {piece: known[piece] for piece in pieces if piece in known}
    new = [piece for piece in pieces if piece not in found]
    if not new:
        return found
    plain = [piece for piece in new if piece.isascii() and (piece.islower() or piece.istitle()) and piece.isalpha()]
    tokens = stems(" ".join(plain))
    # One call for all is ten times as fast as one for each; plain words give one token each.
    fresh: dict[str, tuple[str, ...]] = {}
    if len(tokens) == len(plain):
        fresh = {piece: (token,) for piece, token in zip(plain, tokens, strict=True)}
    fresh |= {piece: tuple(stems(piece)) for piece in new if piece not in fresh}
    if len(known) > _MOST_KEPT:
        known.clear()
    known.update((piece, tokens) for piece, tokens in fresh.items() if len(piece) <= _LONGEST_KEPT)
    return found | fresh
