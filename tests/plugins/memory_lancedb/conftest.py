"""Memories on a real LanceDB folder, with an embedder that needs no model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from memslot import EmbeddingPipeline, EmbeddingProvider, Host, Selection
from memslot.testing import HashingProvider, HostOpener
from memslot_memory_lancedb.embedding.embedder import Choose
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.recall.context import RecallLimits
from memslot_memory_lancedb.store import purge

MakeMemory = Callable[..., LanceMemory]


def choose(provider: EmbeddingProvider | None) -> Choose:
    """Use this provider, or none."""

    def pick() -> tuple[EmbeddingPipeline | None, Selection]:
        if provider is None:
            return None, Selection(None, "none", "asked for")
        return EmbeddingPipeline(provider), Selection(provider, provider.id, "asked for")

    return pick


@pytest.fixture(autouse=True)
def _no_writers_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """One process at a time here, so earlier versions can go without waiting."""
    monkeypatch.setattr(purge, "GRACE_SECONDS", 0.01)


@pytest.fixture
def make_memory(tmp_path: Path) -> Iterator[MakeMemory]:
    """Opens memories, all over one folder unless told otherwise, and closes them in the end."""
    opened: list[LanceMemory] = []

    def make(
        agent_id: str = "main",
        *,
        folder: Path = tmp_path,
        provider: EmbeddingProvider | None = None,
        without_provider: bool = False,
        location: str | None = None,
        **options: Any,
    ) -> LanceMemory:
        state = folder / "state"
        state.mkdir(parents=True, exist_ok=True)
        pick = choose(None if without_provider else provider or HashingProvider())
        options.setdefault("recall", RecallLimits(seconds=60.0))  # what a busy machine needs is not looked at here
        memory = LanceMemory(location or str(folder / "lancedb"), agent_id, pick, state, **options)
        opened.append(memory)
        return memory

    yield make
    for memory in opened:
        memory.close()


@pytest.fixture
def open_host(memslot_host: HostOpener) -> Callable[..., Host]:
    """A host with memory-lancedb in the slot and the zero-key embedder: `open_host(autoCapture=True)`."""

    def open_one(
        *plugins: Any, agent: str | None = None, strict: bool = True, agents: Any = None, **config: Any
    ) -> Any:
        settings = {"plugins": {"entries": {"memory-lancedb": {"config": config}}}}
        if agents is not None:
            settings["agents"] = agents
        wanted = ("memory-lancedb", *(plugins or ("embed-universal",)))
        return memslot_host(*wanted, config=settings, agent=agent, strict=strict)

    return open_one
