"""Forgotten text leaves the disk: at once where that is asked for, else with the history."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from memslot.testing import HashingProvider
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.store import purge
from memslot_memory_lancedb.store.versions import history

MakeMemory = Callable[..., LanceMemory]
SECRET = "Remember that the orchid in the hall is called heliotrope."


def files_with(folder: Path, word: str = "heliotrope") -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file() and word.encode() in each.read_bytes()]


def filled(memory: LanceMemory) -> Any:
    """A memory with the sentence among others, as it comes by a conversation; gives the sentence's."""
    for number in range(5):
        memory.keep(f"Harmless text number {number}.")
    (decision,) = memory.auto_capture.take("s1", [{"role": "user", "content": SECRET}])
    for number in range(5, 10):
        memory.keep(f"Harmless text number {number}.")
    return memory.store.get(decision.memory_id)


def test_forget_with_purge_leaves_no_byte_below_the_home(memslot_host: Any, tmp_path: Path) -> None:
    host = memslot_host("memory-lancedb", "embed-universal")
    ltm = host.plugin_commands("memory-lancedb")["ltm"]

    def run(*arguments: str, answer: str | None = None) -> Any:
        done = CliRunner().invoke(ltm, list(arguments), input=answer)
        assert done.exit_code == 0, done.output
        return done

    def add(text: str) -> str:
        return str(json.loads(run("add", text, "--json").stdout)["memory"]["id"])

    others = {add(text) for text in ("The violin lesson is on Thursday.", "I prefer tea.", "The kitchen is blue.")}
    first, second = add(SECRET), add("My dentist is called Dr. Novak.")

    kept = run("forget", second, "--yes")
    assert "7 days" in kept.output
    assert "memslot ltm optimize" in kept.output
    assert files_with(tmp_path, "Novak")

    asked = run("forget", first, "--purge", answer="y\n")
    assert "all earlier versions" in asked.output, "what goes with it is said before"
    assert "all earlier history" in asked.output
    assert files_with(tmp_path) == []
    assert files_with(tmp_path, "Novak") == []
    assert {each["id"] for each in json.loads(run("list", "--json").stdout)["memories"]} == others
    assert {each["memories"] for each in json.loads(run("history", "--json").stdout)["versions"]} == {3}


def test_nothing_is_left_of_what_was_captured_and_passed_over(make_memory: MakeMemory, tmp_path: Path) -> None:
    memory = make_memory()
    others = [f"Remember that my {thing} is blue." for thing in ("kitchen", "bicycle", "notebook")]
    said = [{"role": "user", "content": each} for each in (SECRET, *others)]
    memory.auto_capture.take("earlier", said)
    assert memory.log.latest(9)[0].rule == "limit", "three of that run were kept, and the sentence was not"
    kept = filled(memory)
    assert memory.forget("ltm/" + kept.id)
    assert files_with(tmp_path / "state") == []
    assert files_with(tmp_path / "lancedb"), "or the purge would have nothing to do"
    purge.purge(memory.store)
    assert files_with(tmp_path) == []
    assert memory.status().counts["memories"] == 13


def test_a_table_that_is_being_filled_for_another_embedder_loses_it_too(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    memory = make_memory()
    kept = filled(memory)
    identity = make_memory(provider=HashingProvider(dims=16)).embedder.identity
    assert identity is not None
    unfinished = memory.store.open(memory.store.make(2, identity))
    others = [each for each in memory.store.newest(3)[0] if each.id != kept.id]
    unfinished.put([replace(each, embedder="") for each in (kept, *others)], [None] * (1 + len(others)))
    memory.forget_all([kept])
    purge.purge(memory.store)
    assert files_with(tmp_path) == []
    assert unfinished.count() == len(others), "what is remembered is not embedded again"


def test_purge_on_forget_works_in_the_background_and_is_taken_up_after_a_kill(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    plain = make_memory()
    killed = filled(plain)
    plain.forget_all([killed])
    plain.close()
    memory = make_memory(purge_on_forget=True)
    memory.search("orchid")
    memory.maintenance.wait(30)
    assert files_with(tmp_path) == []

    kept = memory.keep("The tortoise is called heliotrope.").memory
    memory.maintenance.wait(30)
    assert memory.forget("ltm/" + kept.id)
    memory.maintenance.wait(30)
    assert memory.maintenance.problem is None
    assert files_with(tmp_path) == []


@pytest.mark.parametrize("days", [0, 7])
def test_forgotten_text_goes_when_the_history_expires(
    make_memory: MakeMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    monkeypatch.setattr(purge, "SLACK", timedelta(0))
    first = make_memory()
    first.forget_all([filled(first)])
    first.close()
    later = make_memory(history=timedelta(days=days))
    later.search("orchid")
    later.maintenance.wait(30)
    assert bool(files_with(tmp_path)) == (days == 7)
    assert bool(len(history(later.store)) > 4) == (days == 7)
    assert later.status().counts["memories"] == 10
