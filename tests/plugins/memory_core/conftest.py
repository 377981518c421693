from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from memslot import EmbeddingPipeline, EmbeddingProvider, Selection
from memslot.embeddings.circuit import circuits
from memslot.retrieval import background_texts
from memslot_memory_core.index.embeddings import EmbeddingStore
from memslot_memory_core.location import MemoryLocation
from memslot_memory_core.manager import MemoryManager
from memslot_memory_core.settings import SearchSettings

MakeManager = Callable[..., MemoryManager]
_BACKGROUND = frozenset(background_texts())


def own_texts(texts: Sequence[str]) -> list[str]:
    """Texts of a memory, without the background, which is embedded once for each provider."""
    return [text for text in texts if text not in _BACKGROUND]


def pipeline_maker(
    provider: EmbeddingProvider | None, *, sends_text_away: bool = False, requested: str | None = None
) -> Any:
    """What a manager asks for its embedder: this provider, in place of the requested one, or none."""

    def make(cache: EmbeddingStore) -> tuple[EmbeddingPipeline | None, Selection]:
        if provider is None:
            return None, Selection(None, requested or "none", "no provider in this test")
        name = requested or provider.id
        selection = Selection(provider, name, "named in this test", sends_text_away=sends_text_away)
        return EmbeddingPipeline(provider, cache=cache, concurrency=getattr(provider, "at_once", 4)), selection

    return make


def location_below(folder: Path, agent_id: str = "main") -> MemoryLocation:
    index_file = folder / "memory" / f"{agent_id}.sqlite"
    return MemoryLocation(agent_id, folder / agent_id, folder / "sessions" / agent_id, index_file, has_unmarked=True)


@pytest.fixture
def make_manager(tmp_path: Path) -> Iterator[MakeManager]:
    """Managers of a workspace in `tmp_path`, closed at the end; settings are given as in the config file."""
    made: list[MemoryManager] = []

    def make(
        provider: EmbeddingProvider | None = None,
        *,
        agent_id: str = "main",
        sends_text_away: bool = False,
        requested: str | None = None,
        **settings: Any,
    ) -> MemoryManager:
        location = location_below(tmp_path, agent_id)
        (location.workspace / "memory").mkdir(parents=True, exist_ok=True)
        chosen = SearchSettings.from_tree({"sync": {"watch": False, "onSearch": False}, **settings})
        maker = pipeline_maker(provider, sends_text_away=sends_text_away, requested=requested)
        manager = MemoryManager(location, chosen, maker)
        made.append(manager)
        return manager

    yield make
    for manager in made:
        manager.close()
    circuits.clear()
