"""Probabilistic segmentation of query spans: which bigrams are words, by an index's document frequencies.

`轮胎快不行` has four bigrams and two words. A unigram model over letters and bigrams weighs every segmentation; the
share of a bigram is its posterior probability of being a segment (forward-backward). Bigrams that straddle two words
get next to nothing, so a text that lacks them isn't penalised, and a span counts like half as many words as letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from memslot.retrieval.cjk_query_spans import QuerySpan, kinds_of, pairs
from memslot.retrieval.scripts import pair_of

# Likelihood of each segment, relative to a bigram of plain letters that isn't in the index.
_KNOWN, _OFTEN = 4.0, 0.25  # factor for a bigram in the index, times its document frequency to this power
_ALONE = 0.15  # a letter with meaning
_WEAK = (1.0, 0.2, 0.03)  # factor for a bigram with 0, 1 or 2 weak letters
_OTHER_SCRIPT = 0.05
# Hiragana after a kanji is okurigana or grammar; elsewhere it may be a word.
_KANJI_AND_ENDING, _LAST_KANJI_AND_ENDING, _INSIDE_ENDING, _AFTER_ENDING = 1.0, 0.2, 0.05, 0.01
_NEW_FORM = 0.1  # factor for an indexed kanji with an unindexed ending: the kanji is the word
_HIRAGANA_PAIR, _HIRAGANA_LETTER = 0.6, 0.3
_HIRAGANA = ("hiragana", "ending")
_MAKE_A_WORD = "なさ"  # with the kanji before: 主な, 深さ
_NEVER_FIRST = frozenset("ーンッァィゥェォャュョヮ")

_HALF = 0.5
_VERB = 0.8
_STANDS_ALONE = 0.5
"""From this share on a letter is a query term."""


@dataclass(frozen=True)
class Segmentation:
    """The words of a query's spans, given an index.

    `shares`: query terms with the probability that each is a word, which is how much its absence counts.
    `coincidences`: bigrams that occur, but only inside other words. `hints`: letters that add a little if a text
    contains them.
    """

    shares: dict[str, float]
    coincidences: frozenset[str]
    hints: tuple[str, ...]


def stems_to_count(spans: Iterable[QuerySpan]) -> Iterator[str]:
    """The stems whose document frequencies `segment` needs."""
    for span in spans:
        yield from span.stems
        yield from span.alone
        yield from span.forms


def segment(spans: Iterable[QuerySpan], found: Mapping[str, int]) -> Segmentation:
    """Segment spans by document frequency (`found`)."""
    shares: dict[str, float] = {}
    coincidences: set[str] = set()
    hints: dict[str, None] = {}
    for span in spans:
        own = word_shares(span, found)
        _take_other_forms(span, own, found)
        for stem, share in own.items():
            if stem not in span.alone or stem in span.stems or share >= _STANDS_ALONE:
                shares[stem] = max(share, shares.get(stem, 0.0))
            elif found.get(stem):
                hints[stem] = None
        coincidences.update(_coincidences(span, found))
    return Segmentation(shares, frozenset(coincidences), tuple(hint for hint in hints if hint not in shares))


def word_shares(span: QuerySpan, found: Mapping[str, int]) -> dict[str, float]:
    """The probability that each term of a span, and each letter that may be one, is one of its words."""
    shares = dict.fromkeys((*span.stems, *span.alone), 0.0)
    letters = span.letters
    kinds = kinds_of(letters)
    if len(letters) == 1:
        shares[letters[0]] = 1.0
        if kinds == ["hangul"]:
            # A lone syllable is sometimes a noun, and part of many other words; with its particle it may be a word that
            # ends like one (휴가).
            shares |= {stem: _HALF for stem in span.stems if stem == letters[0] or found.get(stem)}
        return shares
    likely = _Likelihoods(span, kinds, found)
    for number, pair in enumerate(pairs(letters)):
        if pair not in shares:
            continue
        share = likely.pairs[number]
        if kinds[number + 1] in _HIRAGANA:
            # 贈った and 贈与 are related: the kanji is a hint or replaces the bigram. Hiragana is mostly grammar.
            share *= _VERB if kinds[number] == "han" else _HALF
        shares[pair] = max(shares[pair], share)
    for number, letter in enumerate(letters):
        if letter in span.alone:
            shares[letter] = max(shares[letter], likely.letters[number])
    return shares


class _Likelihoods:
    """Posterior probability of each letter and bigram over all segmentations of a span."""

    def __init__(self, span: QuerySpan, kinds: Sequence[str], found: Mapping[str, int]) -> None:
        count = len(span.letters)
        letter = [_letter_likelihood(span, kinds, number) for number in range(count)]
        pair = [_pair_likelihood(span, kinds, number, found) for number in range(count - 1)]
        # Backward pass as ratios of successive sums: the sums themselves overflow a float.
        gain = letter[:]
        for number in range(count - 2, -1, -1):
            gain[number] += pair[number] / gain[number + 1]
        self.letters: list[float] = []
        self.pairs: list[float] = []
        begins = 1.0  # probability that a segment begins here
        for number in range(count):
            self.letters.append(begins * letter[number] / gain[number])
            if number + 1 < count:
                self.pairs.append(begins * pair[number] / (gain[number] * gain[number + 1]))
            begins = self.letters[number] + (self.pairs[number - 1] if number else 0.0)


def _letter_likelihood(span: QuerySpan, kinds: Sequence[str], number: int) -> float:
    if span.letters[number] in span.weak or kinds[number] == "ending":
        return 1.0
    return _HIRAGANA_LETTER if kinds[number] == "hiragana" else _ALONE


def _pair_likelihood(span: QuerySpan, kinds: Sequence[str], number: int, found: Mapping[str, int]) -> float:
    first, second = span.letters[number], span.letters[number + 1]
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
    return known * _WEAK[(first in span.weak) + (second in span.weak)]


def _take_other_forms(span: QuerySpan, shares: dict[str, float], found: Mapping[str, int]) -> None:
    """Replace a verb form that doesn't occur by the inflections that do."""
    last = "".join(span.letters[-2:])
    known = [form for form in span.forms if found.get(form)]
    if known and not found.get(last):
        share = shares.pop(last, 1.0) / len(known)
        shares.update(dict.fromkeys(known, share))


def _coincidences(span: QuerySpan, found: Mapping[str, int]) -> Iterator[str]:
    """Bigrams a katakana word shares with other words: リー and マン of リーマン, where ーマ doesn't occur."""
    for is_katakana, word in groupby(span.letters, lambda letter: "\u30a1" <= letter[0] <= "\u30ff"):
        letters = list(word)
        if is_katakana and len(letters) > 1:
            yield from _coincidences_in(letters, found)


def _coincidences_in(word: Sequence[str], found: Mapping[str, int]) -> Iterator[str]:
    """Bigrams of a katakana word that occur, except two or more in a row, which may be a word."""
    for occurs, row in groupby(pairs(word), lambda pair: bool(found.get(pair))):
        together = list(row)
        if not occurs or len(together) == len(word) - 1:
            continue  # none of it, or all of the word
        cut_off = list(takewhile(lambda pair: pair[0] in _NEVER_FIRST, together))
        yield from cut_off if len(together) - len(cut_off) > 1 else together
