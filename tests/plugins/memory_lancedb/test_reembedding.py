"""A change of embedder: the old table serves until the new one is whole, and nothing is lost on the way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from memslot import MemslotError
from memslot.testing import FailingProvider, HashingProvider
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.store import embedder_migration as module
from memslot_memory_lancedb.store.embedder_migration import is_due, may_start_automatically, reembed

MakeMemory = Callable[..., LanceMemory]
TEXTS = [
    f"Shelf {number} holds the {word}." for number, word in enumerate(("orchid", "violin", "lamp", "drum", "kite"))
]


class Other(HashingProvider):
    """Another model, with vectors of another length; told when it embeds, and where to wait."""

    model = "testing-other"

    def __init__(self, dims: int = 32) -> None:
        super().__init__(dims)
        self.before: Callable[[Sequence[str]], None] = lambda texts: None

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.before(texts)
        return super().embed_documents(texts)


def texts(memory: LanceMemory) -> set[str]:
    table = memory.store.live()
    assert table is not None
    return {each.text for each in table.scan()}


@pytest.fixture
def old(make_memory: MakeMemory) -> LanceMemory:
    memory = make_memory()
    for text in TEXTS:
        memory.keep(text)
    return memory


def test_it_happens_by_itself_and_search_is_by_meaning_again(old: LanceMemory, make_memory: MakeMemory) -> None:
    memory = make_memory(provider=Other())
    first = memory.search("violin")
    assert first.mode == "words"
    assert "is in use" in (first.warning or "")
    assert "violin" in first.hits[0].snippet
    memory.maintenance.wait(20)
    second = memory.search("violin")
    assert (second.mode, second.warning) == ("hybrid", None)
    assert "violin" in second.hits[0].snippet
    assert memory.status().is_healthy
    assert texts(memory) == set(TEXTS)
    table = memory.store.live()
    assert table is not None
    assert table.generation.number == 2
    assert table.generation.identity == memory.embedder.identity


def test_vectors_of_two_embedders_are_never_compared(old: LanceMemory, make_memory: MakeMemory) -> None:
    """Not even of the same length: equal dimensions say nothing about equal meaning."""
    same_length = Other(dims=64)
    memory = make_memory(provider=same_length)
    same_length.before = lambda texts: (_ for _ in ()).throw(MemslotError("not today"))
    assert memory.searcher.find("violin", 3).mode == "words"
    kept = memory.writer.keep("A new one.")
    assert kept.memory.embedder == ""


def test_the_old_table_serves_meanwhile(old: LanceMemory, make_memory: MakeMemory) -> None:
    provider, reached, go_on = Other(), threading.Event(), threading.Event()
    memory = make_memory(provider=provider)

    def wait(texts: Sequence[str]) -> None:
        reached.set()
        go_on.wait(20)

    provider.before = wait
    memory.maintenance.check_now()
    assert reached.wait(30.0)
    assert old.search("violin").mode == "hybrid"
    assert "violin" in old.search("violin").hits[0].snippet
    assert any("re-embedding" in problem for problem in memory.status().problems)
    go_on.set()
    memory.maintenance.wait(20)
    assert texts(memory) == set(TEXTS)


def test_what_others_do_meanwhile_is_not_lost(old: LanceMemory, make_memory: MakeMemory) -> None:
    """Rows that are added, changed and forgotten in the old table while the new one is being filled."""
    provider = Other()
    memory = make_memory(provider=provider)
    table = old.store.live()
    assert table is not None
    by_text = {each.text: each.id for each in table.scan()}
    done = threading.Event()

    def interfere(texts: Sequence[str]) -> None:
        if not done.is_set():
            done.set()
            old.writer.forget([by_text[TEXTS[0]]])
            old.writer.change(by_text[TEXTS[1]], text="Shelf 1 is empty now.")
            old.keep("Something new on shelf nine.")

    provider.before = interfere
    assert reembed(memory.store, memory.embedder) == 5
    assert texts(memory) == {*TEXTS[2:], "Shelf 1 is empty now.", "Something new on shelf nine."}
    assert memory.search("empty").mode == "hybrid"


def test_a_write_at_the_very_moment_of_the_change_is_not_lost(
    old: LanceMemory, make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the last look at the old table, before and after the new one goes live."""
    memory = make_memory(provider=Other())
    publish = memory.store.catalogue.publish

    def between(generation: Any) -> None:
        old.keep("Written just before.")
        publish(generation)
        old.keep("Written just after.")

    monkeypatch.setattr(memory.store.catalogue, "publish", between)
    reembed(memory.store, memory.embedder)
    assert texts(memory) == {*TEXTS, "Written just before.", "Written just after."}
    assert texts(old) == texts(memory)


def test_what_is_forgotten_in_the_new_table_stays_forgotten(
    old: LanceMemory, make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, third = make_memory(provider=Other()), make_memory(provider=Other())
    publish = memory.store.catalogue.publish

    def forget_at_once(generation: Any) -> None:
        publish(generation)
        found = third.store.live()
        assert found is not None
        third.writer.forget([each.id for each in found.scan() if each.text == TEXTS[2]])

    monkeypatch.setattr(memory.store.catalogue, "publish", forget_at_once)
    reembed(memory.store, memory.embedder)
    assert texts(memory) == set(TEXTS) - {TEXTS[2]}


def test_one_that_was_cut_short_is_taken_up_again(
    old: LanceMemory, make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 2)
    embedded: list[str] = []

    def fail_after_two(texts: Sequence[str]) -> None:
        if len(embedded) >= 2:
            raise MemslotError("the quota is used up")
        embedded.extend(texts)

    provider = Other()
    provider.before = fail_after_two
    memory = make_memory(provider=provider)
    with pytest.raises(MemslotError, match="quota"):
        reembed(memory.store, memory.embedder)
    assert old.search("violin").mode == "hybrid"

    provider.before = embedded.extend
    assert reembed(memory.store, memory.embedder) == len(TEXTS)
    assert sorted(embedded) == sorted(TEXTS), "each text was embedded once"


def test_a_provider_that_fails_leaves_the_old_table_alone(old: LanceMemory, make_memory: MakeMemory) -> None:
    memory = make_memory(provider=FailingProvider("wrong key"))
    assert "violin" in memory.search("violin").hits[0].snippet
    memory.maintenance.wait(20)
    assert any("wrong key" in problem for problem in memory.status().problems)
    assert old.search("violin").mode == "hybrid"


def test_back_to_the_embedder_before(old: LanceMemory, make_memory: MakeMemory) -> None:
    memory = make_memory(provider=Other())
    reembed(memory.store, memory.embedder)
    memory.keep("Added in between.")
    back = make_memory()
    assert may_start_automatically(back.store, back.embedder.identity)  # type: ignore[arg-type]
    reembed(back.store, back.embedder)
    assert back.search("between").mode == "hybrid"
    assert texts(back) == {*TEXTS, "Added in between."}


def test_two_machines_with_two_embedders_do_not_undo_each_other(old: LanceMemory, make_memory: MakeMemory) -> None:
    here, there = make_memory(), make_memory(provider=Other())
    there.store.machine = "another machine"
    assert is_due(there.store, there.embedder.identity)
    assert may_start_automatically(there.store, there.embedder.identity)  # type: ignore[arg-type]
    reembed(there.store, there.embedder)

    assert is_due(here.store, here.embedder.identity)
    assert not may_start_automatically(here.store, here.embedder.identity)  # type: ignore[arg-type]
    here.maintenance.check_now()
    here.maintenance.wait(30.0)
    assert here.search("violin").mode == "words"
    assert any("ltm optimize" in problem for problem in here.status().problems)
    kept = here.keep("Written by the machine that lags behind.")
    assert kept.action == "created"
    assert "lags" in there.search("which machine lags behind?").hits[0].snippet


def test_a_store_that_began_without_an_embedder_gets_vectors(make_memory: MakeMemory) -> None:
    words = make_memory(without_provider=True)
    for text in TEXTS:
        words.keep(text)
    assert words.search("violin").mode == "words"
    memory = make_memory()
    assert reembed(memory.store, memory.embedder) == len(TEXTS)
    assert memory.search("violin").mode == "hybrid"


def test_a_lost_catalogue_is_made_again(old: LanceMemory, make_memory: MakeMemory) -> None:
    old.store.database.drop_table("memslot_catalogue")
    memory = make_memory()
    assert texts(memory) == set(TEXTS)
    memory.keep("And one more.")
    assert texts(make_memory()) == {*TEXTS, "And one more."}
