"""Joins words and meaning: how well each candidate answers a query, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memslot.retrieval import calibrated, gather_evidence, relevance_of

from memslot_memory_lancedb.memories import Found, Leg
from memslot_memory_lancedb.recall.query import WeighedQuery
from memslot_memory_lancedb.scores import score_of
from memslot_memory_lancedb.store.table import SearchRow

if TYPE_CHECKING:
    from memslot.retrieval import Noise

    from memslot_memory_lancedb.store.schema import Vector

_STANDS_OUT = 1.0
"""The z from which on meaning has found a memory."""


@dataclass(frozen=True, eq=False)
class QueryMeaning:
    """A query's vector as it is, the same focused on what tells memories apart, and the noise of that."""

    vector: Vector
    focused: Vector
    noise: Noise


def rank(rows: Sequence[SearchRow], query: WeighedQuery, meaning: QueryMeaning | None, compared: int) -> list[Found]:
    """The candidates, best first; `compared` counts the memories that the query was compared with."""
    evidence = gather_evidence([row.memory.text for row in rows], query.matcher)
    found = []
    for row, line in zip(rows, evidence, strict=True):
        # The share of its best line alone: BM25 prefers the shortest of these short texts.
        words = line.line
        z = score = None
        if meaning is not None and row.vector is not None:
            z = meaning.noise.z(float(row.vector @ meaning.focused))
            difference = row.vector - meaning.vector
            score = score_of(float(difference @ difference))
        # What was compared with no vector cannot be near by chance.
        relevance = calibrated(relevance_of(words, z), compared if z is not None else 0)
        if words > 0 or z is not None:
            found.append(
                Found(row.memory, words if score is None else score, relevance, _legs(words, z), score is not None)
            )
    return sorted(found, key=lambda each: (-each.relevance, -each.score, each.memory.id))


def _legs(words: float, z: float | None) -> tuple[Leg, ...]:
    legs: list[Leg] = []
    if words > 0:
        legs.append("words")
    if z is not None and (z >= _STANDS_OUT or not legs):
        legs.append("meaning")
    return tuple(legs)
