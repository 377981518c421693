"""Writers that compete or are killed lose no message, tear no line and leave no registry behind that is half."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from memslot import Config, Places, SessionRecord, SessionStore
from memslot.agent.compaction import CompactionFlush
from memslot_importers.sessions import import_sessions

ROUNDS = int(os.environ.get("MEMSLOT_FAULT_ROUNDS", "20"))
PROCESSES, APPENDS = 8, 500
SAMPLES = Path(__file__).parents[1] / "plugins" / "importers" / "samples"


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a place: what is tested is the order of writes, not how fast the disk is."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None))
    yield made / "sessions"
    shutil.rmtree(made)


def forked(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child


def exit_code(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def one_more(record: SessionRecord) -> dict[str, int]:
    return {"inputTokens": record.input_tokens + 1}


def test_eight_processes_lose_no_message_and_no_update(folder: Path) -> None:
    """All of them write into one transcript and one registry entry; every second message is large."""

    def work(name: int) -> None:
        store = SessionStore(folder, "main")
        for number in range(APPENDS):
            store.append("shared", [{"role": "user", "content": f"{name}:{number}:" + "x" * (number % 2) * 9000}])
            store.update("shared", one_more)
            if number % 50 == 0:
                store.update(f"own-{name}", {"outputTokens": number})

    children = [forked(lambda name=name: work(name)) for name in range(PROCESSES)]  # type: ignore[misc]
    assert [exit_code(child) for child in children] == [0] * PROCESSES

    store = SessionStore(folder, "main")
    found = store.read("shared")
    assert found.problems == ()
    said = [entry.text.split(":") for entry in found.entries]
    assert len(said) == PROCESSES * APPENDS
    for name in range(PROCESSES):
        assert [int(number) for writer, number, _ in said if int(writer) == name] == list(range(APPENDS))
    assert len({entry.id for entry in found.entries}) == PROCESSES * APPENDS
    record = store.record("shared")
    assert record is not None
    assert record.input_tokens == PROCESSES * APPENDS
    assert {each.id for each in store.sessions()} == {"shared", *(f"own-{name}" for name in range(PROCESSES))}
    assert all(json.loads(line) for line in store.path_of("shared").read_text().splitlines())


def test_kill_at_any_moment_costs_at_most_the_line_that_was_not_acknowledged(folder: Path) -> None:
    chance = random.Random(11)
    acknowledged: list[str] = []
    store = SessionStore(folder, "main")
    updates = 0

    for round_ in range(ROUNDS):
        reader, writer = os.pipe()

        def work(round_: int = round_, writer: int = writer) -> None:
            mine = SessionStore(folder, "main")
            for number in itertools.count():
                # Long enough that a write that is not of one piece would be caught in its middle.
                text = f"{round_}.{number} " + "y" * 200_000
                mine.append("s", [{"role": "user", "content": text}])
                os.write(writer, f"a{round_}.{number}\n".encode())
                mine.update("s", one_more)
                os.write(writer, b"u\n")

        child = forked(work)
        os.close(writer)
        os.read(reader, 1)
        time.sleep(chance.uniform(0, 0.012))
        os.kill(child, signal.SIGKILL)
        assert exit_code(child) == -signal.SIGKILL
        with os.fdopen(reader, "rb") as pipe:
            told = ("a" + pipe.read().decode()).split()
        acknowledged += [each[1:] for each in told if each.startswith("a")]
        updates += told.count("u")

        record = store.record("s")
        assert store.problem() is None
        done = record.input_tokens if record else 0
        assert done - updates in (0, 1)  # one more where it was killed before it could say so
        updates = done
        if round_ % 20 == 19:
            found = store.read("s")
            names = [entry.text.split()[0] for entry in found.entries]
            assert set(acknowledged) <= set(names)
            assert len(names) == len(set(names))
            assert len(names) - len(acknowledged) <= round_ + 1
            assert len(found.broken) <= round_ + 1
            store.delete("s")
            acknowledged.clear()
            updates = 0
    SessionStore(folder, "main").begin("s", title="the lock of the dead is free, and what they left is gone")
    assert [each.name for each in folder.iterdir() if each.suffix == ".tmp"] == []


def test_kill_during_an_import_leaves_what_the_next_import_finishes(folder: Path) -> None:
    chance = random.Random(5)
    whole = SessionStore(folder.with_name("whole"), "main")
    import_sessions(whole, [SAMPLES])
    wanted = {each.id: (each.messages, each.title) for each in whole.sessions()}

    for _ in range(max(1, ROUNDS // 10)):
        shutil.rmtree(folder, ignore_errors=True)
        reader, writer = os.pipe()

        def work(writer: int = writer) -> None:
            os.write(writer, b"x")
            import_sessions(SessionStore(folder, "main"), [SAMPLES])

        child = forked(work)
        os.read(reader, 1)
        time.sleep(chance.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        exit_code(child)
        os.close(reader)
        os.close(writer)
        store = SessionStore(folder, "main")
        import_sessions(store, [SAMPLES])
        assert {each.id: (each.messages, each.title) for each in store.sessions()} == wanted


def test_one_process_of_many_gets_the_flush(folder: Path) -> None:
    places = Places.from_env({"MEMSLOT_HOME": str(folder)})
    (folder / "workspace").mkdir(parents=True)

    def work() -> None:
        if CompactionFlush(Config(), places, "main").begin("s", 190_000) is None:
            os._exit(3)

    codes = [exit_code(child) for child in [forked(work) for _ in range(8)]]

    assert sorted(codes) == [0] + [3] * 7
