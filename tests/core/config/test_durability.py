"""Writers that compete, die or run out of space never cost a person their config."""

from __future__ import annotations

import itertools
import os
import random
import resource
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyjson5
import pytest
from memslot.config.check import check_tree
from memslot.config.edit import set_value
from memslot.config.paths import Places
from memslot.config.problems import ConfigProblem
from memslot.config.starter import starter_config
from memslot.config.trust import trust_project, trusted_projects
from memslot.errors import ConfigError
from memslot.plugins.config_loader import parse_config
from memslot.storage.lock import file_lock

SCHEMA = parse_config({}, env={"MEMSLOT_HOME": "/nowhere"}).schema


def check(tree: Mapping[str, Any]) -> list[ConfigProblem]:
    return check_tree(tree, {}, SCHEMA).located(lambda finding: finding[1])


def forked(work: Callable[[], None]) -> int:
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


def test_two_processes_lose_none_of_each_others_keys(tmp_path: Path) -> None:
    path = tmp_path / "memslot.json5"
    path.write_text(starter_config())

    def writer(name: str) -> Callable[[], None]:
        def work() -> None:
            for number in range(50):
                set_value(path, f"plugins.entries.{name}.config.k{number}", number, check=check)

        return work

    children = [forked(writer("one")), forked(writer("two"))]
    assert [exit_code(child) for child in children] == [0, 0]
    entries = pyjson5.decode(path.read_text())["plugins"]["entries"]
    assert entries == {name: {"config": {f"k{n}": n for n in range(50)}} for name in ("one", "two")}
    assert "// The plugin that owns the memory" in path.read_text()


def test_two_processes_trusting_projects_lose_no_record(places: Places, home: Path) -> None:
    for name in ("a", "b"):
        for number in range(10):
            folder = home / f"{name}{number}/.memslot"
            folder.mkdir(parents=True)
            (folder / "memslot.json5").write_text("{}")

    def writer(name: str) -> Callable[[], None]:
        return lambda: [trust_project(home / f"{name}{number}", places) for number in range(10)] and None

    children = [forked(writer("a")), forked(writer("b"))]
    assert [exit_code(child) for child in children] == [0, 0]
    assert len(trusted_projects(places)) == 20


def test_killed_writer_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "memslot.json5"
    # Large enough that a write in place would often be caught half-way.
    padding = "".join(f"// {number} {'x' * 90}\n" for number in range(4000))
    path.write_text("{agents: {defaults: {contextWindow: 1000}}}\n" + padding)
    chance = random.Random(7)
    seen = set()

    ready, begun = os.pipe()

    def work() -> None:
        value = pyjson5.decode(path.read_text())["agents"]["defaults"]["contextWindow"]
        for round_ in itertools.count():
            set_value(path, "agents.defaults.contextWindow", value + round_ + 1, check=check)
            if round_ == 0:
                os.write(begun, b"x")

    for _ in range(30):
        child = forked(work)
        os.read(ready, 1)
        time.sleep(chance.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        assert exit_code(child) == -signal.SIGKILL
        text = path.read_text()
        assert text.endswith(padding)
        seen.add(pyjson5.decode(text)["agents"]["defaults"]["contextWindow"])
    assert len(seen) == 30
    for each in tmp_path.glob(".*.tmp"):
        os.utime(each, (1, 1))  # long ago, so that nobody can be writing it still
    assert set_value(path, "agents.defaults.contextWindow", 1000, check=check), "a dead writer's lock must not remain"
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".tmp"] == []


def test_full_disk_leaves_the_old_file_and_one_sentence(tmp_path: Path, in_child: Callable[..., str]) -> None:
    path = tmp_path / "memslot.json5"
    path.write_text(starter_config())

    def work() -> str:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
        with pytest.raises(ConfigError) as caught:
            set_value(path, "memory.citations", "off", check=check)
        return str(caught.value)

    said = in_child(work)
    assert "could not be written" in said
    assert "the old content is unchanged" in said
    assert "\n" not in said
    assert path.read_text() == starter_config()
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".tmp"] == []


@pytest.mark.usefixtures("modes_bind_root")
def test_folder_that_may_not_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "memslot.json5").write_text("{}")
    folder.chmod(0o555)
    with pytest.raises(ConfigError) as caught:
        set_value(folder / "memslot.json5", "memory.citations", "off", check=check)
    said = str(caught.value)
    assert "permissions" in said
    assert "\n" not in said
    assert (folder / "memslot.json5").read_text() == "{}"


def test_waiting_for_a_stuck_writer_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memslot.config.edit.LOCK_SECONDS", 0.3)
    path = tmp_path / "memslot.json5"
    path.write_text("{}")
    ready, go = os.pipe()

    def hold() -> None:
        with file_lock(tmp_path / ".memslot.json5.lock"):
            os.write(go, b"x")
            time.sleep(30)

    child = forked(hold)
    try:
        os.read(ready, 1)
        with pytest.raises(ConfigError, match="being changed by another process"):
            set_value(path, "memory.citations", "off", check=check)
    finally:
        os.kill(child, signal.SIGKILL)
        exit_code(child)
    assert set_value(path, "memory.citations", "off", check=check)
