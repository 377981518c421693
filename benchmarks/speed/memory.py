"""How quickly a memory is searched, built and kept in step: ratios to peers that run in the same minutes.

    python benchmarks/speed/memory.py               1,000, 10,000 and 100,000 chunks
    python benchmarks/speed/memory.py --million     1,000,000 chunks as well: an hour, and 10 GB of disk
    python benchmarks/speed/memory.py --quick       1,000 chunks, few rounds
    python benchmarks/speed/memory.py --sizes 10000 other sizes
    python benchmarks/speed/memory.py --only search one part: search, build or sync; may be given again
    python benchmarks/speed/memory.py --json FILE   write the numbers, too

The notes are invented (see corpus.py, seed 7): ten chunks each, words used as unevenly as a language's are; questions
of 4 to 8 words from common to rare. Vectors come from a provider that costs next to nothing, so that what is measured
is the memory and not a model; the settings are the defaults. Peers:

- the reference's SQL: its two tables and statements (`vec_distance_cosine` over a join, an AND of all words), its
  merge, on a file with the same chunks and vectors;
- bare FTS5 + numpy: an OR of the words, `ORDER BY rank LIMIT 60`, and the product of the whole matrix with the query,
  its best 60: ids and scores, no texts, no ranking, no snippets.

All take turns, and all times are the processor's, on one core: a machine that others use, too, makes long steps wait
more than short ones. For a search the best of some rounds counts for each question; p50 and p95 are over questions.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from corpus import SEED, Language, Vectors, write_notes
from memory_footprint import measure_memory
from memory_index import measure_building, measure_no_change, measure_one_change
from memory_search import measure_search, open_memory
from ratios import Ratio, publish

PARTS = ("search", "build", "sync")
CHUNKS_EACH = 10
MOST_BUILT = 10_000
"""Chunks up to which the speed of building is measured; beyond that it takes minutes and says the same."""
SYNCED_FILES = 1000


def measure_size(
    size: int, parts: set[str], rounds: int, questions: int, taken: dict[str, list[float]], remarks: list[str]
) -> list[Ratio]:
    """Searching and building at one size."""
    ratios: list[Ratio] = []
    with tempfile.TemporaryDirectory() as name:
        folder, language = Path(name), Language(random.Random(SEED))
        write_notes(language, folder, max(1, size // CHUNKS_EACH), CHUNKS_EACH)
        if "build" in parts and size <= MOST_BUILT:
            ratios += measure_building(folder, min(rounds, 3), taken)
        if "search" in parts:
            memory = open_memory(folder, Vectors())
            memory.sync()
            memory.close()
            found, remark = measure_search(folder, language, size, rounds, questions, taken)
            ratios += [*found, measure_memory(folder, language, size)]
            remarks.append(remark)
    return ratios


def measure_sync(rounds: int, taken: dict[str, list[float]], *, quick: bool) -> list[Ratio]:
    language = Language(random.Random(SEED))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_notes(language, folder, SYNCED_FILES, 1)
        no_change = measure_no_change(folder, SYNCED_FILES, 3 * rounds, taken)
    with tempfile.TemporaryDirectory() as name:
        many = {"many": 1000} if quick else {}
        return [*no_change, *measure_one_change(Path(name), language, 3 * rounds, taken, **many)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the memory, as ratios.")
    parser.add_argument("--quick", action="store_true", help="1,000 chunks, few rounds")
    parser.add_argument("--million", action="store_true", help="1,000,000 chunks as well")
    parser.add_argument("--sizes", type=int, nargs="+", help="other numbers of chunks")
    parser.add_argument("--only", action="append", choices=PARTS, help="only this part; may be given again")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is imported
    sizes: list[int] = options.sizes or ([1_000] if options.quick else [1_000, 10_000, 100_000])
    if options.million:
        sizes.append(1_000_000)
    rounds, questions = (2, 10) if options.quick else (5, 40)
    parts = set(options.only or PARTS)
    taken: dict[str, list[float]] = {}
    remarks: list[str] = []
    ratios: list[Ratio] = []
    if parts & {"search", "build"}:
        for size in sizes:
            ratios += measure_size(size, parts, rounds, questions, taken, remarks)
    if "sync" in parts:
        ratios += measure_sync(rounds, taken, quick=options.quick)
    publish(ratios, taken, rounds=rounds, file=options.json, remark=f"; processor time; seed {SEED}")
    print()
    for remark in remarks:
        print(remark)


if __name__ == "__main__":
    main()
