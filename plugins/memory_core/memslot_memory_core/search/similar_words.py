"""Lines compared with a query word by word, where a similar word counts in part (late interaction)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from memslot_memory_core.search.matching import Matcher

if TYPE_CHECKING:
    from memslot_memory_core.search.word_vectors import Matrix, Numbers, WordVectors


def similar_shares(
    texts: Sequence[Sequence[Sequence[str]]], bits: Mapping[str, int], matcher: Matcher, words: WordVectors
) -> list[tuple[list[float], float]]:
    """For each text, given as the pieces of its lines: the share of each line and that of the best three in a row."""
    import numpy

    # Blank lines have no columns and are left out; `owner` says to which text a line belongs.
    filled = [pieces for lines in texts for pieces in lines if pieces]
    if not filled:
        return [([0.0] * len(lines), 0.0) for lines in texts]
    owner = numpy.array([index for index, lines in enumerate(texts) for pieces in lines if pieces])
    each = _likeness(list(chain.from_iterable(filled)), bits, matcher, words)
    best = numpy.maximum.reduceat(each, [0, *accumulate(map(len, filled[:-1]))], axis=1)
    weights = numpy.array(matcher.weights, dtype=numpy.float32) / matcher.total
    shares = numpy.minimum(1.0, weights @ best).tolist()
    windows = numpy.minimum(1.0, weights @ _with_followers(best, owner))
    highest = numpy.zeros(len(texts), dtype=numpy.float32)
    numpy.maximum.at(highest, owner, windows)
    result = []
    following = iter(shares)
    for lines, window in zip(texts, highest.tolist(), strict=True):
        result.append(([next(following) if pieces else 0.0 for pieces in lines], window))
    return result


def _likeness(pieces: Sequence[str], bits: Mapping[str, int], matcher: Matcher, words: WordVectors) -> Matrix:
    """Terms by pieces: 1 where the piece is the term, else the square of their cosine, which silences the unlike."""
    import numpy

    cosines, column = words.cosines([term.word for term in matcher.terms], [*pieces, *bits])
    likeness: Matrix = numpy.clip(cosines, 0.0, 1.0) ** 2
    likeness[[not term.has_meaning for term in matcher.terms]] = 0.0
    for place, here in zip(column[len(pieces) :].tolist(), bits.values(), strict=True):
        likeness[[index for index in range(len(matcher.terms)) if here >> index & 1], place] = 1.0
    each: Matrix = likeness.take(column[: len(pieces)], axis=1)
    return each


def _with_followers(best: Matrix, owner: Numbers) -> Matrix:
    """Each line together with the two after it, as far as they belong to the same text."""
    import numpy

    joined = best.copy()
    for step in (1, 2):
        same = owner[step:] == owner[:-step]
        joined[:, :-step] = numpy.maximum(joined[:, :-step], best[:, step:] * same)
    return joined
