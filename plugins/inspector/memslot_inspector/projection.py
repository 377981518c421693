"""Vectors as points in the plane: the two directions in which they differ most; and names for its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing

    NDArray = numpy.typing.NDArray[Any]

MOST_WORD_CHARS = 24


def project(vectors: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """Each vector as a point, both coordinates from 0 to 1."""
    import numpy

    if len(vectors) < 3:
        return [(0.5, 0.5)] * len(vectors)
    matrix = numpy.nan_to_num(numpy.asarray(vectors, dtype=numpy.float64))
    lengths = numpy.linalg.norm(matrix, axis=1, keepdims=True)
    matrix = matrix / numpy.where(lengths == 0, 1.0, lengths)
    centered = matrix - matrix.mean(axis=0)
    _, _, directions = numpy.linalg.svd(centered, full_matrices=False)
    flat = centered @ directions[:2].T
    if flat.shape[1] < 2:
        flat = numpy.column_stack([flat[:, 0], numpy.zeros(len(flat))])
    low, high = flat.min(axis=0), flat.max(axis=0)
    scaled = (flat - low) / numpy.where(high - low < 1e-9, 1.0, high - low)
    return [(float(x), float(y)) for x, y in scaled]


def name_regions(
    places: Sequence[tuple[float, float]], texts: Sequence[str], most: int = 7
) -> list[tuple[float, float, str]]:
    """Parts of a map, the largest first, each with its middle and words that are common there and rare elsewhere.

    No word is in two names.
    """
    import numpy

    found = [_words(text) for text in texts]
    everywhere = Counter(stem for words in found for stem in words)
    points = numpy.asarray(places, dtype=numpy.float64)
    named = []
    used: set[str] = set()
    for members in _regions(points, most):
        here = Counter(stem for member in members for stem in found[member])
        least = max(2, len(members) / 8)
        common = [(stem, count) for stem, count in here.items() if count >= least and stem not in used]
        typical = sorted((-count * count / everywhere[stem], stem) for stem, count in common)[:2]
        used.update(stem for _, stem in typical)
        words = [next(found[member][stem] for member in members if stem in found[member]) for _, stem in typical]
        if words:
            x, y = points[members].mean(axis=0)
            named.append((float(x), float(y), " · ".join(words)))
    return named


def _words(text: str) -> dict[str, str]:
    """The words of a text that say something, by their stems.

    In lower case: a stop word that begins a sentence would be taken for a name.
    """
    from memslot.retrieval import query_terms

    terms = query_terms(text.lower()).terms
    return {term.stem: term.written for term in terms if not term.number and 1 < len(term.written) < MOST_WORD_CHARS}


def _regions(points: NDArray, most: int) -> list[list[int]]:
    """Points that lie together: k-means from points that are far from each other."""
    import numpy

    if not len(points):
        return []
    centres = points[[int(numpy.linalg.norm(points - points.mean(axis=0), axis=1).argmin())]]
    while len(centres) < min(most, len(points) // 6 or 1):
        distances = numpy.linalg.norm(points[:, None] - centres[None], axis=2).min(axis=1)
        centres = numpy.vstack([centres, points[int(distances.argmax())]])
    nearest = numpy.zeros(len(points), dtype=int)
    for _ in range(20):
        nearest = numpy.linalg.norm(points[:, None] - centres[None], axis=2).argmin(axis=1)
        centres = numpy.vstack(
            [points[nearest == each].mean(axis=0) if each in nearest else old for each, old in enumerate(centres)]
        )
    groups = [[int(each) for each in numpy.flatnonzero(nearest == number)] for number in range(len(centres))]
    return sorted((each for each in groups if each), key=len, reverse=True)
