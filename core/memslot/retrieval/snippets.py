"""Snippets: the best lines of a chunk within a character limit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_

from memslot.retrieval.evidence import has_label
from memslot.retrieval.languages import CODES
from memslot.retrieval.matcher import Matcher
from memslot.retrieval.vocabulary import split, stems_of

GAP = "…"
"""Marks omitted text."""
_LABEL, _QUESTION = 0.1, 0.2
_FROM_BEFORE, _FROM_AFTER = 0.4, 0.1
"""The share of its neighbours' scores a line gets: an answer follows its question more often than it precedes it."""
_SHORT = 20
"""A longer non-ASCII piece is an unspaced run: terms must be located inside it."""
_WORTH_CUTTING = 80
"""A shorter part of a line isn't worth showing."""


def make_snippet(text: str, line_shares: Sequence[float], matcher: Matcher, limit: int) -> str:
    """Return the best lines of a chunk, in order, with gaps marked; `line_shares` is `Evidence.lines`."""
    lines = text.split("\n")
    if len(text) <= limit:
        return text.strip("\n")
    scores = _line_scores(lines, line_shares, matcher)
    filled = [index for index, line in enumerate(lines) if line.strip()]
    order = sorted(filled, key=lambda index: (-scores[index], index))
    shown = _Shown(filled)
    for index in order:
        line = lines[index].rstrip()
        if shown.length_with(index, len(line)) <= limit:
            shown.add(index, line)
        elif not shown.parts:  # the best line is always shown
            shown.add(index, cut_around(line, matcher, limit - shown.length_with(index, 0)))
    for index in order:
        if index in shown.parts:
            continue
        room = limit - shown.length_with(index, 0)
        if room >= _WORTH_CUTTING:
            shown.add(index, cut_around(lines[index].rstrip(), matcher, room))
            break
    return shown.joined()


class _Shown:
    """The chosen lines, with gaps where non-blank lines are omitted."""

    def __init__(self, filled: Sequence[int]) -> None:
        self._place = {index: place for place, index in enumerate(filled)}
        self._gaps = 1 if filled else 0
        self._chars = 0
        self._taken = {-1, len(filled)}  # no gap beyond the ends
        self.parts: dict[int, str] = {}

    def add(self, index: int, part: str) -> None:
        self._gaps = self._gaps_with(index)
        self._chars += len(part)
        self._taken.add(self._place[index])
        self.parts[index] = part

    def length_with(self, index: int, chars: int) -> int:
        """Return the total length with `chars` characters of one more line."""
        gaps = self._gaps_with(index)
        return self._chars + chars + len(GAP) * gaps + len(self.parts) + gaps

    def joined(self) -> str:
        pieces: list[str] = []
        before = -1
        for index in sorted(self.parts):
            if self._place[index] != before + 1:
                pieces.append(GAP)
            pieces.append(self.parts[index])
            before = self._place[index]
        if before + 1 not in self._taken:
            pieces.append(GAP)
        return "\n".join(pieces)

    def _gaps_with(self, index: int) -> int:
        place = self._place[index]
        return self._gaps + 1 - (place - 1 in self._taken) - (place + 1 in self._taken)


def cut_around(line: str, matcher: Matcher, room: int) -> str:
    """Cut a line to `room` characters around the words that match."""
    if len(line) <= room:
        return line
    if room <= 2 * len(GAP):
        return line[: max(0, room)]
    inside = room - 2 * len(GAP)
    start = _best_start(line, matcher, inside)
    if start == 0:
        return line[: room - len(GAP)].rstrip() + GAP
    if start + inside >= len(line):
        return GAP + line[-(room - len(GAP)) :].lstrip()
    return GAP + line[start : start + inside].strip() + GAP


def _line_scores(lines: Sequence[str], shares: Sequence[float], matcher: Matcher) -> list[float]:
    own = [
        share + _LABEL if share > 0 and has_label(line, matcher) else share
        for line, share in zip(lines, shares, strict=True)
    ]
    scores = []
    for index, line in enumerate(lines):
        before = own[index - 1] if index else 0.0
        after = own[index + 1] if index + 1 < len(own) else 0.0
        # A question is seldom its own answer.
        asks = _QUESTION if line.rstrip().endswith(("?", "？")) else 0.0
        scores.append(own[index] + _FROM_BEFORE * before + _FROM_AFTER * after - asks)
    return scores


def _best_start(line: str, matcher: Matcher, width: int) -> int:
    """Return the start of the window with the most distinct terms, slightly before the first."""
    found = sorted(_places(line, matcher))
    best, best_count = 0, 0
    first = 0
    for last in range(len(found)):
        while found[last][0] - found[first][0] >= width:
            first += 1
        count = reduce(or_, (bits for _, bits in found[first : last + 1])).bit_count()
        if count > best_count:
            best, best_count = found[first][0], count
    lead = best - width // 4
    if lead <= 0:
        return 0
    blank = line.find(" ", lead, best)
    return blank + 1 if blank >= 0 else lead


def _places(line: str, matcher: Matcher) -> Iterator[tuple[int, int]]:
    """Yield the offsets of terms in a line, with their bits."""
    pieces = split(line)
    codes = ["", *(CODES[language] for language in sorted(matcher.languages))]
    spelling = {piece: piece.lower() if piece.istitle() else piece for piece in pieces}
    words = [f"{word}{code}" for word in dict.fromkeys(spelling.values()) for code in codes]
    held = stems_of(words, matcher.tokenizer)
    place = 0
    for piece in pieces:
        place = line.find(piece, place)
        if place < 0:  # a lone surrogate, which `split` replaces
            return
        bits = matcher.bits_of(stem for code in codes for stem in held[f"{spelling[piece]}{code}"])
        if bits and (piece.isascii() or len(piece) <= _SHORT):
            yield place, bits
        place += len(piece)
    # An unspaced run is one piece: search it for each term.
    for number, term in enumerate(matcher.terms):
        if term.is_pair:
            yield from ((match.start(), 1 << number) for match in re.finditer(re.escape(term.stem), line))
