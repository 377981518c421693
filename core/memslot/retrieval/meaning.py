"""Meaning: how unusual it is for a query to be as alike to a text as it is.

A cosine says nothing by itself: .3 is a sure hit with one model and noise with another. So each query measures its own
noise, its cosines with unrelated texts (the background, and a sample of the memory), and a text counts by how many
deviations it stands out (`z`). Before that the query loses what it shares with every question and what all texts of
the memory have in common, since neither tells which of them answers.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memslot.retrieval.background import Background, Matrix, Row

SAMPLE_SIZE = 200
"""Texts of a memory that are worth sampling: with more of them the noise is hardly known better."""
_FEW_TEXTS = 32
"""Up to so many texts, what they have in common is mostly what each of them says."""
_FEW_QUESTIONS = 8
"""Of so few questions, half of what they have in common is what each of them asks for."""
_LEAST_NOISE = 12  # cosines: a deviation from fewer says nothing
_TINY = 1e-6


class Noise(NamedTuple):
    """Mean and deviation of a query's cosines with unrelated texts."""

    mean: float
    deviation: float

    def z(self, cosine: float) -> float:
        """By how many deviations a cosine stands out."""
        return (cosine - self.mean) / self.deviation


class MeaningScale:
    """What is unusual in one memory, with one embedder; `texts` is a sample of the memory's vectors, of length 1."""

    def __init__(self, background: Background | None, texts: Matrix) -> None:
        self._background = None if background is None else _Surroundings(background)
        self._texts = texts

    def focus(self, query: Row) -> Row:
        """The query without what all questions share and what all texts have in common; of length 1."""
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

    def noise(self, focused: Row, sample: Matrix | None = None) -> Noise | None:
        """The noise of a query among the memory's texts, or among another sample of it, such as parts of texts.

        None where too little is known.
        """
        import numpy

        cosines = (self._texts if sample is None else sample) @ focused
        if self._background is not None:
            cosines = numpy.concatenate((cosines, self._background.cosines(focused)))
        if len(cosines) < _LEAST_NOISE:
            return None
        mean, deviation = float(cosines.mean()), float(cosines.std())
        if self._background is not None:
            # A query far from everything has little noise, and its best text would stand out for no reason.
            deviation = math.sqrt((deviation**2 + self._background.usual_deviation**2) / 2)
        return Noise(mean, deviation) if deviation > _TINY else None


class _Surroundings:
    """The part of the background that is in a language near to a query.

    An embedder that knows all its languages finds them all equally near. To one that knows English alone, a text in
    another language is above all a foreign one: compared with these, every English note would stand out.
    """

    def __init__(self, background: Background) -> None:
        import numpy

        self._background = background
        self._languages = numpy.unique(background.statement_languages)
        self._members = [background.statement_languages == language for language in self._languages]
        self._usual = 0.0  # while it is measured, only the nearest language is near
        self._usual = self.usual_deviation = self._measure()

    def near(self, query: Row) -> NDArray[np.bool_]:
        """Which statements are in a language that is as near as the nearest, but for what is usual."""
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
        """How much the cosines of an everyday question vary, among statements in its language."""
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
    """The z that the best of so many unrelated texts reaches on average."""
    if count <= 1:
        return 0.0
    reach = math.sqrt(2 * math.log(count))
    euler = 0.5772
    return max(0.0, reach + (euler - (math.log(math.log(count)) + math.log(4 * math.pi)) / 2) / reach)
