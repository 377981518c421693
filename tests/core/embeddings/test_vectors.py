"""Vectors as they are stored and compared: float32, finite, of length 1 or 0."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot import ProviderError
from memslot.embeddings.vectors import unit_rows

numbers = st.floats(width=32, allow_nan=True, allow_infinity=True)
matrices = st.integers(1, 6).flatmap(
    lambda width: st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=1, max_size=6)
)


def rows(vectors: Any, dims: int | None = None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return unit_rows(vectors, dims=dims, provider="test")


def lengths(matrix: Any) -> Any:
    return numpy.linalg.norm(matrix.astype(numpy.float64), axis=1)


@given(vectors=matrices)
def test_every_row_is_finite_float32_and_of_length_one_or_zero(vectors: list[list[float]]) -> None:
    made = rows(vectors, len(vectors[0]))
    assert made.dtype == numpy.float32
    assert made.shape == (len(vectors), len(vectors[0]))
    assert numpy.isfinite(made).all()
    for vector, length in zip(vectors, lengths(made), strict=True):
        is_zero = not any(math.isfinite(number) and number for number in vector)
        assert length == pytest.approx(0 if is_zero else 1, abs=1e-5)


@given(vectors=matrices)
def test_doing_it_twice_changes_nothing(vectors: list[list[float]]) -> None:
    once = rows(vectors)
    assert numpy.allclose(rows(once), once, atol=1e-6)


@given(
    vector=st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=6),
    scale=st.sampled_from([0.001, 0.5, 7, 1000]),
)
def test_only_the_direction_counts(vector: list[float], scale: float) -> None:
    if math.hypot(*vector) < 1e-3:
        return
    assert numpy.allclose(rows([vector]), rows([[number * scale for number in vector]]), atol=1e-4)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_becomes_zero_and_the_rest_stays(odd: float) -> None:
    assert rows([[odd, 3.0, 4.0]]).tolist() == [pytest.approx([0.0, 0.6, 0.8])]


def test_a_row_of_zeros_stays_one() -> None:
    assert rows([[0.0, 0.0], [0.0, 2.0]]).tolist() == [[0.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("size", [3e38, 1e25, 1e-5, 1e-11, 1e-20, 1e-38])
def test_huge_and_tiny_vectors_keep_their_direction(size: float) -> None:
    assert rows([[size * 0.6, size * -0.8]]).tolist() == [pytest.approx([0.6, -0.8], abs=1e-5)]


@pytest.mark.parametrize("size", [1e39, 1e300])
def test_numbers_beyond_float32_count_as_not_finite_without_a_warning(size: float) -> None:
    assert rows([[size, 3.0, 4.0]]).tolist() == [pytest.approx([0.0, 0.6, 0.8])]


@pytest.mark.parametrize(
    "vectors",
    [
        numpy.ones((2, 3), dtype=numpy.float64),
        numpy.ones((2, 3), dtype=numpy.float16),
        numpy.ones((2, 3), dtype=numpy.int64),
        [numpy.ones(3), numpy.ones(3)],
        ((1, 1, 1), (1, 1, 1)),
    ],
    ids=["float64", "float16", "int", "list of arrays", "tuples"],
)
def test_any_sequence_of_numbers_will_do(vectors: Any) -> None:
    assert rows(vectors, 3).tolist() == [pytest.approx([1 / math.sqrt(3)] * 3)] * 2


def test_the_callers_array_is_left_as_it_was() -> None:
    given_array = numpy.array([[math.nan, 2.0]], dtype=numpy.float32)
    rows(given_array)
    assert numpy.isnan(given_array[0, 0])
    assert given_array[0, 1] == 2.0


def test_no_vectors_give_a_matrix_without_rows() -> None:
    assert rows([], 3).shape == (0, 3)
    assert rows([]).shape == (0, 0)


@pytest.mark.parametrize(
    ("vectors", "dims", "said"),
    [
        ([[1.0, 2.0]], 3, "vectors of 2 dimensions instead of 3"),
        ([[1.0, 2.0], [1.0]], None, "unequal length"),
        ([[1.0, 2.0], [1.0]], 2, "unequal length"),
        ([1.0, 2.0], None, "1-dimensional"),
        ([[[1.0]]], None, "3-dimensional"),
        ([["a"]], None, "non-numbers"),
        ([[{}]], None, "non-numbers"),
        ([[], []], 3, "dimensions instead of 3"),
    ],
    ids=["dims", "ragged", "ragged with dims", "flat", "too deep", "text", "dict", "empty vectors"],
)
def test_what_is_no_list_of_vectors_is_refused_by_name(vectors: Any, dims: int | None, said: str) -> None:
    with pytest.raises(ProviderError, match=said) as caught:
        rows(vectors, dims)
    assert str(caught.value).startswith("test returned ")


@pytest.mark.parametrize("vectors", [None, 5, object()], ids=["none", "number", "object"])
@pytest.mark.parametrize("dims", [None, 2])
def test_something_that_is_no_sequence_is_refused_too(vectors: Any, dims: int | None) -> None:
    with pytest.raises(ProviderError, match=r"^test returned "):
        rows(vectors, dims)
