"""Which pairs of letters of an unspaced stretch are its words: what the absence of each says about a text.

`轮胎快不行` has four pairs and two words. All ways to cut it into single letters and pairs are weighed together: a
way is as likely as its pieces, and a pair that the index holds is a likely word. The share of a pair is how much of
that likelihood is in ways that have it as a piece, so that pairs across two words cost a text nothing, and a stretch
of letters counts like about half as many words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from memslot_memory_core.index.keyword_scripts import pair_of
from memslot_memory_core.index.stretches import Stretch, kinds_of, pairs

# How likely each piece is, compared with a pair of plain letters that the index does not hold.
_KNOWN, _OFTEN = 4.0, 0.25  # times, for a pair that it holds; and times the number of such rows to this power
_ALONE = 0.15  # a letter that carries meaning
_WEAK = (1.0, 0.2, 0.03)  # times, for a pair with so many weak letters; one that stands alone is as likely as a pair
_OTHER_SCRIPT = 0.05
# Hiragana after a kanji is the end of its word, or grammar; elsewhere it may be a word.
_KANJI_AND_ENDING, _LAST_KANJI_AND_ENDING, _INSIDE_ENDING, _AFTER_ENDING = 1.0, 0.2, 0.05, 0.01
_NEW_FORM = 0.1  # times, for a kanji that it holds with an ending that it does not: the kanji is the word
_HIRAGANA_PAIR, _HIRAGANA_LETTER = 0.6, 0.3
_HIRAGANA = ("hiragana", "ending")
_MAKE_A_WORD = "なさ"  # together with the kanji: 主な, 深さ
_NEVER_FIRST = frozenset("ーンッァィゥェォャュョヮ")

_HALF = 0.5
_VERB = 0.8
_STANDS_ALONE = 0.5
"""A letter with this share is asked for as a word."""


@dataclass(frozen=True)
class Reading:
    """A query's stretches as an index reads them.

    `shares` has what is asked for, with the share of a word that its absence counts: 0 to 1. `coincidences` are pairs
    that occur, but in other words only. `hints` are letters that count a little where a text holds them.
    """

    shares: dict[str, float]
    coincidences: frozenset[str]
    hints: tuple[str, ...]


def to_count(stretches: Iterable[Stretch]) -> Iterator[str]:
    """What must be counted in an index before it can read stretches."""
    for stretch in stretches:
        yield from stretch.stems
        yield from stretch.alone
        yield from stretch.forms


def read_stretches(stretches: Iterable[Stretch], found: Mapping[str, int]) -> Reading:
    """Read stretches by how many rows of an index hold each piece."""
    shares: dict[str, float] = {}
    coincidences: set[str] = set()
    hints: dict[str, None] = {}
    for stretch in stretches:
        own = word_shares(stretch, found)
        _take_other_forms(stretch, own, found)
        for stem, share in own.items():
            if stem not in stretch.alone or stem in stretch.stems or share >= _STANDS_ALONE:
                shares[stem] = max(share, shares.get(stem, 0.0))
            elif found.get(stem):
                hints[stem] = None
        coincidences.update(_coincidences(stretch, found))
    return Reading(shares, frozenset(coincidences), tuple(hint for hint in hints if hint not in shares))


def word_shares(stretch: Stretch, found: Mapping[str, int]) -> dict[str, float]:
    """For each term of a stretch, and each letter that may be a word, how likely it is one of its words."""
    shares = dict.fromkeys((*stretch.stems, *stretch.alone), 0.0)
    letters = stretch.letters
    kinds = kinds_of(letters)
    if len(letters) == 1:
        shares[letters[0]] = 1.0
        if kinds == ["hangul"]:
            # A lone syllable is a noun at times, and part of a thousand other words; with its particle it may be one
            # word that ends like one (휴가).
            shares |= {stem: _HALF for stem in stretch.stems if stem == letters[0] or found.get(stem)}
        return shares
    likely = _Likelihoods(stretch, kinds, found)
    for number, pair in enumerate(pairs(letters)):
        if pair not in shares:
            continue
        share = likely.pairs[number]
        if kinds[number + 1] in _HIRAGANA:
            # 贈った and 贈与 are one topic: the kanji is a hint, or asked for instead. Hiragana is mostly grammar.
            share *= _VERB if kinds[number] == "han" else _HALF
        shares[pair] = max(shares[pair], share)
    for number, letter in enumerate(letters):
        if letter in stretch.alone:
            shares[letter] = max(shares[letter], likely.letters[number])
    return shares


class _Likelihoods:
    """All ways to cut a stretch into letters and pairs: how much of their likelihood is in those with each piece."""

    def __init__(self, stretch: Stretch, kinds: Sequence[str], found: Mapping[str, int]) -> None:
        count = len(stretch.letters)
        letter = [_letter_likelihood(stretch, kinds, number) for number in range(count)]
        pair = [_pair_likelihood(stretch, kinds, number, found) for number in range(count - 1)]
        # How much more likely all ways to cut the letters from here on are than those from the next one on: sums
        # themselves would leave the range of a float.
        gain = letter[:]
        for number in range(count - 2, -1, -1):
            gain[number] += pair[number] / gain[number + 1]
        self.letters: list[float] = []
        self.pairs: list[float] = []
        begins = 1.0  # the likelihood of the ways in which a piece begins here
        for number in range(count):
            self.letters.append(begins * letter[number] / gain[number])
            if number + 1 < count:
                self.pairs.append(begins * pair[number] / (gain[number] * gain[number + 1]))
            begins = self.letters[number] + (self.pairs[number - 1] if number else 0.0)


def _letter_likelihood(stretch: Stretch, kinds: Sequence[str], number: int) -> float:
    if stretch.letters[number] in stretch.weak or kinds[number] == "ending":
        return 1.0
    return _HIRAGANA_LETTER if kinds[number] == "hiragana" else _ALONE


def _pair_likelihood(stretch: Stretch, kinds: Sequence[str], number: int, found: Mapping[str, int]) -> float:
    first, second = stretch.letters[number], stretch.letters[number + 1]
    rows = found.get(pair_of(first, second), 0)
    known = _KNOWN * rows**_OFTEN if rows else 1.0
    kind, following = kinds[number], kinds[number + 1]
    if kind == following and kind in _HIRAGANA:
        return known * (_INSIDE_ENDING if kind == "ending" else _HIRAGANA_PAIR)
    if kind in _HIRAGANA:
        return _AFTER_ENDING
    if kind == "han" and following == "ending":
        has_kanji_before = number > 0 and kinds[number - 1] == "han"
        if not rows and found.get(first) and second not in _MAKE_A_WORD:
            known = _NEW_FORM
        return known * (_LAST_KANJI_AND_ENDING if has_kanji_before else _KANJI_AND_ENDING)
    if kind != following:
        return known * _OTHER_SCRIPT
    return known * _WEAK[(first in stretch.weak) + (second in stretch.weak)]


def _take_other_forms(stretch: Stretch, shares: dict[str, float], found: Mapping[str, int]) -> None:
    """Ask for the forms of a verb that occur, where the one in the query does not."""
    last = "".join(stretch.letters[-2:])
    known = [form for form in stretch.forms if found.get(form)]
    if known and not found.get(last):
        share = shares.pop(last, 1.0) / len(known)
        shares.update(dict.fromkeys(known, share))


def _coincidences(stretch: Stretch, found: Mapping[str, int]) -> Iterator[str]:
    """Pairs that the words in katakana share with other words: リー and マン of リーマン, where ーマ does not occur."""
    for is_katakana, word in groupby(stretch.letters, lambda letter: "\u30a1" <= letter[0] <= "\u30ff"):
        if is_katakana:
            yield from _coincidences_in(list(word), found)


def _coincidences_in(word: Sequence[str], found: Mapping[str, int]) -> Iterator[str]:
    """The pairs of a word in katakana that occur, except where they may be a word: in a row of two or more."""
    for occurs, row in groupby(pairs(word), lambda pair: bool(found.get(pair))):
        together = list(row)
        if not occurs or len(together) == len(word) - 1:
            continue  # none of it, or all of the word
        cut_off = list(takewhile(lambda pair: pair[0] in _NEVER_FIRST, together))
        yield from cut_off if len(together) - len(cut_off) > 1 else together
