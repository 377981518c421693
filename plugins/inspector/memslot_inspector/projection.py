"""Vectors as points in the plane: the two directions in which they differ most."""

from __future__ import annotations

from collections.abc import Sequence


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
