"""kill -9 at any moment leaves an index that is sound, and that the next sync makes right."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memslot_memory_core.index.store import IndexFile

from .index_worker import DigestProvider
from .index_world import Nursery, World, assert_like_fresh, check_whole

ROUNDS = int(os.environ.get("MEMSLOT_FAULT_ROUNDS", "20"))
ENGINES = ("sqlite-vec", "vec1", "numpy")
JOBS = ("first index", "changes", "forced rebuild", "other chunks", "other engine", "two at once")
_SHARE = {"first index": 0.16, "changes": 0.16, "forced rebuild": 0.16, "other chunks": 0.12, "other engine": 0.12}
"""Of all rounds; what is left of them are those killed at a chosen write. Only a process that was killed counts."""


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


def rounds_of(job: str) -> int:
    return max(1, round(ROUNDS * _SHARE.get(job, 0.08)))


class Round:
    """The settings of the process that is killed, as they change from round to round."""

    def __init__(self, world: World, job: str, seed: int) -> None:
        self.world = world
        self.job = job
        self.random = random.Random(seed)
        self.settings: dict[str, Any] = {"engine": "sqlite-vec", "tokens": 40}
        # Never twice the same: an index is not rebuilt back to settings that it has just left.
        self._sizes = (size + step for step in itertools.count() for size in (100, 41))

    def prepare(self) -> dict[str, Any]:
        """What happens before the process starts; gives its arguments."""
        world, force = self.world, False
        if self.job == "first index":
            world.delete_index()
            self.settings["engine"] = self.random.choice(ENGINES)
        elif self.job == "forced rebuild":
            force = True
        elif self.job == "other chunks":
            self.settings["tokens"] = next(self._sizes)
        elif self.job == "other engine":
            self.settings["engine"] = self.random.choice([e for e in ENGINES if e != self.settings["engine"]])
        if self.job != "first index" and self.random.random() < 0.7:
            world.edit()
        return {"folder": str(world.folder), "force": force, **self.settings}

    def verify(self, scratch: Path) -> None:
        check_whole(self.world.location.index_file)
        manager = self.world.manager(DigestProvider(), **self.settings)
        try:
            assert_like_fresh(self.world, manager, scratch, **self.settings)
            check_whole(self.world.location.index_file)
        finally:
            manager.close()


def ready(world: World, job: str, seed: int, scratch: Path) -> Round:
    made = Round(world, job, seed)
    made.verify(scratch)
    return made


@pytest.mark.parametrize("job", JOBS)
def test_a_process_killed_at_a_random_moment_loses_nothing(tmp_path: Path, nursery: Nursery, job: str) -> None:
    seed = JOBS.index(job)
    chance = random.Random(seed)
    this = ready(World(tmp_path / "world", seed), job, seed, tmp_path / "scratch")
    usual, killed, finished = 0.05, 0, 0
    while killed < rounds_of(job):
        arguments = this.prepare()
        children = [nursery.start("run_sync", **arguments) for _ in range(2 if job == "two at once" else 1)]
        time.sleep(chance.uniform(0.0, usual))
        codes = [nursery.end(child, kill=True) for child in children]
        if all(code == 0 for code in codes):  # it was through before the blow came
            finished += 1
            usual *= 0.9
        else:
            assert set(codes) <= {0, -9}
            killed += 1
            usual = min(0.5, usual * 1.05 + 0.0005)
        this.verify(tmp_path / "scratch")
        assert finished <= 10 + 2 * rounds_of(job), "most processes were through before they were killed"


def test_a_rebuild_killed_right_before_or_after_its_publication_leaves_a_live_index(
    tmp_path: Path, nursery: Nursery
) -> None:
    world = World(tmp_path / "world", 200, files=2)
    this = ready(world, "forced rebuild", 200, tmp_path / "scratch")
    arguments = {"folder": str(world.folder), "force": True, **this.settings}
    folder = world.location.index_file.parent
    shutil.copytree(folder, tmp_path / "before")

    def live_after(write: int) -> int:
        """The live generation when a rebuild of the very same index was killed at this write."""
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "before", folder)
        assert nursery.end(nursery.start("run_sync", die_at=write, **arguments)) in (0, -9)
        index = IndexFile(world.location.index_file)
        with index.snapshot() as snapshot:
            assert snapshot is not None, f"nothing is live when killed at write {write}"
            assert snapshot.generation.chunks > 0
            live = snapshot.generation.number
        index.close()
        return live

    old, last = live_after(1), 1
    while live_after(last) == old:
        last *= 2
    first = last // 2
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if live_after(middle) == old else (first, middle)
    lives = [live_after(write) for write in range(last - 5, last + 6)]
    assert set(lives) == {old, old + 1}
    this.verify(tmp_path / "scratch")


@pytest.mark.parametrize("job", JOBS[:-1])
def test_a_process_killed_at_any_of_its_writes_loses_nothing(tmp_path: Path, nursery: Nursery, job: str) -> None:
    seed = 100 + JOBS.index(job)
    chance = random.Random(seed)
    this = ready(World(tmp_path / "world", seed, files=8), job, seed, tmp_path / "scratch")
    most, killed = 64, 0
    while killed < max(1, round(ROUNDS * 0.04)):
        write = chance.randint(1, most)
        child = nursery.start("run_sync", die_at=write, **this.prepare())
        code = nursery.end(child)
        assert code in (0, -9)
        killed += code == -9
        most = max(8, most * 3 // 4) if code == 0 else most + most // 4
        this.verify(tmp_path / "scratch")
