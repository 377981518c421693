"""Memories side by side embed a prompt once."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest
from memslot.embeddings.pipeline import EmbeddingPipeline
from memslot.embeddings.query_rows import QueryRows
from memslot.errors import MemslotError
from memslot.testing import FailingProvider, HashingProvider
from memslot.testing.threads import all_at_once


class Counting(HashingProvider):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.asked: list[str] = []
        self.is_free = threading.Event()
        self.is_free.set()

    def embed_query(self, text: str) -> Any:
        self.asked.append(text)
        self.is_free.wait(30)
        return super().embed_query(text)


def test_two_pipelines_of_one_host_embed_a_query_once() -> None:
    provider, rows = Counting(), QueryRows()
    one, other = EmbeddingPipeline(provider, query_rows=rows), EmbeddingPipeline(provider, query_rows=rows)
    first = one.embed_query("tea")
    assert numpy.array_equal(first, other.embed_query("tea"))
    assert provider.asked == ["tea"]
    other.embed_query("coffee")
    assert provider.asked == ["tea", "coffee"]


def test_a_query_under_way_is_waited_for() -> None:
    provider, rows = Counting(), QueryRows()
    provider.is_free.clear()
    pipelines = [EmbeddingPipeline(provider, query_rows=rows) for _ in range(4)]
    threading.Timer(0.3, provider.is_free.set).start()
    made = all_at_once([lambda each=each: each.embed_query("tea") for each in pipelines])  # type: ignore[misc]
    assert provider.asked == ["tea"]
    assert all(numpy.array_equal(row, made[0]) for row in made)


def test_whoever_changes_a_row_changes_only_their_own() -> None:
    provider, rows = Counting(), QueryRows()
    pipeline = EmbeddingPipeline(provider, query_rows=rows)
    kept = pipeline.embed_query("tea").copy()
    for _ in range(2):
        pipeline.embed_query("tea")[:] = 7
    assert numpy.array_equal(pipeline.embed_query("tea"), kept)


def test_a_failure_is_not_remembered() -> None:
    rows, good = QueryRows(), Counting()
    bad = FailingProvider()
    with pytest.raises(MemslotError):
        EmbeddingPipeline(bad, query_rows=rows).embed_query("tea")
    bad_key = EmbeddingPipeline(bad).cache_key("tea")
    good.id, good.model = bad.id, bad.model
    assert EmbeddingPipeline(good).cache_key("tea") == bad_key, "else the test says nothing"
    EmbeddingPipeline(good, query_rows=rows).embed_query("tea")
    assert good.asked == ["tea"]


def test_another_model_has_other_rows() -> None:
    rows, one, other = QueryRows(), Counting(), Counting()
    other.model = "another"
    for provider in (one, other):
        EmbeddingPipeline(provider, query_rows=rows).embed_query("tea")
    assert (one.asked, other.asked) == (["tea"], ["tea"])


def test_only_the_latest_queries_are_kept() -> None:
    provider, rows = Counting(), QueryRows()
    pipeline = EmbeddingPipeline(provider, query_rows=rows)
    for number in range(40):
        pipeline.embed_query(f"tea {number}")
    pipeline.embed_query("tea 39")
    pipeline.embed_query("tea 0")
    assert provider.asked[40:] == ["tea 0"]
