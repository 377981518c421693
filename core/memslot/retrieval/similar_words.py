"""Late interaction: lines are compared with a query word by word, and a similar word counts in part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memslot.retrieval.matcher import Matcher
from memslot.retrieval.vocabulary import LINE_END, Vocabulary

if TYPE_CHECKING:
    from memslot.retrieval.word_vectors import Matrix, Numbers, WordVectors

_LEAST_COSINE = 0.5
"""Words below this cosine are unrelated."""


class Lines:
    """Texts as one array of word numbers, of a vocabulary of so many words."""

    def __init__(self, texts: Sequence[bytes], words: int) -> None:
        import numpy

        self.read: Numbers = numpy.frombuffer(b"".join(texts), dtype=numpy.uint32)
        self.words = words
        self.ends = numpy.flatnonzero(self.read == LINE_END)
        """The place of each line end."""
        lengths = numpy.fromiter(map(len, texts), dtype=numpy.intp, count=len(texts)) // 4
        self._last = numpy.searchsorted(self.ends, numpy.cumsum(lengths) - 1)
        self.first = numpy.concatenate(([0], self._last[:-1] + 1))
        """The first line of each text."""

    @property
    def counts(self) -> Numbers:
        """How many lines each text has."""
        return self._last - self.first + 1

    def find(self, wanted: Mapping[int, int]) -> Iterable[tuple[int, int, int, int]]:
        """Text, line in it, place and number of each wanted word."""
        import numpy

        is_wanted = numpy.zeros(self.words, dtype=bool)
        is_wanted[list(wanted)] = True
        places = numpy.flatnonzero(is_wanted[self.read])
        lines = numpy.searchsorted(self.ends, places)
        texts = numpy.searchsorted(self._last, lines)
        columns = (texts, lines - self.first[texts], places, self.read[places])
        return zip(*(column.tolist() for column in columns), strict=True)


def similar_shares(
    lines: Lines, bits: Mapping[int, int], matcher: Matcher, words: WordVectors, vocabulary: Vocabulary
) -> list[tuple[list[float], float]]:
    """For each text the share of each line, and of the best window."""
    import numpy

    best = _best_by_line(lines, _likeness(lines, bits, matcher, words, vocabulary))
    weights = numpy.array(matcher.weights, dtype=numpy.float32) / matcher.total
    shares = numpy.minimum(1.0, best @ weights).tolist()
    # Blank lines don't separate others.
    filled = numpy.diff(lines.ends, prepend=-1) > 1
    owner = numpy.repeat(numpy.arange(len(lines.first)), lines.counts)
    windows = numpy.zeros(len(filled), dtype=numpy.float32)
    windows[filled] = numpy.minimum(1.0, _with_followers(best[filled], owner[filled]) @ weights)
    highest = numpy.maximum.reduceat(windows, lines.first).tolist()
    return [
        (shares[start : start + count], window)
        for start, count, window in zip(lines.first.tolist(), lines.counts.tolist(), highest, strict=True)
    ]


def _best_by_line(lines: Lines, like: _Like) -> Matrix:
    """Lines by terms: the likeness of the most similar word in the line."""
    import numpy

    columns = like.row[lines.read]
    places = numpy.flatnonzero(columns >= 0)
    best = numpy.zeros((len(lines.ends), like.likeness.shape[1]), dtype=numpy.float32)
    if len(places):
        here = numpy.searchsorted(lines.ends, places)
        first = numpy.flatnonzero(numpy.diff(here, prepend=-1))
        best[here[first]] = numpy.maximum.reduceat(like.likeness.take(columns[places], axis=0), first, axis=0)
    return best


class _Like(NamedTuple):
    """Words by terms, for words similar to any term; `row` maps a word's number to its row, or -1."""

    likeness: Matrix
    row: Numbers


def _likeness(
    lines: Lines, bits: Mapping[int, int], matcher: Matcher, words: WordVectors, vocabulary: Vocabulary
) -> _Like:
    """1 where the word is the term, else the squared cosine, or 0 below `_LEAST_COSINE`."""
    import numpy

    is_met = numpy.zeros(lines.words, dtype=bool)
    is_met[lines.read] = True
    is_met[LINE_END] = False
    met = numpy.flatnonzero(is_met)
    cosines: Matrix = words.cosines([term.word for term in matcher.terms], met, vocabulary)
    cosines[:, [not term.has_meaning for term in matcher.terms]] = 0.0
    same = [(number, term) for number, here in bits.items() for term in range(len(matcher.terms)) if here >> term & 1]
    numbers, terms = numpy.array(same, dtype=numpy.intp).reshape(-1, 2).T
    is_here = is_met[numbers]
    cosines[numpy.searchsorted(met, numbers[is_here]), terms[is_here]] = 1.0
    alike = numpy.flatnonzero((cosines >= _LEAST_COSINE).any(axis=1))
    likeness = cosines[alike]
    likeness[likeness < _LEAST_COSINE] = 0.0
    numpy.minimum(likeness, 1.0, out=likeness)
    row = numpy.full(lines.words, -1, dtype=numpy.intp)
    row[met[alike]] = numpy.arange(len(alike))
    return _Like(likeness * likeness, row)


def _with_followers(best: Matrix, owner: Numbers) -> Matrix:
    """Each line merged with the two after it in the same text."""
    import numpy

    joined = best.copy()
    for step in (1, 2):
        same = (owner[step:] == owner[:-step])[:, numpy.newaxis]
        joined[:-step] = numpy.maximum(joined[:-step], best[step:] * same)
    return joined
