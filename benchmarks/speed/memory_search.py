"""The first part of `memory.py`: how long a search takes, with words and vectors and with words alone."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from corpus import Language, Vectors
from memslot import EmbeddingPipeline, Selection
from memslot_memory_core.location import MemoryLocation
from memslot_memory_core.manager import MemoryManager
from memslot_memory_core.settings import SearchSettings
from peers import BareFile, ReferenceFile, rows_of
from ratios import Ratio

REFERENCE, BARE, BARE_WORDS = "reference's SQL", "bare FTS5 + numpy", "bare FTS5"
HYBRID, WORDS = "hybrid search", "keyword search"
GOALS = {10_000: 3.0, 100_000: 4.0}
REFERENCE_GOAL = 1 / 20


def open_memory(folder: Path, provider: Vectors | None, index: str = "index", **settings: Any) -> MemoryManager:
    """The memory of the notes below `folder`, embedded by `provider` or searched by words alone."""

    def make(cache: Any) -> tuple[EmbeddingPipeline | None, Selection]:
        if provider is None:
            return None, Selection(None, "none", "measured without vectors")
        return EmbeddingPipeline(provider, cache=cache), Selection(provider, provider.id, "measured with it")

    location = MemoryLocation("main", folder, folder / "sessions", folder / f"{index}.sqlite")
    return MemoryManager(location, SearchSettings.from_tree(settings), make)


def measure_search(
    folder: Path, language: Language, size: int, rounds: int, questions: int, taken: dict[str, list[float]]
) -> tuple[list[Ratio], str]:
    """Search times at one size: for each question the best of some rounds in which all take turns."""
    provider = Vectors()
    memory = open_memory(folder, provider)
    without = open_memory(folder, None)
    index = memory.location.index_file
    reference = ReferenceFile(folder / "reference.sqlite", rows_of(index), provider.dims)
    bare = BareFile(folder / "bare.sqlite", rows_of(index), provider.dims)
    asked = [language.question(4 + number % 5) for number in range(questions)]
    vectors = [provider.embed_query(question).tobytes() for question in asked]
    ways: dict[str, Callable[[int], Any]] = {
        BARE: lambda n: bare.search(asked[n], vectors[n]),
        HYBRID: lambda n: memory.search(asked[n], min_score=0.0),
        BARE_WORDS: lambda n: bare.words(asked[n]),
        WORDS: lambda n: without.search(asked[n], min_score=0.0),
    }
    _check(memory, without, asked[0])
    best = _best_of(ways, rounds, questions)
    # It is slow, and the same each time: a few questions tell.
    few = max(2, min(questions, 200_000 // size))
    best |= _best_of({REFERENCE: lambda n: reference.search(asked[n], vectors[n])}, 2, few)
    for name, times in best.items():
        taken[f"{name}, {size}"] = times
    ratios = [
        _ratio(HYBRID, REFERENCE, size, best, 0.5, REFERENCE_GOAL if size == 10_000 else None),
        _ratio(HYBRID, BARE, size, best, 0.5, GOALS.get(size)),
        _ratio(HYBRID, BARE, size, best, 0.95, None),
        _ratio(WORDS, BARE_WORDS, size, best, 0.5, None),
        _ratio(WORDS, BARE_WORDS, size, best, 0.95, None),
        _disk(size, index, reference.file),
    ]
    remark = _engine(memory, size)
    for each in (memory, without, reference, bare):
        each.close()
    return ratios, remark


def _best_of(ways: Mapping[str, Callable[[int], Any]], rounds: int, questions: int) -> dict[str, list[float]]:
    """For each question the shortest time of all rounds but the first, which fills caches."""
    best = {name: [float("inf")] * questions for name in ways}
    for number in range(rounds + 1):
        for question in range(questions):
            for name, way in ways.items():
                start = time.process_time()
                way(question)
                seconds = time.process_time() - start
                if number:
                    best[name][question] = min(best[name][question], seconds)
    return best


def _check(memory: MemoryManager, without: MemoryManager, question: str) -> None:
    """A search that is quick because a leg did not run would be no measurement."""
    for manager, mode in ((memory, "hybrid"), (without, "keywords")):
        outcome = manager.search(question, min_score=0.0)
        if outcome.mode != mode or outcome.warning or not outcome.hits:
            raise SystemExit(f"a search by {mode} was to be measured, and this came: {outcome}")


def _ratio(
    name: str, base: str, size: int, best: Mapping[str, Sequence[float]], quantile: float, goal: float | None
) -> Ratio:
    own, other = (_quantile(best[each], quantile) for each in (name, base))
    label = f"{name}, {size:,} chunks, p{quantile * 100:.0f}"
    return Ratio(label, base, len(best[name]), f"{own * 1000:.2f} ms", own / other, goal)


def _quantile(values: Sequence[float], quantile: float) -> float:
    if quantile == 0.5:
        return statistics.median(values)
    return sorted(values)[min(len(values) - 1, int(quantile * len(values)))]


def _disk(size: int, index: Path, reference: Path) -> Ratio:
    ours, theirs = _bytes(index), _bytes(reference)
    return Ratio(f"disk, {size:,} chunks", "reference's file", 1, f"{ours / 1e6:.1f} MB", ours / theirs)


def _bytes(file: Path) -> int:
    return sum(each.stat().st_size for each in (file, Path(f"{file}-wal")) if each.exists())


def _engine(memory: MemoryManager, size: int) -> str:
    details = memory.status().details
    return f"{size:,} chunks: vectors are searched by {details.get('engine')}"
