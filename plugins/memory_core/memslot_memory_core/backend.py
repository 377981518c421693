"""What answers for the memory slot: the index in SQLite, or the QMD program with that index behind it."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from typing import Protocol
from weakref import WeakValueDictionary

from memslot import CanList, CanRead, CanRefresh, CanRemember, MemorySearch, PluginContext, real_path

from memslot_memory_core.index.report import Progress, SyncReport
from memslot_memory_core.location import Place
from memslot_memory_core.manager import MemoryManager
from memslot_memory_core.searchable import Searchable


class Backend(Searchable, CanRefresh, CanRead, CanList, CanRemember, Protocol):
    """The memory as tools, commands and hooks use it."""

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
        """Take up changes from now on; tells in words when."""
        ...

    def last_sync(self) -> SyncReport | None:
        """What the last sync did, if one is known; it costs nothing to ask."""
        ...


def backend_of(ctx: PluginContext) -> Backend:
    """The agent's memory, one for all hooks of a host."""
    return ctx.shared("memory", lambda: _make_backend(ctx))


def manager_of(ctx: PluginContext) -> MemoryManager:
    """The index in SQLite itself, whatever answers for the slot."""
    return ctx.shared("manager", lambda: _shared.take(ctx))


def _make_backend(ctx: PluginContext) -> Backend:
    if ctx.host_config.memory.backend == "qmd":
        from memslot_memory_core.qmd.backend import make_qmd_backend

        return make_qmd_backend(ctx, lambda: manager_of(ctx), has_unmarked=has_unmarked(ctx))
    return manager_of(ctx)


class _SharedManagers:
    """Managers by agent, places and settings: two hosts of one process that mean the same memory share one.

    Other plugins may mean another embedder, so their settings count, too. All settings are hashed, since there
    are keys among them, and a manager that its hosts have let go of is not kept here.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: WeakValueDictionary[tuple[Place, str], MemoryManager] = WeakValueDictionary()

    def take(self, ctx: PluginContext) -> MemoryManager:
        settings = ctx.memory_search
        place = place_of(ctx, settings)
        config = ctx.host_config
        parts = json.dumps([settings.to_tree(), config.memory.backend, config.plugins.to_tree()])
        key = (place, hashlib.sha256(parts.encode()).hexdigest())
        with self._lock:
            manager = self._made.get(key)
            if manager is None or not manager.lend():
                manager = self._made[key] = MemoryManager(place, settings, lambda cache: ctx.pipeline(cache=cache))
            return manager


_shared = _SharedManagers()


def place_of(ctx: PluginContext, settings: MemorySearch) -> Place:
    """Where this agent's notes, transcripts and index are."""
    places, workspace, template = ctx.places, ctx.workspace, settings.store.path
    earlier = None if template or places.is_own_workspace(workspace) else places.memory_dir / f"{ctx.agent_id}.sqlite"
    return Place(
        ctx.agent_id,
        workspace,
        places.sessions_dir(ctx.agent_id),
        places.index_file(ctx.agent_id, workspace, template),
        has_unmarked=has_unmarked(ctx),
        older_index=earlier,
    )


def has_unmarked(ctx: PluginContext) -> bool:
    """Whether transcripts that don't name a workspace belong to this agent's."""
    return real_path(ctx.workspace) == real_path(ctx.places.unmarked_workspace(ctx.agent_id))
