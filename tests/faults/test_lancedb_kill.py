"""kill -9 at any moment: what was acknowledged is there, and nothing is half there.

This file is also the program that is killed: run as a script it forks a worker for each line it is sent, so that
the second that Python needs to load LanceDB is paid once and not for each of hundreds of rounds.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from memslot import EmbeddingPipeline, Selection
from memslot.testing import HashingProvider
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.memory_record import CATEGORIES
from memslot_memory_lancedb.store import purge
from memslot_memory_lancedb.store.compaction import optimize

ROUNDS = int(os.environ.get("MEMSLOT_FAULT_ROUNDS", "20"))
"""In all, over every kind of work; `make test-slow` asks for more."""
KINDS = ("store", "update", "forget", "optimize", "everything")
SHARE = {"store": 0.25, "update": 0.2, "forget": 0.2, "optimize": 0.15, "everything": 0.2}
LONGEST_LIFE = 0.15
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def open_memory(folder: Path) -> LanceMemory:
    provider = HashingProvider()

    def pick() -> tuple[EmbeddingPipeline, Selection]:
        return EmbeddingPipeline(provider), Selection(provider, provider.id, "asked for")

    (folder / "state").mkdir(parents=True, exist_ok=True)
    return LanceMemory(str(folder / "lancedb"), "main", pick, folder / "state")


# The program that is killed


def forge() -> None:
    """Fork a worker for each order on stdin, and say its pid."""
    import lancedb  # noqa: F401
    import pyarrow  # type: ignore[import-untyped]  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies: a pid that is gone is gone
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                work(Path(order["folder"]), order["kind"], order["seed"])
            os._exit(1)
        print(pid, flush=True)


def work(folder: Path, kind: str, seed: int) -> None:
    """Write for ever; the journal says what was begun and what was acknowledged."""
    journal = os.open(folder / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(*entry: str) -> None:
        os.write(journal, (json.dumps(entry) + "\n").encode())

    purge.GRACE_SECONDS = 0.01  # nobody else writes here, and waiting is no moment worth being killed in
    dice = random.Random(seed)
    memory = open_memory(folder)
    table = memory.store.live()
    ids = [each.id for each in table.read()] if table is not None else []
    while True:
        step = dice.choice(KINDS[:4]) if kind == "everything" else kind
        text = f"{dice.getrandbits(160):x} {dice.getrandbits(160):x}"
        if len(ids) < (6 if step == "optimize" else 1):
            step = "store"
        if step == "store":
            note("begin", "store", text)
            kept = memory.writer.keep(text).memory
            note("done", "store", text, kept.id)
            ids.append(kept.id)
        elif step == "update":
            chosen = dice.choice(ids)
            note("begin", "update", text, chosen)
            memory.writer.change(chosen, text=text)
            note("done", "update", text, chosen)
        elif step == "forget":
            chosen = ids.pop(dice.randrange(len(ids)))
            note("begin", "forget", "", chosen)
            memory.writer.forget([chosen])
            note("done", "forget", "", chosen)
        else:
            note("begin", "optimize", "")
            optimize(memory.store, memory.embedder.identity, keep=timedelta(days=7), purge=dice.random() < 0.5)
            note("done", "optimize", "")


# The one who kills and looks


@dataclass
class Forge:
    process: subprocess.Popen[str]

    def start(self, folder: Path, kind: str, seed: int) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps({"folder": str(folder), "kind": kind, "seed": seed}), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def the_forge() -> Iterator[Forge]:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    yield Forge(process)
    process.kill()
    process.wait()


@dataclass
class Ledger:
    """What the store may hold: for each id the texts it may have, and None where it may be gone."""

    may_be: dict[str, set[str | None]] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    acknowledged: int = 0
    interrupted: int = 0
    _read: int = 0

    def take(self, journal: Path) -> None:
        """Read what the last worker wrote down; the line it died in was not finished and says nothing."""
        with contextlib.suppress(FileNotFoundError):
            lines = journal.read_bytes().split(b"\n")[:-1]
            entries = [json.loads(line) for line in lines[self._read :]]
            self._read = len(lines)
            for entry in entries:
                self._note(*entry)
            self.interrupted += bool(entries) and entries[-1][0] == "begin"

    def _note(self, state: str, step: str, text: str, memory_id: str = "") -> None:
        self.acknowledged += state == "done"
        if step == "store":
            self.begun.add(text)
            if state == "done":
                self.may_be[memory_id] = {text}
        elif step in ("update", "forget"):
            new = text if step == "update" else None
            if state == "begin":
                self.may_be.setdefault(memory_id, set()).add(new)
            else:
                self.may_be[memory_id] = {new}

    def compare(self, rows: list[dict[str, Any]]) -> None:
        """Hold the store against the ledger; what is there from now on is what must be there."""
        there = {row["id"]: row["text"] for row in rows}
        assert len(there) == len(rows), "an id is there twice"
        for memory_id, allowed in self.may_be.items():
            assert there.get(memory_id) in allowed, f"{memory_id}: {there.get(memory_id)!r} is none of {allowed}"
        strange = [text for memory_id, text in there.items() if memory_id not in self.may_be and text not in self.begun]
        assert not strange, f"nobody stored {strange}"
        self.may_be = {memory_id: {text} for memory_id, text in there.items()}


def rows_of(folder: Path) -> list[dict[str, Any]]:
    memory = open_memory(folder)
    table = memory.store.live()
    rows = table.handle.search().limit(10**6).to_arrow().to_pylist() if table is not None else []
    memory.close()
    return rows


def check_whole(rows: list[dict[str, Any]], provider: HashingProvider) -> None:
    """No row is half written: every column is there, and the vector is that of the text."""
    for row in rows:
        assert row["category"] in CATEGORIES
        assert (row["agentId"], row["importance"]) == ("main", 0.7)
        assert row["updatedAt"] >= row["createdAt"]
        (vector,) = provider.embed_documents([row["text"]])
        assert row["vector"] == pytest.approx(vector, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_any_moment(the_forge: Forge, tmp_path: Path, kind: str) -> None:
    dice = random.Random(KINDS.index(kind))
    ledger, provider = Ledger(), HashingProvider()
    seeded = open_memory(tmp_path)
    for number in range(8):
        kept = seeded.keep(f"{dice.getrandbits(160):x} seed {number}").memory
        ledger.may_be[kept.id] = {kept.text}
    seeded.close()
    for number in range(max(1, round(ROUNDS * SHARE[kind]))):
        pid = the_forge.start(tmp_path, kind, seed=1000 * KINDS.index(kind) + number)
        wait_for_more(tmp_path / "journal", seconds=20)
        if number == 0:  # one of them at least gets something done, however slow the machine is
            until = time.monotonic() + 20
            while b"done" not in (tmp_path / "journal").read_bytes() and time.monotonic() < until:
                time.sleep(0.01)
        time.sleep(dice.random() * LONGEST_LIFE)
        kill(pid)
        ledger.take(tmp_path / "journal")
        rows = rows_of(tmp_path)
        ledger.compare(rows)
        if number % 10 == 0:
            check_whole(rows, provider)
    check_whole(rows_of(tmp_path), provider)
    assert ledger.acknowledged, "no worker got as far as one acknowledged write"
    assert ledger.interrupted, "no worker was killed while it wrote"
    memory = open_memory(tmp_path)
    assert memory.keep("And the store still works.").action == "created"
    memory.close()


def wait_for_more(journal: Path, seconds: float) -> None:
    """Until the worker has begun something."""
    size = journal.stat().st_size if journal.exists() else 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if journal.exists() and journal.stat().st_size > size:
            return
        time.sleep(0.002)
    pytest.fail("the worker began nothing")


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.002)


if __name__ == "__main__":
    forge()
