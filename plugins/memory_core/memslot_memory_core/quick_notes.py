"""What the next `memslot memory search` needs to know to be answered quickly; see `quick`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from memslot import HasQuickTwin, HasTokenVectors, MemorySearch, PluginContext, Session, advice_of, prepare_quick

from memslot_memory_core.backend import place_of
from memslot_memory_core.index.preparing import Sources
from memslot_memory_core.index.store import IndexFile
from memslot_memory_core.outcome import does_cite
from memslot_memory_core.quick import FORMAT


def keep_for_quick(ctx: PluginContext) -> None:
    """Note it down, after a search that went well, where the quick way can do the same."""
    settings, memory = ctx.memory_search, ctx.host_config.memory
    if memory.backend != "builtin" or not settings.enabled:
        return
    embedder = _embedder_notes(ctx, settings)
    if embedder is None and settings.provider != "none" and settings.store.vector.enabled:
        return
    place = place_of(ctx, settings)
    sources = Sources(settings, place.workspace, place.sessions_dir)
    index = IndexFile(place.index_file, place.agent_id)
    with index.snapshot() as snapshot:
        identity = None if snapshot is None else dict(snapshot.generation.identity)
    index.close()
    notes: dict[str, Any] = {
        "format": FORMAT,
        "agent": place.agent_id,
        "workspace": str(place.workspace),
        "sessions": None if sources.sessions_dir is None else str(sources.sessions_dir),
        "index": str(place.index_file),
        "extraPaths": [each if isinstance(each, str) else each.model_dump() for each in settings.extra_paths],
        "identity": identity,
        "cites": does_cite(memory.citations, Session(place.agent_id)),
        "embedder": embedder,
        "settings": {"query": settings.query.model_dump(), "store": settings.store.model_dump()},
    }
    prepare_quick("memory search", notes)


def _embedder_notes(ctx: PluginContext, settings: MemorySearch) -> dict[str, Any] | None:
    """How to have the embedder again, if it is one that can be had without the host."""
    if settings.provider == "none" or not settings.store.vector.enabled:
        return None
    if settings.provider == "auto" and settings.local.model_path:
        return None  # that file may come or go any time
    provider = ctx.select_embedder().provider
    if provider is None or not isinstance(provider, HasQuickTwin):
        return None
    advice = advice_of(provider)
    return {
        "twin": provider.quick_twin(ctx.places.cache_dir),
        "advice": {**asdict(advice), "scripts": None if advice.scripts is None else sorted(advice.scripts)},
        "knowsWords": isinstance(provider, HasTokenVectors),
        "requested": settings.provider,
    }
