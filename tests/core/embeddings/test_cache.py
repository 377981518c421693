"""The cache for programs without a store."""

from __future__ import annotations

import numpy
import pytest
from memslot import CacheKey, EmbeddingCache, MemoryCache
from memslot.testing.threads import all_at_once


def key(number: int) -> CacheKey:
    return CacheKey("p", "m", "k", str(number))


def row(number: float) -> numpy.ndarray:
    return numpy.full(4, number, dtype=numpy.float32)


def test_it_is_a_cache() -> None:
    assert isinstance(MemoryCache(), EmbeddingCache)


def test_what_was_put_is_found_and_the_rest_left_out() -> None:
    cache = MemoryCache()
    cache.put_many({key(1): row(1)})
    found = cache.get_many([key(1), key(2)])
    assert list(found) == [key(1)]
    assert found[key(1)].tolist() == [1.0] * 4


def test_what_was_not_used_for_longest_goes() -> None:
    cache = MemoryCache(max_entries=3)
    cache.put_many({key(n): row(n) for n in range(3)})
    cache.get_many([key(0)])
    cache.put_many({key(3): row(3)})
    assert set(cache.get_many([key(n) for n in range(4)])) == {key(0), key(2), key(3)}
    assert len(cache) == 3


def test_a_row_is_kept_as_it_was() -> None:
    cache, mine = MemoryCache(), row(1)
    cache.put_many({key(1): mine})
    mine[:] = 9
    assert cache.get_many([key(1)])[key(1)].tolist() == [1.0] * 4


@pytest.mark.parametrize("part", ["provider", "model", "provider_key", "text_hash"])
def test_every_part_of_the_key_counts(part: str) -> None:
    cache = MemoryCache()
    cache.put_many({key(1): row(1)})
    assert cache.get_many([key(1)._replace(**{part: "other"})]) == {}


def test_many_threads_may_use_it_at_once() -> None:
    cache = MemoryCache(max_entries=50)

    def work() -> None:
        for number in range(500):
            cache.put_many({key(number % 80): row(number)})
            cache.get_many([key(number % 70)])

    all_at_once([work] * 8)
    assert len(cache) == 50
