"""Faults of the index as an agent meets them: through tools and hooks, which answer and never raise."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from memslot import Host

CONFIG: dict[str, Any] = {
    "plugins": {"slots": {"memory": "memory-core"}},
    "agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"watch": False}}}},
}


def load(home: Path) -> Host:
    return Host.load(CONFIG, home=home, env={"MEMSLOT_LOAD_PLUGINS": "memory-core", "MEMSLOT_STRICT_PLUGINS": "1"})


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with load(tmp_path) as made:
        assert made.call_tool("memory_write", {"text": "The lighthouse is red."}).data["written"]
        assert found(made), "written and indexed"
        yield made


def found(host: Host) -> list[Any]:
    answer = host.call_tool("memory_search", {"query": "lighthouse"})
    results: list[Any] = answer.data["results"]
    return results


def index_file(host: Host) -> Path:
    assert host.memory is not None
    return Path(host.memory_status().details["indexFile"])


def test_two_hosts_of_one_home_share_one_memory(tmp_path: Path, host: Host) -> None:
    with load(tmp_path) as other:
        assert other.memory is host.memory
        assert found(other)
    assert found(host), "the first still has it when the second has closed"


def delete(file: Path) -> None:
    file.unlink()


def cut(file: Path) -> None:
    os.truncate(file, 5000)


def garble(file: Path) -> None:
    file.write_bytes(b"this is no database at all\n" * 1000)
    Path(f"{file}-wal").write_bytes(b"")


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("damage", [delete, cut, garble, replace_by_folder])
def test_tools_and_hooks_answer_whatever_became_of_the_index(host: Host, damage: Callable[[Path], None]) -> None:
    damage(index_file(host))
    with host.run("what colour has the lighthouse?") as run:
        answer = run.call_tool("memory_search", {"query": "lighthouse"})
        assert not answer.is_error
        assert answer.data["results"] or answer.data.get("warning") or answer.data.get("stale")
        assert not run.call_tool("memory_get", {"path": "MEMORY.md"}).is_error
        assert not run.call_tool("memory_write", {"text": "The windmill is white."}).is_error
    host.memory_status()
    if damage is not replace_by_folder:
        assert found(host), "the notes are all there, so the index is, too"


def test_a_home_that_vanishes_is_a_sentence_and_no_exception(tmp_path: Path, host: Host) -> None:
    hidden = tmp_path.rename(tmp_path.with_name("hidden"))
    try:
        with host.run("what colour has the lighthouse?") as run:
            answer = run.call_tool("memory_search", {"query": "lighthouse"})
            assert answer.data.get("warning") or answer.data.get("stale")
        assert host.memory_status().problems
    finally:
        if tmp_path.exists():
            import shutil

            shutil.rmtree(tmp_path)
        hidden.rename(tmp_path)
    assert found(host)
