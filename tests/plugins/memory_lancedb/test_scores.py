"""A score is what the spec says it is, and means the cosine that the docs say it means."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.memory_record import MemoryRecord
from memslot_memory_lancedb.scores import DUPLICATE, FLOOR, SURE, score_of

DIMS = 64
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("score", "cosine"), [(0.95, 0.974), (0.9, 0.944), (0.7, 0.786), (0.5, 0.5), (0.3, -0.167), (1.0, 1.0), (0.2, -1.0)]
)
def test_a_score_stands_for_one_cosine(score: float, cosine: float) -> None:
    assert score_of(2 - 2 * cosine) == pytest.approx(score, abs=0.001)


def test_the_thresholds_are_those_of_the_spec() -> None:
    assert (DUPLICATE, SURE, FLOOR) == (0.95, 0.9, 0.3)


def test_the_docs_say_what_each_threshold_means() -> None:
    page = (ROOT / "docs" / "memory-lancedb.md").read_text(encoding="utf-8")
    for score in (DUPLICATE, SURE, 0.7, 0.5, FLOOR):
        cosine = re.search(rf"\| {score:g} \| (-?[\d.]+) \|", page)
        assert cosine is not None
        assert score_of(2 - 2 * float(cosine[1])) == pytest.approx(score, abs=0.001)


def test_a_distance_that_rounding_made_negative_is_no_score_above_one() -> None:
    assert score_of(-1e-7) == 1.0


_vectors = arrays(numpy.float32, (6, DIMS), elements=st.floats(-1, 1, width=32, allow_subnormal=False)).filter(
    lambda rows: bool((numpy.linalg.norm(rows.astype(numpy.float64), axis=1) > 1e-3).all())
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=_vectors)
def test_scores_agree_with_numpy(rows: numpy.ndarray, make_memory: Callable[..., LanceMemory]) -> None:
    """Of real rows in a real table, against the squared Euclidean distance worked out by numpy."""
    units = (rows / numpy.linalg.norm(rows.astype(numpy.float64), axis=1, keepdims=True)).astype(numpy.float32)
    memory = make_memory()
    identity = memory.embedder.identity
    assert identity is not None
    stored = [MemoryRecord(f"text {number}", embedder=identity.digest) for number in range(len(units) - 1)]
    table = memory.store.writable(identity)
    table.remove(list(table.changes()))
    memory.store.add(stored, list(units[1:]), identity)

    found = table.nearest(units[0], 10)

    exact = {
        each.id: float(((units[0].astype(numpy.float64) - unit) ** 2).sum())
        for each, unit in zip(stored, units[1:].astype(numpy.float64), strict=True)
    }
    assert len(found) == len(stored)
    for each, distance in found:
        score = score_of(distance)
        assert score == pytest.approx(1 / (1 + exact[each.id]), abs=1e-5)
    scores = [score_of(distance) for _, distance in found]
    assert scores == sorted(scores, reverse=True)
