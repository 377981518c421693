"""What each vector engine takes for the 24 nearest rows, as a ratio to a bare matrix product, measured in one run.

    python benchmarks/speed/vector_engines.py             10,000 and 100,000 rows of 256, 10,000 of 1,536; 7 rounds
    python benchmarks/speed/vector_engines.py --quick     10,000 rows of 256 only, 3 rounds
    python benchmarks/speed/vector_engines.py --recall    also how many of the nearest the trained vec1 misses
    python benchmarks/speed/vector_engines.py --json FILE write the numbers, too

Every engine searches the same rows in a file of its own, with the canonical vectors beside its table, and answers
with exact cosines. The base is a product of the whole matrix in memory with the query and the selection of the best
24: no snapshot, no file. Rows are drawn around 300 centres. One measurement is the mean of 10 different queries; the
engines take turns in each round, a ratio is formed within each round, and the median of the rounds is reported.

For `--recall`, rows are embeddings of paragraphs of the Python files that this Python can import. The queries
are the first nine words of other paragraphs: short, and without context, which is hard for an approximate index.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import apsw
import numpy
from memslot_memory_core.index.vectors.engine import VectorTable
from memslot_memory_core.index.vectors.engine_choice import make_engine
from memslot_memory_core.index.vectors.extensions import load
from memslot_memory_core.index.vectors.vec1 import Vec1Engine
from ratios import Ratio, median_ratio, publish

LIMIT, QUERIES = 24, 10
BASE = "bare product"
ENGINES = ("numpy", "sqlite-vec", "vec1", "vec1 trained")
ROWS = "SELECT c.id, e.vector FROM chunks_1 c JOIN embeddings e ON e.id = c.embedding_id"


def unit(rows: Any) -> Any:
    return (rows / numpy.linalg.norm(rows, axis=1, keepdims=True)).astype("<f4")


def clusters(count: int, dims: int) -> tuple[Any, Any]:
    random = numpy.random.default_rng(0)
    centres = random.standard_normal((300, dims)).astype("f4")
    noise = random.standard_normal((count + QUERIES, dims)).astype("f4")
    points = unit(centres[random.integers(0, 300, count + QUERIES)] + noise)
    return points[:count], points[count:]


class Bench:
    """One engine with its own file."""

    def __init__(self, name: str, file: Path, rows: Any) -> None:
        self.table = VectorTable("vec_1", rows.shape[1], ROWS)
        kind = name.split()[0]
        trained = name.endswith("trained")
        never = 1 << 60
        self.engine = (
            Vec1Engine(self.table, trained_from=1 if trained else never)
            if kind == "vec1"
            else make_engine(kind, self.table)
        )
        self.db = apsw.Connection(str(file))
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = NORMAL")
        reason = load(self.db, kind)
        if reason:
            raise SystemExit(reason)
        self.db.execute(
            "CREATE TABLE embeddings (id INTEGER PRIMARY KEY, vector BLOB);"
            "CREATE TABLE chunks_1 (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT, embedding_id INTEGER)"
        )
        blobs = [(number, row.tobytes()) for number, row in enumerate(rows, 1)]
        with self.db:
            self.db.executemany("INSERT INTO embeddings VALUES (?, ?)", blobs)
            self.db.executemany("INSERT INTO chunks_1 VALUES (?, 'text', ?)", [(number, number) for number, _ in blobs])
        before = self.pages()
        start = time.perf_counter()
        with self.db:
            self.engine.create(self.db)
            self.engine.add(self.db, blobs)
        self.add_seconds = time.perf_counter() - start
        self.bytes = (self.pages() - before) * 4096
        start = time.perf_counter()
        self.engine.maintain(self.db)
        self.maintain_seconds = time.perf_counter() - start
        self.state = (1, len(blobs))

    def pages(self) -> int:
        return int(self.db.execute("PRAGMA page_count").get)

    def search(self, query: bytes) -> list[tuple[int, float]]:
        self.db.execute("BEGIN")
        self.db.execute("SELECT 1 FROM chunks_1 LIMIT 1").fetchall()
        found = self.engine.search(self.db, query, LIMIT, state=self.state)
        self.db.execute("COMMIT")
        return found


def bare(rows: Any, query: Any) -> Any:
    cosines = rows @ query
    best = numpy.argpartition(cosines, len(rows) - LIMIT)[-LIMIT:]
    return best[numpy.argsort(-cosines[best])]


def measure(rounds: int, rows: Any, queries: Any, folder: Path, label: str) -> tuple[dict[str, list[float]], list[str]]:
    """Seconds for one query, of every engine in every round; the first round is not counted."""
    benches = {name: Bench(name, folder / f"{name}-{label}.sqlite", rows) for name in ENGINES}
    ways: dict[str, Callable[[Any], Any]] = {BASE: lambda query: bare(rows, query)}
    for name, bench in benches.items():
        ways[name] = lambda query, bench=bench: bench.search(query.tobytes())
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            for query in queries:
                way(query)
            if number:
                taken[name].append((time.perf_counter() - start) / len(queries))
    facts = [
        f"{label} {name}: {len(rows) / bench.add_seconds:,.0f} rows/s added, {bench.bytes / 1e6:.1f} MB on disk"
        + (f", {bench.maintain_seconds:.1f} s to train" if name.endswith("trained") else "")
        for name, bench in benches.items()
        if name != "numpy"
    ]
    for bench in benches.values():
        bench.db.close()
    return taken, facts


def paragraphs(wanted: int) -> list[str]:
    found: dict[str, None] = {}
    paths = sysconfig.get_paths()
    for folder in (paths["stdlib"], paths["purelib"]):
        for file in sorted(Path(folder).glob("**/*.py")):
            text = file.read_text(encoding="utf-8", errors="ignore")
            found.update(dict.fromkeys(part for part in re.split(r"\n\s*\n", text) if 12 <= len(part.split()) <= 120))
            if len(found) >= wanted:
                return list(found)[:wanted]
    return list(found)


def embedded(texts: Sequence[str]) -> Iterator[Any]:
    from memslot_embed_providers.universal.provider import UniversalProvider

    provider = UniversalProvider()
    for start in range(0, len(texts), 1000):
        yield numpy.asarray(provider.embed_documents(texts[start : start + 1000]))


def missed(count: int, folder: Path) -> list[Ratio]:
    """The share of the nearest rows that a trained vec1 does not give."""
    texts = paragraphs(count + 300)
    rows = unit(numpy.concatenate(list(embedded(texts[:-300]))))
    queries = unit(numpy.concatenate(list(embedded([" ".join(text.split()[:9]) for text in texts[-300:]]))))
    bench = Bench("vec1 trained", folder / "recall.sqlite", rows)
    found = 0
    seconds = []
    for query in queries:
        start = time.perf_counter()
        hits = {rowid for rowid, _ in bench.search(query.tobytes())}
        seconds.append(time.perf_counter() - start)
        found += len(hits & set((bare(rows, query) + 1).tolist()))
    bench.db.close()
    return [
        Ratio(
            f"vec1 trained misses, {len(rows):,} paragraphs",
            f"the exact {LIMIT}",
            len(queries),
            f"{statistics.median(seconds) * 1000:.2f} ms",
            1 - found / (LIMIT * len(queries)),
            0.02,
        )
    ]


def report(taken: Mapping[str, Sequence[float]], label: str) -> list[Ratio]:
    return [
        Ratio(
            f"{name}, {label}",
            f"{BASE} ({statistics.median(taken[BASE]) * 1000:.2f} ms)",
            len(taken[name]),
            f"{statistics.median(taken[name]) * 1000:.2f} ms",
            median_ratio(taken[name], taken[BASE]),
        )
        for name in ENGINES
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the vector engines against a bare matrix product, as ratios.")
    parser.add_argument("--quick", action="store_true", help="10,000 rows of 256 numbers only, 3 rounds")
    parser.add_argument("--rounds", type=int, help="another number of rounds")
    parser.add_argument("--recall", action="store_true", help="embed paragraphs and count what vec1 misses")
    parser.add_argument("--paragraphs", type=int, default=60_000, help="how many of them, if there are so many")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    options = parser.parse_args()
    rounds: int = options.rounds or (3 if options.quick else 7)
    sizes = [(10_000, 256)] if options.quick else [(10_000, 256), (100_000, 256), (10_000, 1536)]
    ratios: list[Ratio] = []
    everything: dict[str, list[float]] = {}
    facts: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for count, dims in sizes:
            label = f"{count:,} x {dims}"
            taken, more = measure(rounds, *clusters(count, dims), Path(folder), f"{count}x{dims}")
            ratios += report(taken, label)
            facts += more
            everything.update({f"{name}, {label}": seconds for name, seconds in taken.items()})
        if options.recall:
            ratios += missed(options.paragraphs, Path(folder))
    publish(ratios, everything, rounds=rounds, file=options.json)
    print("\n" + "\n".join(facts))


if __name__ == "__main__":
    main()
