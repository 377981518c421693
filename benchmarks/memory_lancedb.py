"""What memory-lancedb costs over bare LanceDB, and how it grows: ratios, measured in one run.

    python benchmarks/memory_lancedb.py                  1k, 10k and 100k memories
    python benchmarks/memory_lancedb.py --full           also 1M, which takes minutes and 3 GB of memory
    python benchmarks/memory_lancedb.py --quick          1k and 10k
    python benchmarks/memory_lancedb.py --json FILE      write the numbers, too

Vectors are given and not embedded, 256 numbers each, in clusters as texts about a few hundred subjects would lie
(seed 1). Texts have ten words out of 5,000. Bare means the same LanceDB calls with the same condition on a table of the
same rows: for a recall one by vector and one by full text, with what they need to be joined. All that is compared
takes turns within a round, in every other round backwards; a ratio is formed within each round, and the median of all
rounds is reported.
"""

from __future__ import annotations

import argparse
import os
import random as dice
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy
from memslot import Host, Selection
from memslot_memory_lancedb.embedding.embedder import Embedded, Embedder
from memslot_memory_lancedb.embedding.identity import Identity
from memslot_memory_lancedb.memory_record import MemoryRecord
from memslot_memory_lancedb.memory_writer import MemoryWriter
from memslot_memory_lancedb.recall.background import Backgrounds
from memslot_memory_lancedb.recall.search import POOL, MemorySearcher
from memslot_memory_lancedb.store.compaction import INDEX_FROM_ROWS, WORDS_FROM_ROWS, has_index, make_vector_index
from memslot_memory_lancedb.store.database import Database
from memslot_memory_lancedb.store.predicate import Owner
from memslot_memory_lancedb.store.purge import compact
from memslot_memory_lancedb.store.schema import COLUMNS, STEMS, make_schema, to_arrow
from memslot_memory_lancedb.store.stems_column import make_words_index
from memslot_memory_lancedb.store.store import MemoryStore
from memslot_memory_lancedb.store.table import MemoryTable
from ratios import Ratio, median_ratio, publish

DIMS, SUBJECTS, AT_ONCE = 256, 300, 50_000
WORDS = ["".join(dice.Random(n).choices("bdfgklmnprtvaeiou", k=9)) for n in range(5_000)]
IDENTITY = Identity("given", "given", "given", DIMS)
OWNER = Owner("main")
STEPS: Sequence[tuple[str, str, float | None]] = [
    ("store, {n} memories", "bare search and add, {n}", 1.3),
    ("recall, {n} memories", "bare search, {n}", 2.0),
    ("recall, {n} memories", "numpy, every vector, {n}", None),
    ("recall by index, {n} memories", "recall, {n} memories", None),
    ("recall by index, {n} memories", "numpy, every vector, {n}", None),
]


class Given(Embedder):
    """Knows the next vector already: what is measured is everything but embedding."""

    def __init__(self) -> None:
        super().__init__(lambda: (None, Selection(None, "none", "given")))
        self.vector: Any = None

    @property
    def identity(self) -> Identity | None:
        return IDENTITY

    def embed_query(self, text: str, seconds: float = 0) -> Embedded:
        return Embedded(self.vector)

    def embed_documents(self, texts: Sequence[str], **options: Any) -> list[Any]:
        if len(texts) == 1:
            return [self.vector]
        rows = numpy.random.default_rng(2).normal(size=(len(texts), DIMS)).astype(numpy.float32)
        return list(rows / numpy.linalg.norm(rows, axis=1, keepdims=True))


def make_vectors(count: int, random: numpy.random.Generator, centres: Any) -> Any:
    rows = centres[random.integers(0, len(centres), count)] + 0.7 * random.normal(size=(count, DIMS))
    rows /= numpy.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(numpy.float32)


def make_text(words: int, chosen: dice.Random) -> str:
    return " ".join(chosen.choices(WORDS, k=words))


def make_memories(count: int, chosen: dice.Random) -> list[MemoryRecord]:
    return [MemoryRecord(make_text(10, chosen), embedder=IDENTITY.digest) for _ in range(count)]


def timed(step: Callable[[], object]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def measure(folder: Path, size: int, rounds: int) -> dict[str, list[float]]:
    """Seconds of every step in every round, for one size."""
    random, chosen = numpy.random.default_rng(1), dice.Random(1)
    centres = random.normal(size=(SUBJECTS, DIMS))
    store = MemoryStore(Database(str(folder / f"ours-{size}")), OWNER)
    database = Database(str(folder / f"bare-{size}"))
    schema = make_schema(OWNER, 1, IDENTITY)
    bare = database.make_table("bare", schema)
    matrix = numpy.empty((size, DIMS), dtype=numpy.float32)
    for start in range(0, size, AT_ONCE):
        part = make_vectors(min(AT_ONCE, size - start), random, centres)
        matrix[start : start + len(part)] = part
        rows = make_memories(len(part), chosen)
        store.add(rows, list(part), IDENTITY)
        bare.add(to_arrow(OWNER, schema, rows, list(part)))
    embedder = Given()
    writer = MemoryWriter(store, embedder)
    recalling = MemorySearcher(store, embedder, Backgrounds(embedder, folder))
    table = store.live()
    assert table is not None
    where = OWNER.where()
    if size >= WORDS_FROM_ROWS:  # as upkeep does
        make_words_index(table, store.database)
        make_words_index(MemoryTable(database, OWNER, table.generation, bare), database)

    def bare_search(vector: Any, limit: int) -> Any:
        query = bare.search(vector, vector_column_name="vector").distance_type("l2").where(where)
        return query.select([*COLUMNS, "_distance"]).limit(limit).to_arrow().to_pylist()

    def bare_hybrid(vector: Any, text: str) -> None:
        wanted = [*COLUMNS, "vector", STEMS]
        queries = (
            bare.search(vector, vector_column_name="vector").distance_type("l2"),
            bare.search(text, query_type="fts", fts_columns=STEMS),
        )
        for query in queries:
            query.where(where).select(wanted).limit(POOL).to_arrow()

    def bare_store(vector: Any, text: str) -> None:
        bare_search(vector, 2)
        bare.add(to_arrow(OWNER, schema, [MemoryRecord(text, embedder=IDENTITY.digest)], [vector]))

    def scan(vector: Any) -> Any:
        return numpy.argpartition(-(matrix @ vector), 5)[:5]

    def steps(number: int) -> dict[str, Callable[[], object]]:
        # New rows lie in directions of their own, or they would be duplicates of each other.
        fresh = make_vectors(1, random, random.normal(size=(1, DIMS)))[0]
        asked, words = make_vectors(1, random, centres)[0], make_text(4, chosen)

        def ours() -> None:
            embedder.vector = fresh
            assert writer.keep(f"New memory number {number}.").action == "created"

        def recall() -> None:
            embedder.vector = asked
            assert len(recalling.find(words, 5).found) == 5

        return {
            "bare search and add, {n}": lambda: bare_store(fresh, f"New memory number {number}."),
            "store, {n} memories": ours,
            "bare search, {n}": lambda: bare_hybrid(asked, words),
            "recall, {n} memories": recall,
            "numpy, every vector, {n}": lambda: scan(asked),
        }

    taken: dict[str, list[float]] = {}
    for number in range(rounds + 2):
        # Every other round backwards: what comes first finds the caches cold.
        for name, step in list(steps(number).items())[:: 1 if number % 2 else -1]:
            seconds = timed(step)
            if number > 1:
                taken.setdefault(name, []).append(seconds)
    if size >= INDEX_FROM_ROWS:
        taken["building the index, {n}"] = [timed(lambda: make_vector_index(table, store.database))]
        from datetime import timedelta

        compact(table, store.database, timedelta(days=7))
        assert has_index(table, store.database)
        for number in range(rounds + 2):
            seconds = timed(steps(number)["recall, {n} memories"])
            if number > 1:
                taken.setdefault("recall by index, {n} memories", []).append(seconds)
        taken["share of the five nearest that the index finds, {n}"] = [found_by_index(table, matrix, random, centres)]
    store.close()
    return {name.replace("{n}", shown(size)): seconds for name, seconds in taken.items()}


def found_by_index(table: Any, matrix: Any, random: Any, centres: Any) -> float:
    """Of 50 queries: how many of the five nearest by numpy come back."""
    hits = 0
    for _ in range(50):
        vector = make_vectors(1, random, centres)[0]
        distances = 2 - 2 * numpy.sort(matrix @ vector)[::-1][:5]
        hits += sum(distance <= distances[-1] + 1e-5 for _, distance in table.nearest(vector, 5))
    return hits / 250


def measure_hook(folder: Path, rounds: int) -> dict[str, list[float]]:
    """What auto-recall adds to the beginning of a run, with the zero-key embedder and 1,000 memories."""
    from memslot_embed_providers.universal.provider import UniversalProvider

    def load(name: str, **config: Any) -> Host:
        plugins = {"slots": {"memory": "memory-lancedb"}, "entries": {"memory-lancedb": {"config": config}}}
        env = {**os.environ, "MEMSLOT_LOAD_PLUGINS": "memory-lancedb,embed-universal"}
        return Host.load({"plugins": plugins}, home=folder / name, env=env)

    provider = UniversalProvider()
    with load("on") as on, load("off", autoRecall=False) as off:
        texts = [f"On day {n} we decided to paint room {n * 7} in colour {n * 13}." for n in range(1000)]
        memory: Any = on.memory
        identity = memory.embedder.identity
        vectors = memory.embedder.embed_documents(texts)
        memory.store.add([MemoryRecord(text, embedder=identity.digest) for text in texts], vectors, identity)
        memory.maintenance.check_now()
        memory.maintenance.wait(60)  # the background is embedded once, and not in every run
        handle = memory.store.live().handle
        taken: dict[str, list[float]] = {}

        def begin(host: Host, prompt: str) -> None:
            with host.run(prompt, session="bench"):
                pass

        def by_hand(prompt: str) -> None:
            vector = numpy.asarray(provider.embed_query(prompt), dtype=numpy.float32)
            handle.search(vector).where(OWNER.where()).select([*COLUMNS, "_distance"]).limit(12).to_arrow()

        for number in range(rounds + 2):
            prompt = f"which colour did we choose for room {number * 7}?"
            for name, step in {
                "run without auto-recall": lambda prompt=prompt: begin(off, prompt),
                "run with auto-recall": lambda prompt=prompt: begin(on, prompt),
                "embedding and bare search by hand": lambda prompt=prompt: by_hand(prompt),
            }.items():
                seconds = timed(step)
                if number > 1:
                    taken.setdefault(name, []).append(seconds)
    added = zip(taken["run with auto-recall"], taken["run without auto-recall"], strict=True)
    taken["auto-recall adds to a run"] = [max(1e-6, with_ - without) for with_, without in added]
    return taken


def shown(size: int) -> str:
    return f"{size // 1_000_000}M" if size >= 1_000_000 else f"{size // 1000}k"


def report(taken: dict[str, list[float]], sizes: Sequence[int]) -> list[Ratio]:
    ratios = []
    pairs = [(a.replace("{n}", shown(n)), b.replace("{n}", shown(n)), goal) for n in sizes for a, b, goal in STEPS]
    pairs.append(("auto-recall adds to a run", "embedding and bare search by hand", None))
    for name, base, goal in pairs:
        if name in taken and base in taken:
            measured = f"{statistics.median(taken[name]) * 1000:.2f} ms"
            ratio = median_ratio(taken[name], taken[base])
            ratios.append(Ratio(name, base, len(taken[name]), measured, ratio, goal))
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure memory-lancedb, as ratios.")
    parser.add_argument("--quick", action="store_true", help="1k and 10k memories, 10 rounds")
    parser.add_argument("--full", action="store_true", help="also 1M memories")
    parser.add_argument("--rounds", type=int, help="another number of rounds than 30")
    parser.add_argument("--sizes", type=lambda text: [int(each) for each in text.split(",")], help="other sizes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    options = parser.parse_args()
    rounds: int = options.rounds or (10 if options.quick else 30)
    sizes: list[int] = options.sizes or [1_000, 10_000]
    if not options.sizes and not options.quick:
        sizes += [100_000, 1_000_000] if options.full else [100_000]
    taken: dict[str, list[float]] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="memslot-bench-") as folder:
            taken |= measure(Path(folder), size, rounds)
    with tempfile.TemporaryDirectory(prefix="memslot-bench-") as folder:
        taken |= measure_hook(Path(folder), rounds)
    publish(report(taken, sizes), taken, rounds=rounds, file=options.json, remark=f"; {DIMS} dimensions")
    for name, seconds in taken.items():
        if name.startswith("building"):
            print(f"{name}: {seconds[0]:.1f} s")
        elif name.startswith("share"):
            print(f"{name}: {seconds[0]:.3f}")


if __name__ == "__main__":
    main()
