"""Vectors as memslot stores and compares them: float32, finite, normalized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memslot.errors import ProviderError, VectorSizeError

if TYPE_CHECKING:
    import numpy

    from memslot.embeddings.contract import Vector

    Matrix = numpy.ndarray[tuple[int, int], numpy.dtype[numpy.float32]]
    Row = numpy.ndarray[tuple[int], numpy.dtype[numpy.float32]]


def unit_rows(vectors: Sequence[Vector], *, dims: int | None, provider: str) -> Matrix:
    """Return one normalized row per vector. Non-finite values become 0; zero rows stay zero."""
    import numpy

    try:
        with numpy.errstate(over="ignore"):  # overflow becomes inf, and 0 below
            matrix: Any = numpy.asarray(vectors, dtype=numpy.float32)
    except (TypeError, ValueError) as error:
        raise ProviderError(f"{provider} returned vectors of unequal length or non-numbers: {error}") from None
    if matrix.ndim and len(matrix) == 0:
        empty: Matrix = matrix.reshape(len(vectors), dims or 0)
        return empty
    if matrix.ndim != 2:
        raise ProviderError(f"{provider} returned {matrix.ndim}-dimensional data instead of a list of vectors")
    if dims is not None and matrix.shape[1] != dims:
        raise VectorSizeError(f"{provider} returned vectors of {matrix.shape[1]} dimensions instead of {dims}")
    matrix = numpy.nan_to_num(matrix, nan=0.0, posinf=0.0, neginf=0.0)
    # float64: the square of a large float32 overflows.
    lengths = numpy.linalg.norm(matrix.astype(numpy.float64), axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    rows: Matrix = (matrix / lengths).astype(numpy.float32)
    return rows


def is_zero(row: Row) -> bool:
    """Whether a vector is all zeros, and so has no cosine similarity to anything."""
    # The first value settles it for nearly every row, at a tenth of the cost.
    return bool(row[0] == 0) and not row.any()
