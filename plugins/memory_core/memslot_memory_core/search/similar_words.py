"""Lines compared with a query word by word, where a similar word counts in part (late interaction)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from memslot_memory_core.search.matching import Matcher

if TYPE_CHECKING:
    from memslot_memory_core.search.word_vectors import Matrix, WordVectors


def similar_shares(
    texts: Sequence[Sequence[Sequence[str]]], bits: Mapping[str, int], matcher: Matcher, words: WordVectors
) -> list[tuple[list[float], float]]:
    """For each text, given as the pieces of its lines: the share of each line and that of the best three in a row."""
    import numpy

    flat = [piece for lines in texts for pieces in lines for piece in pieces]
    if not flat:
        return [([0.0] * len(lines), 0.0) for lines in texts]
    number = {piece: index for index, piece in enumerate(dict.fromkeys(flat))}
    likeness = _likeness(number, bits, matcher, words)
    each = likeness[:, [number[piece] for piece in flat]]
    # Blank lines have no columns and are left out; `owner` says to which text a line belongs.
    sizes = [len(pieces) for lines in texts for pieces in lines if pieces]
    owner = numpy.array([index for index, lines in enumerate(texts) for pieces in lines if pieces])
    best = numpy.maximum.reduceat(each, [0, *accumulate(sizes[:-1])], axis=1)
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


def _likeness(number: Mapping[str, int], bits: Mapping[str, int], matcher: Matcher, words: WordVectors) -> Matrix:
    """Terms by pieces: 1 where the piece is the term, else the square of their cosine, which silences the unlike."""
    import numpy

    meant = [index for index, term in enumerate(matcher.terms) if term.has_meaning]
    likeness: Matrix = numpy.zeros((len(matcher.terms), len(number)), dtype=numpy.float32)
    asked = words.rows([matcher.terms[index].word for index in meant])
    likeness[meant] = numpy.clip(asked @ words.rows([piece.lower() for piece in number]).T, 0.0, 1.0) ** 2
    for piece, here in bits.items():
        column = number.get(piece)
        if column is not None:
            likeness[[index for index in range(len(matcher.terms)) if here >> index & 1], column] = 1.0
    return likeness


def _with_followers(best: Matrix, owner: Matrix) -> Matrix:
    """Each line together with the two after it, as far as they belong to the same text."""
    import numpy

    joined = best.copy()
    for step in (1, 2):
        same = owner[step:] == owner[:-step]
        joined[:, :-step] = numpy.maximum(joined[:, :-step], best[:, step:] * same)
    return joined
