"""What the embedding pipeline costs over calling the provider yourself, as a ratio, measured in one run.

    python benchmarks/embeddings.py             7 rounds
    python benchmarks/embeddings.py --quick     3 rounds
    python benchmarks/embeddings.py --json FILE write the numbers, too

The provider costs what a small model on a local server costs: 5 ms for a request and 1 ms for each text, spent
asleep, as one waits for a server. It gives lists of numbers, as JSON would. The direct calls send the same batches
from the same number of threads and make one float32 matrix of what comes back: without that nobody could search.
All ways take turns in each round; a ratio is formed within each round, and the median of the rounds is reported.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy
from memslot import EmbeddingPipeline, MemoryCache
from ratios import Ratio, median_ratio, publish

WORDS, DIMS, ITEMS, THREADS = 40, 384, 100, 4
REQUEST_SECONDS, TEXT_SECONDS = 0.005, 0.001
DIRECT, PIPELINE, CACHING = "direct calls", "pipeline", "pipeline, empty cache"
WARM, QUERY, DIRECT_QUERY = "pipeline, all in the cache", "one query", "one direct query"


class ServerLike:
    """Takes as long as a local server, and computes nothing."""

    id, model, dims, max_input_tokens, max_batch_items = "server-like", "bench", DIMS, 8192, ITEMS

    def __init__(self) -> None:
        rows = numpy.random.default_rng(0).standard_normal((ITEMS, DIMS))
        self._rows: list[list[float]] = rows.tolist()

    def embed_query(self, text: str) -> list[float]:
        time.sleep(REQUEST_SECONDS + TEXT_SECONDS)
        return self._rows[0]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        time.sleep(REQUEST_SECONDS + TEXT_SECONDS * len(texts))
        return self._rows[: len(texts)]


def embed_directly(provider: ServerLike, texts: Sequence[str]) -> Any:
    batches = [texts[start : start + ITEMS] for start in range(0, len(texts), ITEMS)]
    with ThreadPoolExecutor(THREADS) as pool:
        parts = pool.map(lambda batch: numpy.array(provider.embed_documents(batch), dtype=numpy.float32), batches)
        return numpy.concatenate(list(parts))


def make_ways(texts: Sequence[str]) -> Mapping[str, Callable[[], Any]]:
    """Each thing to time, by name."""
    provider = ServerLike()
    # 100 texts of these are some 7,000 tokens, so that both ways send batches of 100.
    plain = EmbeddingPipeline(provider, concurrency=THREADS)
    full = EmbeddingPipeline(provider, cache=MemoryCache(), concurrency=THREADS)
    full.embed_documents(texts)
    return {
        DIRECT: lambda: embed_directly(provider, texts),
        PIPELINE: lambda: plain.embed_documents(texts),
        CACHING: lambda: EmbeddingPipeline(provider, cache=MemoryCache()).embed_documents(texts),
        WARM: lambda: full.embed_documents(texts),
        DIRECT_QUERY: lambda: provider.embed_query("what did we decide?"),
        QUERY: lambda: plain.embed_query("what did we decide?"),
    }


def measure(rounds: int, count: int) -> dict[str, list[float]]:
    """Seconds of every way in every round; a round before the first is not counted."""
    texts = [f"{number} " + "memory " * WORDS for number in range(count)]
    ways = make_ways(texts)
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            made = way()
            seconds = time.perf_counter() - start
            if "query" not in name and made.shape != (count, DIMS):
                raise SystemExit(f"{name} gave {made.shape}")
            if number:
                taken[name].append(seconds)
    return taken


def report(taken: Mapping[str, Sequence[float]], count: int) -> list[Ratio]:
    rows = [(PIPELINE, DIRECT, 1.05), (CACHING, DIRECT, 1.05), (WARM, DIRECT, None), (QUERY, DIRECT_QUERY, None)]
    return [
        Ratio(
            f"{name}, {count:,} texts" if name != QUERY else name,
            base,
            len(taken[name]),
            f"{statistics.median(taken[name]) * 1000:.1f} ms",
            median_ratio(taken[name], taken[base]),
            goal,
        )
        for name, base, goal in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the embedding pipeline against direct calls, as ratios.")
    parser.add_argument("--quick", action="store_true", help="3 rounds instead of 7")
    parser.add_argument("--rounds", type=int, help="another number of rounds")
    parser.add_argument("--texts", type=int, default=10_000, help="another number of texts than 10,000")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    options = parser.parse_args()
    rounds: int = options.rounds or (3 if options.quick else 7)
    taken = measure(rounds, options.texts)
    ratios = report(taken, options.texts)
    publish(ratios, taken, rounds=rounds, file=options.json)


if __name__ == "__main__":
    main()
