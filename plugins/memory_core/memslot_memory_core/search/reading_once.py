"""Looks for a query in texts, for a process that asks once.

`evidence` learns every word of the texts, which the next search has for free. Here there is no next search: only words
that may be the query's are reduced to their stems, and only what is like one of its words is compared.
"""

from __future__ import annotations

from itertools import pairwise

from memslot_memory_core.search.evidence import WINDOW, Evidence, exact_shares, read_found, sum_up
from memslot_memory_core.search.vocabulary import IN_RUN, cut, spelled, stems_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from memslot_memory_core.search.matching import Matcher

    Similar = Callable[[Sequence[str], Callable[[], Collection[str]]], Mapping[str, Mapping[int, float]]]
    """Asked words, and the words that matter: those that are like any asked one, with their cosines by its place."""

_END = "\0"
"""Stands behind the words of each line."""


def gather_once(texts: Sequence[str], matcher: Matcher, similar: Similar | None = None) -> list[Evidence]:
    """What `gather_evidence` finds; with `similar`, as it does with vectors of words."""
    if not texts:
        return []
    cuts = [f"{cut(text)}\n".replace("\n", f" {_END} ").split() for text in texts]
    met = set().union(*cuts)
    met.discard(_END)
    bits = _bits(met, matcher)
    if similar is None or not any(term.has_meaning for term in matcher.terms):
        hits = ((text, *hit) for text, words in enumerate(cuts) for hit in _find(words, bits))
        read = read_found(hits, bits, len(texts))
        shares = [exact_shares(each, _filled(words), matcher) for each, words in zip(read, cuts, strict=True)]
    else:
        like = _likeness(met, bits, matcher, similar)
        read, shares = [], []
        for words in cuts:
            found = list(_find(words, like))
            read += read_found([(0, *hit) for hit in found if hit[2] in bits], bits, 1)
            shares.append(_similar_shares(found, like, _filled(words), matcher))
    return [sum_up(text, each, *share, matcher) for text, each, share in zip(texts, read, shares, strict=True)]


def heads_of(stems: Iterable[str]) -> frozenset[str]:
    """How words may begin that have these stems.

    Stemming takes from the end of a word; of its first two letters only a y becomes an i.
    """
    heads = {stem[:2] for stem in stems} | {stem[:2].replace("i", "y") for stem in stems}
    return frozenset(spelling for head in heads for spelling in (head, head.capitalize(), head.upper()))


def may_hold(words: Iterable[str], heads: Collection[str]) -> list[str]:
    """Those words that may have one of the stems that begin so, as far as their first letters tell."""
    return [
        word
        for word in words
        if word[:2] in heads
        or word[0] in heads
        # Of another script, with digits, or writtenLikeThis: such a word may hold several.
        or not (word.isalpha() and word.isascii() and (word.islower() or word.istitle() or word.isupper()))
    ]


def _bits(met: Collection[str], matcher: Matcher) -> dict[str, int]:
    """The words that hold terms, and which terms, as bits."""
    possible = {word: spelled(word) for word in may_hold(met, heads_of([term.stem for term in matcher.terms]))}
    held = stems_of(list(dict.fromkeys(possible.values())))
    bits = {word: matcher.bits_of(held[each]) for word, each in possible.items()}
    return {word: here for word, here in bits.items() if here}


def _likeness(
    met: Collection[str], bits: Mapping[str, int], matcher: Matcher, similar: Similar
) -> dict[str, dict[int, float]]:
    """The words that are like terms: 1 where the word is the term, else the square of their cosine."""
    asked = [(number, term.word) for number, term in enumerate(matcher.terms) if term.has_meaning]
    close = similar([word for _, word in asked], lambda: {_plain(word) for word in met})
    like: dict[str, dict[int, float]] = {}
    for word in met if close else ():
        each = _plain(word)
        if each in close:
            like[word] = {asked[place][0]: min(1.0, cosine) ** 2 for place, cosine in close[each].items()}
    for word, here in bits.items():
        exact = {number: 1.0 for number in range(len(matcher.terms)) if here >> number & 1}
        like[word] = {**like.get(word, {}), **exact}
    return like


def _plain(word: str) -> str:
    """A word as its vector is known by."""
    return word.lstrip(IN_RUN).lower()


def _find(words: Sequence[str], wanted: Collection[str]) -> Iterable[tuple[int, int, str]]:
    """The line and the place of each wanted word, and which it is."""
    line = 0
    for place, word in enumerate(words):
        if word == _END:
            line += 1
        elif word in wanted:
            yield line, place, word


def _filled(words: Sequence[str]) -> list[bool]:
    """For each line whether there is a word in it."""
    ends = [place for place, word in enumerate(words) if word == _END]
    return [end - before > 1 for before, end in pairwise([-1, *ends])]


def _similar_shares(
    found: Iterable[tuple[int, int, str]],
    like: Mapping[str, Mapping[int, float]],
    is_filled: Sequence[bool],
    matcher: Matcher,
) -> tuple[list[float], float]:
    """The share of each line, and that of the best window."""
    best: dict[int, Mapping[int, float]] = {}
    for line, _, word in found:
        here = best.get(line)
        best[line] = like[word] if here is None else _joined(here, like[word])
    weights = [weight / matcher.total for weight in matcher.weights]

    def share(held: Mapping[int, float]) -> float:
        total = 0.0
        for term, likeness in held.items():
            total += weights[term] * likeness
        return min(1.0, total)

    shares = {line: share(held) for line, held in best.items()}
    lines = [shares.get(line, 0.0) for line in range(len(is_filled))]
    highest = max(shares.values(), default=0.0)
    filled = [line for line, has_words in enumerate(is_filled) if has_words]
    for first in range(len(filled)):
        # Three lines, of which together no more can be held than of each for itself.
        window = [line for line in filled[first : first + WINDOW] if line in shares]
        if len(window) > 1 and sum([shares[line] for line in window]) > highest:
            joined: Mapping[int, float] = {}
            for line in window:
                joined = _joined(joined, best[line])
            highest = max(highest, share(joined))
    return lines, highest


def _joined(one: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    """The larger of two likenesses for each term."""
    both = {**one, **other}
    for term, likeness in one.items():
        if likeness > both[term]:
            both[term] = likeness
    return both
