"""Several processes at one store: some write, some read, one removes earlier versions under their feet.

This file is also each of those processes.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from memslot import EmbeddingPipeline, MemslotError, Selection
from memslot.testing import HashingProvider
from memslot_memory_lancedb.errors import ConcurrentChangeError
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.store import purge
from memslot_memory_lancedb.store.compaction import optimize

SECONDS = 6.0
GRACE_SECONDS = 2.0
"""Shorter than in life, so that versions are removed several times in this test."""


def open_memory(folder: Path) -> LanceMemory:
    provider = HashingProvider()

    def pick() -> tuple[EmbeddingPipeline, Selection]:
        return EmbeddingPipeline(provider), Selection(provider, provider.id, "asked for")

    (folder / "state").mkdir(parents=True, exist_ok=True)
    return LanceMemory(str(folder / "lancedb"), "main", pick, folder / "state")


def take_part(folder: Path, kind: str) -> None:
    """Do one thing again and again; say what was acknowledged and what failed."""
    purge.GRACE_SECONDS = GRACE_SECONDS
    memory = open_memory(folder)
    memory.search("warm up")
    print("ready", flush=True)
    sys.stdin.readline()
    done: list[Any] = []
    faults: list[str] = []
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        try:
            done.append(act(memory, kind))
        except ConcurrentChangeError:
            continue
        except MemslotError as error:
            faults.append(str(error))
    memory.close()
    print(json.dumps({"done": done, "faults": faults}), flush=True)


def act(memory: LanceMemory, kind: str) -> Any:
    if kind == "store":
        return memory.writer.keep(os.urandom(40).hex()).memory.id
    if kind == "search":
        return len(memory.search(os.urandom(8).hex()).hits)
    if kind == "optimize":
        done = optimize(memory.store, memory.embedder.identity, keep=timedelta(days=7), purge=True)
        return done.versions_removed if done is not None else 0
    table = memory.store.live()
    assert table is not None
    chosen, importance = random.choice(list(table.changes())), random.random()
    memory.writer.change(chosen, importance=importance)
    return [chosen, importance]


def test_nothing_is_lost_doubled_or_called_damaged(tmp_path: Path) -> None:
    seeded = open_memory(tmp_path)
    seeds = [seeded.writer.keep(os.urandom(40).hex()).memory.id for _ in range(8)]
    seeded.close()
    kinds = ["store", "update", "optimize", "optimize", "search"]
    crowd = [
        subprocess.Popen(
            [sys.executable, __file__, str(tmp_path), kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for kind in kinds
    ]
    for each in crowd:
        assert each.stdout is not None
        assert each.stdout.readline().strip() == "ready"
    for each in crowd:  # all at the same moment, before anybody is waited for
        print("go", file=each.stdin, flush=True)
    said = [json.loads(each.communicate()[0]) for each in crowd]

    faults = [fault for answer in said for fault in answer["faults"]]
    assert faults == []
    stored, updated, first, second, searched = (answer["done"] for answer in said)
    assert min(len(stored), len(updated), len(searched)) > 5
    assert sum(first) + sum(second) > 0, "no version was removed, so this shows nothing"
    memory = open_memory(tmp_path)
    table = memory.store.live()
    assert table is not None
    rows = table.handle.search().limit(100_000).to_arrow().to_pylist()
    assert sorted(row["id"] for row in rows) == sorted([*seeds, *stored])
    last = dict(updated)
    assert {row["id"]: row["importance"] for row in rows if row["id"] in last} == last
    memory.close()


if __name__ == "__main__":
    take_part(Path(sys.argv[1]), sys.argv[2])
