"""Meaning: how unusual a query's similarity to a text is.

A raw cosine means nothing: .3 is a sure hit with one model and noise with another. So each query measures its own
noise, its cosines with unrelated texts (the background, and a sample of the memory), and a text is scored by its
z-score. First the query is stripped of what all questions share and what all texts of the memory share, since neither
discriminates between them.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from memslot.blas import one_blas_thread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memslot.retrieval.background import Background, Matrix, Row

SAMPLE_SIZE = 200
"""Texts of a memory to sample; more hardly improve the noise estimate."""
_FEW_TEXTS = 32
"""Up to this many texts, their mean is mostly their own content."""
_FEW_QUESTIONS = 8
"""With this many questions, half of their mean is their own content."""
_MIN_NOISE = 12  # cosines; a deviation of fewer is meaningless
_TINY = 1e-6


class Noise(NamedTuple):
    """Mean and standard deviation of a query's cosines with unrelated texts."""

    mean: float
    deviation: float

    def z(self, cosine: float) -> float:
        """Return a cosine's z-score."""
        return (cosine - self.mean) / self.deviation


class MeaningScale:
    """The scale of cosines in one memory with one embedder; `texts` is a sample of its normalized vectors."""

    def __init__(self, background: Background | None, texts: Matrix) -> None:
        with one_blas_thread():
            self._background = None if background is None else _NearBackground(background)
        self._texts = texts

    def focus(self, query: Row) -> Row:
        """Return the normalized query without what all questions share and what all texts share."""
        with one_blas_thread():
            return self._focus(query)

    def noise(self, focused: Row, sample: Matrix | None = None) -> Noise | None:
        """Measure a query's noise among the memory's texts, or another sample such as parts of texts.

        None if there is too little data.
        """
        with one_blas_thread():
            return self._noise(focused, self._texts if sample is None else sample)

    def _focus(self, query: Row) -> Row:
        import numpy

        if self._background is None:
            return query
        near = self._background.near(query)
        focused = query - self._background.mean_question(near)
        many = len(self._texts)
        if many > _FEW_TEXTS:
            common = self._texts.mean(axis=0) - self._background.mean_statement(near)
            length = float(numpy.linalg.norm(common))
            if length > _TINY:
                common = common / length
                focused = focused - (1 - _FEW_TEXTS / many) * float(focused @ common) * common
        length = float(numpy.linalg.norm(focused))
        return focused / length if length > _TINY else query

    def _noise(self, focused: Row, texts: Matrix) -> Noise | None:
        import numpy

        cosines = texts @ focused
        if self._background is not None:
            cosines = numpy.concatenate((cosines, self._background.cosines(focused)))
        if len(cosines) < _MIN_NOISE:
            return None
        mean, deviation = float(cosines.mean()), float(cosines.std())
        if self._background is not None:
            # A query far from everything has little noise, which would inflate the z-score of its best text.
            deviation = math.sqrt((deviation**2 + self._background.usual_deviation**2) / 2)
        return Noise(mean, deviation) if deviation > _TINY else None


class _NearBackground:
    """The part of the background in languages close to a query's.

    To a multilingual embedder all languages are equally close. An English-only one sees any other language as foreign
    first: measured against those, every English note would stand out.
    """

    def __init__(self, background: Background) -> None:
        import numpy

        self._background = background
        self._languages = numpy.unique(background.statement_languages)
        self._members = [background.statement_languages == language for language in self._languages]
        self._usual = 0.0  # during the measurement, only the closest language counts
        self._usual = self.usual_deviation = self._measure()

    def near(self, query: Row) -> NDArray[np.bool_]:
        """Return which statements are in a language within one usual deviation of the closest."""
        import numpy

        cosines = self._background.statements @ query
        means = numpy.array([cosines[members].mean() for members in self._members])
        chosen = self._languages[means >= means.max() - self._usual]
        return numpy.isin(self._background.statement_languages, chosen)

    def cosines(self, query: Row) -> Row:
        return self._background.statements[self.near(query)] @ query

    def mean_statement(self, near: NDArray[np.bool_]) -> Row:
        mean: Row = self._background.statements[near].mean(axis=0)
        return mean

    def mean_question(self, near: NDArray[np.bool_]) -> Row:
        import numpy

        languages = numpy.unique(self._background.statement_languages[near])
        same = numpy.isin(self._background.question_languages, languages)
        count = int(same.sum())
        if not count:
            return numpy.zeros_like(self._background.statements[0])
        mean: Row = self._background.questions[same].mean(axis=0)
        return mean * (count / (count + _FEW_QUESTIONS))

    def _measure(self) -> float:
        """Measure the typical deviation of an everyday question's cosines among statements in its language."""
        import numpy

        found = []
        center = self._background.questions.mean(axis=0)
        for question in self._background.questions:
            focused = question - center
            length = float(numpy.linalg.norm(focused))
            if length > _TINY:
                found.append(float(self.cosines(focused / length).std()))
        return sum(found) / len(found) if found else 0.0


@lru_cache(maxsize=1024)
def chance(count: int) -> float:
    """Return the expected maximum z-score among `count` unrelated texts."""
    if count <= 1:
        return 0.0
    reach = math.sqrt(2 * math.log(count))
    euler = 0.5772
    return max(0.0, reach + (euler - (math.log(math.log(count)) + math.log(4 * math.pi)) / 2) / reach)
