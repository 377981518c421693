"""A plugin's view of the host, passed to every hook as `ctx`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from memslot.config.model import Config
    from memslot.config.paths import Places
    from memslot.config.search_model import MemorySearch
    from memslot.embeddings.cache import EmbeddingCache
    from memslot.embeddings.pipeline import EmbeddingPipeline
    from memslot.embeddings.query_rows import QueryRows
    from memslot.embeddings.selection import Selection
    from memslot.events import MemoryWritten, Session, WrittenBy
    from memslot.memory.contract import Memory
    from memslot.memory.stack import MemoryStack

Value = TypeVar("Value")


class PluginContext:
    """One plugin's view of the host: its own settings, the agent's places, and the shared embedders."""

    def __init__(
        self,
        plugin_id: str,
        *,
        config: Mapping[str, Any],
        agent_id: str,
        places: Places,
        host_config: Config,
        select_embedder: Callable[[MemorySearch | None], Selection],
        report: Callable[[str, str], object] | None = None,
        find_memories: Callable[[], MemoryStack] | None = None,
        tell_written: Callable[[MemoryWritten], None] | None = None,
        query_rows: QueryRows | None = None,
    ) -> None:
        self.plugin_id = plugin_id
        self.config = config
        self.agent_id = agent_id
        self.places = places
        self.host_config = host_config
        self.logger = logging.getLogger(f"memslot.plugin.{plugin_id}")
        self._select_embedder = select_embedder
        self._report = report
        self._find_memories = find_memories
        self._tell_written = tell_written
        self._query_rows = query_rows
        self._shared: dict[str, Any] = {}
        self._lock = threading.RLock()  # `make` may itself call `shared`

    @property
    def workspace(self) -> Path:
        """The folder that holds the agent's notes."""
        return self.host_config.workspace(self.agent_id, self.places)

    @property
    def memory_search(self) -> MemorySearch:
        """The agent's `memorySearch` settings, all layers merged; `written()` has keys that only plugins read, too."""
        return self.host_config.memory_search(self.agent_id)

    @property
    def memory(self) -> Memory | None:
        """The memory that owns the slot, or None; not available while plugins register."""
        return next((memory for _, memory in self.memories), None) if self.memories is not None else None

    @property
    def memories(self) -> MemoryStack | None:
        """All memories of the slot; empty while plugins register, None outside a host. Since host API 2."""
        return self._find_memories() if self._find_memories is not None else None

    def state_dir(self) -> Path:
        """A private folder for this plugin's own files; created on first use."""
        from memslot.storage.folder import make_private_dir

        folder = self.places.plugin_state_dir(self.plugin_id)
        make_private_dir(folder)
        return folder

    def report(self, stage: str, message: str) -> None:
        """Add a failure that was handled to the host's diagnostics; `stage` names the operation."""
        if self._report is None:
            self.logger.warning("%s: %s", stage, message)
        else:
            self._report(stage, message)

    def tell_written(
        self,
        text: str,
        *,
        path: str = "",
        session: Session | None = None,
        by: WrittenBy = "tool",
        memory_id: str | None = None,
    ) -> None:
        """Call other plugins' `memory_written`, after a write to this plugin's memory or another one.

        Since host API 2.
        """
        if self._tell_written is not None:
            from memslot.events import MemoryWritten

            self._tell_written(MemoryWritten(memory_id or self.plugin_id, text, path, session, by))

    def shared(self, key: str, make: Callable[[], Value]) -> Value:
        """Return an object that this plugin's hooks share, such as its store; created once per host."""
        with self._lock:
            if key not in self._shared:
                self._shared[key] = make()
            value: Value = self._shared[key]
            return value

    def select_embedder(self, settings: MemorySearch | None = None) -> Selection:
        """Select an embedding provider by the agent's settings, or by those given; the result says why."""
        return self._select_embedder(settings)

    def pipeline(
        self, settings: MemorySearch | None = None, cache: EmbeddingCache | None = None
    ) -> tuple[EmbeddingPipeline | None, Selection]:
        """Select a provider and create a pipeline for it; None if search must use keywords only."""
        selection = self.select_embedder(settings)
        if selection.provider is None:
            return None, selection
        from memslot.embeddings.pipeline import EmbeddingPipeline

        return EmbeddingPipeline(selection.provider, cache=cache, query_rows=self._query_rows), selection

    def __repr__(self) -> str:
        return f"<PluginContext {self.plugin_id} agent={self.agent_id}>"
