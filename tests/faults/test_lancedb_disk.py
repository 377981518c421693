"""A disk that is full, a folder that cannot be written, files that are broken: a clear sentence, and what can be saved.

This file is also the program that runs under such conditions: as a script it stores what it is told to.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from memslot import EmbeddingPipeline, MemslotError, Selection
from memslot.testing import HashingProvider
from memslot_memory_lancedb.commands import make_command
from memslot_memory_lancedb.errors import StoreDamagedError
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.settings import Settings
from memslot_memory_lancedb.store.recovery import diagnose

TEXTS = [
    f"Shelf {number} holds the {word}." for number, word in enumerate(("orchid", "violin", "lamp", "drum", "kite"))
]


def open_memory(folder: Path, agent_id: str = "main") -> LanceMemory:
    provider = HashingProvider()

    def pick() -> tuple[EmbeddingPipeline, Selection]:
        return EmbeddingPipeline(provider), Selection(provider, provider.id, "asked for")

    state = folder.parent / f"{folder.name}-state"
    state.mkdir(parents=True, exist_ok=True)
    return LanceMemory(str(folder), agent_id, pick, state)


def store_and_tell(folder: Path, condition: str) -> None:
    """Store texts until one fails; say how many went in, and why no more did."""
    CONDITIONS[condition]()
    texts = json.load(sys.stdin)
    memory, stored, said = open_memory(folder), 0, None
    try:
        for text in texts:
            memory.keep(text)
            stored += 1
    except MemslotError as error:
        said = str(error)
    memory.close()
    print(json.dumps({"stored": stored, "said": said}))


def search_and_tell(folder: Path, condition: str) -> None:
    """Search for each query, before and after upkeep has tried to write; say the best hits and the problems."""
    CONDITIONS[condition]()
    queries = json.load(sys.stdin)
    memory = open_memory(folder)
    first = [memory.search(query).hits[0].snippet for query in queries]
    memory.maintenance.wait(20)
    second = [memory.search(query).hits[0].snippet for query in queries]
    print(json.dumps({"first": first, "second": second, "problems": list(memory.status().problems)}))
    memory.close()


def no_condition() -> None:
    """As everyday life is."""


def small_files_only() -> None:
    """The kernel refuses to let a file grow, as it does where a quota is used up."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


def obey_modes() -> None:
    """Even root then: it gives up its right to write everywhere, and starts again without it."""
    if os.environ.get("OBEYS_MODES") != "1":
        drop_from_bounding_set, write_everywhere, read_everywhere = 24, 1, 2
        libc = ctypes.CDLL(None)
        for right in (write_everywhere, read_everywhere):
            libc.prctl(drop_from_bounding_set, right, 0, 0, 0)
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "OBEYS_MODES": "1"})


CONDITIONS = {"none": no_condition, "small files": small_files_only, "modes": obey_modes}


def run(folder: Path, texts: list[str], condition: str = "none", task: str = "store") -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, str(folder), condition, task],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    folder = tmp_path / "lancedb"
    memory = open_memory(folder)
    for text in TEXTS:
        memory.keep(text)
    memory.close()
    return folder


def read(folder: Path) -> set[str]:
    memory = open_memory(folder)
    table = memory.store.live()
    found = {each.text for each in table.scan()} if table is not None else set()
    memory.close()
    return found


class TestFullDisk:
    def test_a_limit_on_files(self, filled: Path) -> None:
        answer = run(filled, ["A new one that does not fit."], "small files")
        assert answer["stored"] == 0
        assert "is full: free some space" in answer["said"]
        assert read(filled) == set(TEXTS)
        assert run(filled, ["A new one that fits again."])["stored"] == 1
        assert read(filled) == {*TEXTS, "A new one that fits again."}

    @pytest.fixture
    def small_disk(self, tmp_path: Path) -> Iterator[Path]:
        place = tmp_path / "disk"
        place.mkdir()
        if os.geteuid() != 0:
            pytest.skip("only root can mount a small disk")
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], check=False)
        if made.returncode != 0:
            pytest.skip("no disk can be mounted here")
        yield place
        subprocess.run(["umount", "-l", place], check=True)

    def test_a_small_disk(self, small_disk: Path) -> None:
        folder = small_disk / "lancedb"
        texts = [f"Number {number}: {os.urandom(400).hex()}" for number in range(200)]
        answer = run(folder, texts)
        stored = answer["stored"]
        assert 3 < stored < 200
        assert "is full" in answer["said"]
        assert read(folder) == set(texts[:stored])
        subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
        assert run(folder, ["There is room again."])["stored"] == 1
        assert read(folder) == {*texts[:stored], "There is room again."}


class TestReadOnlyFolder:
    @pytest.fixture
    def read_only(self, filled: Path) -> Iterator[Path]:
        places = [filled, *(each for each in filled.rglob("*") if each.is_dir())]
        for place in places:
            place.chmod(0o500)
        yield filled
        for place in places:
            place.chmod(0o700)

    def test_it_is_said_and_reading_goes_on(self, read_only: Path) -> None:
        answer = run(read_only, ["A new one."], "modes")
        assert answer["stored"] == 0
        assert "is not accessible to this user" in answer["said"]
        assert read(read_only) == set(TEXTS)

    def test_a_store_of_an_older_version_is_searched_by_words_all_the_same(self, filled: Path) -> None:
        memory = open_memory(filled)
        table = memory.store.live()
        assert table is not None
        table.handle.drop_columns(["stems"])
        memory.close()
        places = [filled, *(each for each in filled.rglob("*") if each.is_dir())]
        for place in places:
            place.chmod(0o500)
        answer = run(filled, ["violins", "drums"], "modes", "search")
        for place in places:
            place.chmod(0o700)
        assert answer["first"] == answer["second"] == [TEXTS[1], TEXTS[3]]
        assert any("is not accessible" in problem for problem in answer["problems"])
        assert run(filled, ["kites"], "none", "search") == {"first": [TEXTS[4]], "second": [TEXTS[4]], "problems": []}

    def test_a_store_that_cannot_be_made(self, tmp_path: Path) -> None:
        place = tmp_path / "closed"
        place.mkdir()
        (tmp_path / "closed" / "lancedb-state").mkdir()
        place.chmod(0o500)
        answer = run(place / "lancedb", ["A new one."], "modes")
        place.chmod(0o700)
        assert "is not accessible to this user" in answer["said"]


def table_of(folder: Path) -> Path:
    return next(each for each in folder.iterdir() if each.name.startswith("memories_"))


def manifests(folder: Path) -> list[Path]:
    """Newest first: LanceDB numbers them backwards."""
    return sorted((table_of(folder) / "_versions").glob("*.manifest"))


def ltm(folder: Path, *arguments: str) -> tuple[int, str]:
    memory = open_memory(folder)
    result = CliRunner().invoke(
        make_command(memory, Settings(str(folder), memory.store.owner.agent_id)), list(arguments)
    )
    memory.close()
    return result.exit_code, result.output + (str(result.exception) if result.exception else "")


def spoil(file: Path, how: str) -> None:
    data = file.read_bytes()
    contents = {"garbage": b"\x00\xff garbage \xfe" * 100, "cut off": data[: len(data) // 2], "empty": b""}
    file.write_bytes(contents[how])


class TestBrokenFiles:
    @pytest.mark.parametrize("how", ["garbage", "cut off", "empty"])
    def test_the_newest_manifest(self, filled: Path, tmp_path: Path, how: str) -> None:
        """The version before is whole, and all but the last memory can be saved from it."""
        spoil(manifests(filled)[0], how)
        memory = open_memory(filled)
        with pytest.raises(StoreDamagedError, match="ltm doctor"):
            memory.search("orchid")
        with pytest.raises(StoreDamagedError, match="ltm doctor"):
            memory.keep("A new one, which must not make it worse.")
        assert any("ltm doctor" in problem for problem in memory.status().problems)
        memory.close()

        code, told = ltm(filled, "doctor")
        assert code == 1
        assert "4 memories can be read" in told
        saved = tmp_path / "saved.jsonl"
        assert ltm(filled, "doctor", "--save", str(saved))[0] == 1
        fresh = tmp_path / "fresh"
        assert ltm(fresh, "import", str(saved))[0] == 0
        assert read(fresh) == set(TEXTS[:-1])

    def test_every_manifest(self, filled: Path) -> None:
        for file in manifests(filled):
            spoil(file, "garbage")
        code, told = ltm(filled, "doctor", "--json")
        assert code == 1
        found = json.loads(told[: told.rindex("}") + 1])
        assert (found["sound"], found["savable"]) == (False, 0)
        assert "damaged" in found["tables"][0]["fault"]

    @pytest.mark.parametrize("how", ["garbage", "cut off", "gone"])
    def test_a_data_file(self, filled: Path, how: str) -> None:
        """Each of the five memories is in a file of its own: the other four are saved."""
        victim = sorted((table_of(filled) / "data").iterdir())[0]
        if how == "gone":
            victim.unlink()
        else:
            spoil(victim, how)
        memory = open_memory(filled)
        with pytest.raises(StoreDamagedError, match="ltm doctor"):
            memory.search("orchid")
        found = diagnose(memory.store)
        assert not found.is_sound
        assert len({each.text for each in found.memories()} & set(TEXTS)) == 4
        memory.close()

    @pytest.mark.parametrize("how", ["garbage", "cut off"])
    def test_the_catalogue(self, filled: Path, how: str) -> None:
        for file in (filled / "memslot_catalogue.lance").rglob("*"):
            if file.is_file():
                spoil(file, how)
        memory = open_memory(filled)
        with pytest.raises(StoreDamagedError, match="ltm doctor"):
            memory.search("orchid")
        found = diagnose(memory.store)
        assert found.fault is not None
        assert {each.text for each in found.memories()} == set(TEXTS)
        memory.close()

    def test_a_table_that_was_deleted(self, filled: Path) -> None:
        shutil.rmtree(table_of(filled))
        memory = open_memory(filled)
        with pytest.raises(StoreDamagedError, match="is gone"):
            memory.search("orchid")
        assert not diagnose(memory.store).is_sound
        memory.close()

    def test_the_doctor_reads_nothing_of_another_agent(self, filled: Path) -> None:
        other = open_memory(filled, "other")
        other.keep("The other agent's own.")
        assert {each.text for each in diagnose(other.store).memories()} == {"The other agent's own."}
        other.close()

    def test_a_whole_store(self, filled: Path) -> None:
        code, told = ltm(filled, "doctor")
        assert code == 0
        assert "every one of 5 memories can be read" in told


if __name__ == "__main__":
    {"store": store_and_tell, "search": search_and_tell}[sys.argv[3]](Path(sys.argv[1]), sys.argv[2])
