"""The second part of `memory.py`: how long it takes to build an index and to keep it in step with the disk."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
from corpus import Language, Vectors, write_notes
from memory_search import open_memory
from memslot_memory_core.index.tokenizer import TOKENIZER
from memslot_memory_core.manager import MemoryManager
from ratios import Ratio, median_ratio

BATCH = 500
NEARLY_EQUAL = 1.25
"""A goal of "no more than", with room for what two measurements of the same thing differ by."""
FEW, MANY = 100, 10_000
WATCHED, WALKED = "one changed file, watched,", "one changed file, looked for,"


def seconds(step: Callable[[], Any]) -> float:
    start = time.process_time()
    step()
    return time.process_time() - start


def measure_building(folder: Path, rounds: int, taken: dict[str, list[float]]) -> list[Ratio]:
    """A first index of the notes below `folder`, beside inserts of the same chunks into one FTS5 table."""
    times: dict[str, list[float]] = {"with vectors": [], "without": [], "stored": [], "contentless": []}
    texts: list[tuple[int, str]] = []
    for _ in range(rounds):
        for name, provider in (("with vectors", Vectors()), ("without", None)):
            times[name].append(_build(folder, provider))
        if not texts:
            texts = _texts(folder / "built.sqlite")
        times["stored"].append(_insert(folder / "inserts.sqlite", texts, ""))
        times["contentless"].append(_insert(folder / "inserts.sqlite", texts, "content='', "))
    for name, each in times.items():
        taken[f"build, {name}, {len(texts)}"] = each

    def ratio(name: str, label: str, base: str, against: str, goal: float | None = None) -> Ratio:
        rate = f"{len(texts) / min(times[name]):,.0f} chunks/s"
        return Ratio(
            f"{label}, {len(texts):,} chunks", against, rounds, rate, min(times[name]) / min(times[base]), goal
        )

    return [
        ratio("without", "build without embedding", "stored", "inserts into FTS5", 2.0),
        ratio("without", "build without embedding", "contentless", "inserts into contentless FTS5"),
        ratio("with vectors", "build, vectors at no cost", "stored", "inserts into FTS5"),
    ]


def _build(folder: Path, provider: Vectors | None) -> float:
    _delete(folder / "built.sqlite")
    memory = open_memory(folder, provider, "built")
    taken = seconds(memory.sync)
    memory.close()
    return taken


def _texts(index: Path) -> list[tuple[int, str]]:
    db = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
    found = [(number, text) for number, text in db.execute("SELECT id, text FROM chunks_1 ORDER BY id")]
    db.close()
    return found


def _insert(file: Path, texts: list[tuple[int, str]], options: str) -> float:
    _delete(file)
    db = apsw.Connection(str(file))
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "normal")
    db.execute(f'CREATE VIRTUAL TABLE bare USING fts5(text, {options}tokenize="{TOKENIZER}")')

    def insert() -> None:
        for start in range(0, len(texts), BATCH):
            with db:
                db.executemany("INSERT INTO bare (rowid, text) VALUES (?, ?)", texts[start : start + BATCH])
        db.close()  # empties the log into the file, as a sync does at its end

    taken = seconds(insert)
    _delete(file)
    return taken


def _delete(file: Path) -> None:
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()


def measure_no_change(folder: Path, files: int, rounds: int, taken: dict[str, list[float]]) -> list[Ratio]:
    """A sync that finds nothing to do, beside walks that ask for the status of every file."""
    memory = open_memory(folder, None, "built")
    memory.sync()
    notes = str(folder / "memory")
    steps: dict[str, Callable[[], Any]] = {
        "stat walk": lambda: _stat_walk(notes),
        "stat walk, os.path.join": lambda: _joining_walk(notes),
        "no-change sync": memory.sync,
    }
    times: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 1):
        for name, step in steps.items():
            once = seconds(step)
            if number:
                times[name].append(once)
    memory.close()
    taken.update({f"{name}, {files}": each for name, each in times.items()})
    syncs = times.pop("no-change sync")
    shown = f"{statistics.median(syncs) * 1000:.1f} ms"
    return [
        Ratio(
            f"no-change sync, {files:,} files",
            name,
            rounds,
            shown,
            median_ratio(syncs, walks),
            3.0 if name == "stat walk" else None,
        )
        for name, walks in times.items()
    ]


def _stat_walk(folder: str) -> int:
    """The least that a look at every file can be."""
    return sum(
        os.stat(f"{parent}/{name}").st_size > 0  # noqa: PTH116  a Path would take several times as long
        for parent, _, names in os.walk(folder)
        for name in names
    )


def _joining_walk(folder: str) -> int:
    """The same as it is mostly written."""
    return sum(
        os.stat(os.path.join(parent, name)).st_size > 0  # noqa: PTH116, PTH118
        for parent, _, names in os.walk(folder)
        for name in names
    )


def measure_one_change(
    folder: Path, language: Language, rounds: int, taken: dict[str, list[float]], many: int = MANY
) -> list[Ratio]:
    """The sync after one note among many was changed, beside one among few.

    Told where, as the watcher tells it, a sync looks there alone; a sync that is told nothing looks at every file.
    """
    memories = {}
    for files in (FEW, many):
        workspace = folder / f"{files} notes"
        write_notes(language, workspace, files, 1)
        memories[files] = open_memory(workspace, Vectors())
        memories[files].sync()
    ways: dict[str, Callable[[MemoryManager, Path], Any]] = {
        WATCHED: lambda memory, note: memory.sync(near=[str(note)]),
        WALKED: lambda memory, _: memory.sync(),
    }
    times: dict[tuple[str, int], list[float]] = {(way, files): [] for way in ways for files in memories}
    # One way after the other: a walk over all files leaves the processor's caches to whoever comes next.
    for way, sync in ways.items():
        for number in range(rounds + 1):
            for files, memory in memories.items():
                note = memory.workspace / "memory" / "0000" / f"note-{number % FEW:06}.md"
                note.write_text(language.note(1000), encoding="utf-8")
                change = seconds(lambda sync=sync, memory=memory, note=note: sync(memory, note))
                time.sleep(0.06)  # a stamp that is too fresh would be looked at again
                sync(memory, note)
                if number:
                    times[way, files].append(change)
    for memory in memories.values():
        memory.close()
    taken.update({f"{way}, {files}": each for (way, files), each in times.items()})
    return [
        Ratio(
            f"{way} in {many:,}",
            f"in {FEW}",
            rounds,
            f"{statistics.median(times[way, many]) * 1000:.1f} ms",
            median_ratio(times[way, many], times[way, FEW]),
            goal,
        )
        for way, goal in ((WATCHED, NEARLY_EQUAL), (WALKED, None))
    ]
