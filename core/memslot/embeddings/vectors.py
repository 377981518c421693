"""Vectors as the rest of memslot stores and compares them: float32, finite, length 1."""

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
    """One row per vector: non-finite numbers become 0, rows get length 1, a row of zeros stays one."""
    import numpy

    try:
        with numpy.errstate(over="ignore"):  # too large for float32: infinite, and so 0 below
            matrix: Any = numpy.asarray(vectors, dtype=numpy.float32)
    except (TypeError, ValueError) as error:
        raise ProviderError(f"{provider} returned vectors of unequal length or not of numbers: {error}") from None
    if matrix.ndim and len(matrix) == 0:
        empty: Matrix = matrix.reshape(len(vectors), dims or 0)
        return empty
    if matrix.ndim != 2:
        raise ProviderError(f"{provider} returned {matrix.ndim}-dimensional data where a list of vectors was due")
    if dims is not None and matrix.shape[1] != dims:
        raise VectorSizeError(f"{provider} returned vectors of {matrix.shape[1]} dimensions where {dims} were due")
    matrix = numpy.nan_to_num(matrix, nan=0.0, posinf=0.0, neginf=0.0)
    # In float64, or the square of a large float32 would be infinite.
    lengths = numpy.linalg.norm(matrix.astype(numpy.float64), axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    rows: Matrix = (matrix / lengths).astype(numpy.float32)
    return rows


def is_zero(row: Row) -> bool:
    """Whether a vector says nothing: it is like every other one, and so is never compared."""
    # The first number settles it for nearly every row, at a tenth of the cost.
    return bool(row[0] == 0) and not row.any()
