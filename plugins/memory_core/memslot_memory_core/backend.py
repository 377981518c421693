"""The backend of the memory slot: the SQLite index, or QMD with that index as its fallback."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from typing import Protocol
from weakref import WeakValueDictionary

from memslot import (
    CanKeepFiles,
    CanList,
    CanRead,
    CanRefresh,
    CanRemember,
    MemorySearchOutcome,
    MemoryStatus,
    PluginContext,
    Session,
    real_path,
)

from memslot_memory_core.index.report import Progress, SyncReport
from memslot_memory_core.location import MemoryLocation
from memslot_memory_core.manager import MemoryManager
from memslot_memory_core.settings import SearchSettings, memory_settings, search_settings


class Backend(CanRefresh, CanRead, CanList, CanRemember, CanKeepFiles, Protocol):
    """The memory interface that tools, commands and hooks use."""

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        session: Session | None = None,
        explain: bool = False,
        fresh_seconds: float | None = None,
        snippet_chars: int | None = None,
    ) -> MemorySearchOutcome: ...

    def status(self, *, deep: bool = False) -> MemoryStatus: ...

    def close(self) -> None: ...

    def sync(
        self,
        *,
        force: bool = False,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
        wait_seconds: float = 60.0,
    ) -> SyncReport: ...

    def request_sync(self) -> None: ...

    def start_session(self) -> None: ...

    def start_watching(self) -> str:
        """Start indexing changes automatically; returns a sentence that says when."""
        ...

    def last_sync(self) -> SyncReport | None:
        """The last sync's report, if there is one."""
        ...


def backend_of(ctx: PluginContext) -> Backend:
    """The agent's memory, shared by all hooks of a host."""
    return ctx.shared("memory", lambda: _make_backend(ctx))


def manager_of(ctx: PluginContext) -> MemoryManager:
    """The SQLite index itself, whichever backend is active."""
    return ctx.shared("manager", lambda: _shared.acquire(ctx))


def _make_backend(ctx: PluginContext) -> Backend:
    if memory_settings(ctx).backend == "qmd":
        from memslot_memory_core.qmd.backend import make_qmd_backend

        return make_qmd_backend(ctx, lambda: manager_of(ctx), has_unmarked=has_unmarked(ctx))
    return manager_of(ctx)


class _SharedManagers:
    """Managers by agent, location and settings: two hosts in one process share one for the same memory.

    Other plugins' settings count too, as they may select another embedder. Settings are hashed because they contain API
    keys. Managers are held weakly.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: WeakValueDictionary[tuple[MemoryLocation, str], MemoryManager] = WeakValueDictionary()

    def acquire(self, ctx: PluginContext) -> MemoryManager:
        settings = search_settings(ctx)
        location = location_of(ctx, settings)
        config = ctx.host_config
        parts = json.dumps([settings.to_tree(), memory_settings(ctx).backend, config.plugins.to_tree()])
        key = (location, hashlib.sha256(parts.encode()).hexdigest())
        with self._lock:
            manager = self._made.get(key)
            if manager is None or not manager.acquire():
                manager = self._made[key] = MemoryManager(location, settings, lambda cache: ctx.pipeline(cache=cache))
            return manager


_shared = _SharedManagers()


def location_of(ctx: PluginContext, settings: SearchSettings) -> MemoryLocation:
    """Paths of this agent's notes, transcripts and index."""
    return MemoryLocation(
        ctx.agent_id,
        ctx.workspace,
        ctx.places.sessions_dir(ctx.agent_id),
        ctx.places.index_file(ctx.agent_id, ctx.workspace, settings.store.path),
        has_unmarked=has_unmarked(ctx),
    )


def has_unmarked(ctx: PluginContext) -> bool:
    """Whether transcripts without a workspace belong to this agent's workspace."""
    return real_path(ctx.workspace) == real_path(ctx.places.unmarked_workspace(ctx.agent_id))
