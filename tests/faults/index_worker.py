"""Does work on an index in processes that can be killed. Run as a script it is a nursery: it has everything imported,
and forks a child for each line it reads, so that a killed child costs milliseconds and not a start of Python."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw
from memslot import EmbeddingPipeline, MemslotError, Selection
from memslot_memory_core.index.embeddings import EmbeddingStore
from memslot_memory_core.location import MemoryLocation
from memslot_memory_core.manager import MemoryManager
from memslot_memory_core.settings import SearchSettings


class DigestProvider:
    """Quick and always the same: a text's vector is its digest."""

    max_input_tokens = 8192

    def __init__(self, name: str = "digest", dims: int = 16) -> None:
        self.id = name
        self.model = f"{name}-model"
        self.dims = dims
        self.texts = 0

    def embed_query(self, text: str) -> list[float]:
        return self._embed(text)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += len(texts)
        return [self._embed(text) for text in texts]

    def _embed(self, text: str) -> list[float]:
        digest = hashlib.blake2b(f"{self.id} {text}".encode(), digest_size=self.dims).digest()
        return [byte - 127.5 for byte in digest]


def location_below(folder: Path) -> MemoryLocation:
    return MemoryLocation(
        "main", folder / "main", folder / "sessions", folder / "index" / "main.sqlite", has_unmarked=True
    )


def make_manager(
    location: MemoryLocation,
    provider: Any = None,
    *,
    engine: str = "auto",
    tokens: int = 40,
    sends_text_away: bool = False,
    extension: str | None = None,
    **settings: Any,
) -> MemoryManager:
    """A manager of notes and transcripts, with small chunks so that little text makes many rows."""

    def pipeline(cache: EmbeddingStore) -> tuple[EmbeddingPipeline | None, Selection]:
        if provider is None:
            return None, Selection(None, "none", "no provider in this test")
        selection = Selection(provider, provider.id, "named in this test", sends_text_away=sends_text_away)
        return EmbeddingPipeline(provider, cache=cache), selection

    vector: dict[str, Any] = {"engine": engine}
    if extension is not None:
        vector["extensionPath"] = extension
    chosen = {
        "sources": ["memory", "sessions"],
        "experimental": {"sessionMemory": True},
        "chunking": {"tokens": tokens, "overlap": 0},
        "sync": {"watch": False, "onSearch": False},
        "query": {"minScore": 0.0},
        "store": {"vector": vector},
        **settings,
    }
    return MemoryManager(location, SearchSettings.from_tree(chosen), pipeline)


def provider_named(name: str | None) -> DigestProvider | None:
    return None if name is None else DigestProvider(name)


# What a child does


def run_sync(
    folder: str, *, provider: str | None = "digest", engine: str = "auto", tokens: int = 40, force: bool = False
) -> None:
    manager = make_manager(location_below(Path(folder)), provider_named(provider), engine=engine, tokens=tokens)
    manager.sync(force=force, wait_seconds=20.0)
    manager.close()


def run_searches(folder: str, answers: str, query: str, stop: str) -> None:
    """Search three times at least, until the file `stop` is there; what was wrong goes into the file `answers`."""
    manager = make_manager(location_below(Path(folder)), DigestProvider())
    wrong: list[str] = []
    lengths: dict[int, int] = {}
    while not Path(stop).exists() or sum(lengths.values()) + len(wrong) < 3:
        outcome = manager.search(query, max_results=50)
        # The extra notes that come in meanwhile have one line, whatever the size of chunks.
        here = {hit.end_line - hit.start_line + 1 for hit in outcome.hits if "extra" not in hit.path}
        # Whoever wants one line a chunk is told while the index is one of two lines, and only then.
        is_told = "rebuilt with other settings" in (outcome.warning or "")
        if outcome.mode != "hybrid" or not here or bool(outcome.warning) != is_told or is_told != (here == {2}):
            wrong.append(f"{outcome.mode}: {len(outcome.hits)} hits, {outcome.warning}; {outcome.stale}")
        elif len(here) != 1:
            wrong.append(f"chunks of two generations in one answer: {sorted(here)} lines")
        for length in here:
            lengths[length] = lengths.get(length, 0) + 1
    Path(answers).write_text(json.dumps({"lengths": lengths, "wrong": wrong[:20]}))
    manager.close()


def run_syncs(folder: str, stop: str, tokens: int) -> None:
    """Write a note and take it up, until told to stop."""
    manager = make_manager(location_below(Path(folder)), DigestProvider(), tokens=tokens)
    times = 0
    while not Path(stop).exists():
        times += 1
        (manager.workspace / "memory" / f"extra{times % 5}.md").write_text(f"Something else, time {times}.\n")
        manager.sync(wait_seconds=60.0)
        time.sleep(0.2)  # the lock is not handed out in turn
    manager.close()


def run_rebuilds(folder: str, stop: str, sizes: Sequence[int]) -> None:
    """Build the index anew with one chunk size after the other, until told to stop."""
    times = 0
    while not Path(stop).exists():
        times += 1
        manager = make_manager(location_below(Path(folder)), DigestProvider(), tokens=sizes[times % len(sizes)])
        manager.sync(force=True, wait_seconds=60.0)
        manager.close()


def run_within(folder: str, most_bytes: int, answer: str) -> None:
    """Sync and search where no file may become larger than so many bytes, as on a full disk."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    manager = make_manager(location_below(Path(folder)), DigestProvider())
    said = ""
    try:
        manager.sync()
    except MemslotError as error:
        said = str(error)
    outcome = manager.search("balova limetto")
    problems = list(manager.status(deep=True).problems)
    manager.close()
    told = {"sync": said, "mode": outcome.mode, "hits": len(outcome.hits), "problems": problems[:3]}
    Path(answer).write_text(json.dumps(told))


def run_measured(folder: str, query: str, told: str) -> None:
    """Sync with chunks of the usual size and search; how much memory that took at its peak goes into `told`."""
    import resource

    manager = make_manager(location_below(Path(folder)), tokens=400)
    report = manager.sync()
    snippets = [hit.snippet for hit in manager.search(query, fresh_seconds=0.0).hits]
    remarks = manager.status().details["remarks"]
    manager.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    answer = {"complete": report.complete, "snippets": snippets, "remarks": remarks, "peak": peak}
    Path(told).write_text(json.dumps(answer))


def hold_lock(folder: str, stop: str, exclusive: bool) -> None:
    """Keep the index locked as another program might, until told to let go."""
    db = apsw.Connection(str(location_below(Path(folder)).index_file))
    if exclusive:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("BEGIN IMMEDIATE")
    Path(f"{stop}.held").touch()
    while not Path(stop).exists():
        time.sleep(0.01)
    db.execute("ROLLBACK")
    db.close()


JOBS: dict[str, Callable[..., None]] = {
    job.__name__: job for job in (run_sync, run_searches, run_syncs, run_rebuilds, run_within, run_measured, hold_lock)
}


class FaultyFile(apsw.VFSFile):  # type: ignore[misc]
    """A file of which every write, and every sync, goes through `step` first."""

    def __init__(self, name: Any, flags: Any, step: Callable[[], None]) -> None:
        super().__init__("unix", name, flags)
        self._step = step

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  SQLite's name
        self._step()
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802  SQLite's name
        self._step()
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802  SQLite's name
        self._step()
        super().xSync(flags)


class FaultyFiles(apsw.VFS):  # type: ignore[misc]
    """SQLite's way to the disk, with a step of ours before each change."""

    def __init__(self, step: Callable[[], None]) -> None:
        super().__init__("faulty", "unix")
        self._step = step

    def xOpen(self, name: Any, flags: Any) -> FaultyFile:  # noqa: N802  SQLite's name
        return FaultyFile(name, flags, self._step)


def die_at(write: int) -> FaultyFiles:
    """Kill this process right before its n-th write to the database."""
    left = write

    def step() -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    files = FaultyFiles(step)
    apsw.set_default_vfs("faulty")
    return files


def _child(order: dict[str, Any]) -> None:
    code = 1
    try:
        files = die_at(order["die_at"]) if order.get("die_at") else None
        os.write(1, f"started {os.getpid()}\n".encode())
        JOBS[order["job"]](**order["arguments"])
        del files
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _nursery() -> None:
    import filelock
    import numpy
    import sqlite_vec  # type: ignore[import-untyped]
    from apsw import sqlite_extra  # type: ignore[attr-defined]

    del filelock, numpy, sqlite_vec, sqlite_extra
    for line in sys.stdin.buffer:
        order = json.loads(line)
        if "reap" in order:
            _, status = os.waitpid(order["reap"], 0)
            os.write(1, f"ended {os.waitstatus_to_exitcode(status)}\n".encode())
        elif os.fork() == 0:
            with contextlib.suppress(BaseException):
                os.close(0)
            _child(order)


if __name__ == "__main__":
    _nursery()
