"""Whatever an embedding provider does, the memory can be searched, and says what is missing."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from memslot import EmbeddingPipeline, ProviderError, Selection
from memslot.embeddings.circuit import circuits
from memslot.testing.providers import HangingProvider
from memslot_memory_core.manager import MemoryManager
from memslot_memory_core.settings import SearchSettings

from .index_worker import DigestProvider
from .index_world import QUERIES, World, assert_like_fresh, wait_until


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "world", seed=21, files=8)


class Raising(DigestProvider):
    """Has a bug: raises what no provider should raise."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error: BaseException | None = error

    def embed_query(self, text: str) -> list[float]:
        if self.error is not None:
            raise self.error
        return super().embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if self.error is not None:
            raise self.error
        return super().embed_documents(texts)


ERRORS = [ValueError("odd"), KeyError("data"), RecursionError("deep"), SystemExit(3), MemoryError(), OSError(5, "gone")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_bug_in_a_provider_costs_the_vectors_and_not_the_search(
    world: World, tmp_path: Path, error: BaseException
) -> None:
    provider = Raising(error)
    manager = world.manager(provider)
    try:
        report = manager.sync()
        assert any("embedding stopped" in problem for problem in report.problems)
        outcome = manager.search(QUERIES[0])
        assert outcome.hits
        assert outcome.mode == "keywords"
        assert "digest" in (outcome.warning or "")
        status = manager.status(deep=True)
        assert not status.is_healthy
        assert status.details["probes"]["embedding"]
        provider.error = None
        assert_like_fresh(world, manager, tmp_path / "scratch")
    finally:
        manager.close()


@pytest.mark.parametrize("error", [ValueError("odd"), OSError(2, "no such model")], ids=["bug", "file"])
def test_a_provider_that_cannot_even_be_made_costs_the_vectors_only(world: World, error: Exception) -> None:
    def make(cache: Any) -> tuple[EmbeddingPipeline | None, Selection]:
        raise error

    settings = SearchSettings.from_tree({"sync": {"watch": False, "onSearch": False}})
    manager = MemoryManager(world.location, settings, make)
    try:
        manager.sync()
        assert manager.search(QUERIES[0]).hits
        assert any(type(error).__name__ in problem for problem in manager.status(deep=True).problems)
    finally:
        manager.close()


class Picky(DigestProvider):
    """Gives a vector of another length, or an error, for some texts."""

    def __init__(self, word: str, error: Exception | None = None) -> None:
        super().__init__()
        self.word = word
        self.error = error

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if self.error is not None and any(self.word in text for text in texts):
            raise self.error
        rows = super().embed_documents(texts)
        return [row[:-1] if self.word in text else row for text, row in zip(texts, rows, strict=True)]


def test_vectors_of_another_length_for_some_texts_stay_out(world: World, tmp_path: Path) -> None:
    provider = Picky("garakim")
    manager = world.manager(provider)
    try:
        report = manager.sync()
        assert any("digest" in problem for problem in report.problems)
        assert manager.search(QUERIES[0]).hits
        manager.sync()
        counts = manager.status().counts
        assert counts["chunks"] == counts["words"]
        assert 0 <= counts["vectors"] < counts["chunks"]
        assert not manager.status(deep=True).is_healthy
        provider.word = "nowhere to be found"
        circuits._open.clear()  # a minute has passed
        assert manager.sync(force=True).rebuilt, "it is asked again when a person says so"
        assert_like_fresh(world, manager, tmp_path / "scratch")
    finally:
        manager.close()


def test_a_text_that_the_provider_never_takes_does_not_keep_the_others_from_their_vectors(world: World) -> None:
    poison = world.location.workspace / "memory" / "a-first.md"
    poison.write_text("This text is poison to the provider.\n")
    manager = world.manager(Picky("poison", ProviderError("the provider does not take this text")))
    try:
        manager.sync()
        manager.sync()
        counts = manager.status().counts
        assert counts["chunks"] - counts["vectors"] == 1
    finally:
        manager.close()


@pytest.mark.parametrize("where", ["background", "foreground"])
def test_closing_does_not_wait_for_a_provider_that_hangs(world: World, where: str) -> None:
    before = set(threading.enumerate())
    provider = HangingProvider()
    manager = world.manager(provider)
    if where == "background":
        manager.request_sync()
        syncing = None
    else:
        syncing = threading.Thread(target=manager.sync)
        syncing.start()
    assert provider.started.wait(30)
    manager.close()
    if syncing is not None:
        syncing.join(30)
        assert not syncing.is_alive()
    provider.release()  # not before: it hung all the time
    assert wait_until(lambda: not any(each.name == "memslot task sync" for each in set(threading.enumerate()) - before))


def test_closing_does_not_wait_for_a_provider_that_is_being_made(world: World) -> None:
    begun, go_on = threading.Event(), threading.Event()
    made: list[EmbeddingPipeline] = []

    def make(cache: Any) -> tuple[EmbeddingPipeline | None, Selection]:
        begun.set()
        go_on.wait(60)
        provider = DigestProvider()
        made.append(EmbeddingPipeline(provider, cache=cache))
        return made[0], Selection(provider, provider.id, "named in this test")

    settings = SearchSettings.from_tree({"sync": {"watch": False}})
    manager = MemoryManager(world.location, settings, make)
    manager.request_sync()
    assert begun.wait(30)
    manager.close()
    assert not made
    go_on.set()
    assert wait_until(lambda: bool(made) and made[0]._closed)


def test_a_hanging_provider_does_not_keep_a_search_from_its_words(world: World) -> None:
    provider = HangingProvider()
    provider.query_timeout = 0.3
    provider.batch_timeout = 0.3
    manager = world.manager(provider)
    try:
        manager.request_sync()
        assert provider.started.wait(30)
        outcome = manager.search(QUERIES[0])
        assert outcome.mode in ("keywords", "unavailable")
        assert outcome.warning
    finally:
        manager.close()
        provider.release()


def test_a_closed_manager_says_so(world: World) -> None:
    manager = world.manager(DigestProvider())
    manager.sync()
    manager.close()
    assert "closed" in (manager.search(QUERIES[0]).warning or "")
    assert any("closed" in problem for problem in manager.status(deep=True).problems)
    manager.request_sync()
    manager.start_session()
    manager.close()
