"""What the next `memslot memory search` needs to know to be answered quickly; see `quick`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from zlib import crc32

from memslot import HasQuickTwin, HasTokenVectors, MemorySearch, PluginContext, Session, advice_of, prepare_quick

from memslot_memory_core.backend import place_of
from memslot_memory_core.index.preparing import Sources
from memslot_memory_core.index.store import IndexFile
from memslot_memory_core.outcome import does_cite
from memslot_memory_core.quick import FORMAT
from memslot_memory_core.quick_words import learn_words


def keep_for_quick(ctx: PluginContext, *, seconds: float = 2.0) -> None:
    """Note it down, after a command that went well, where the quick way can do the same.

    Reading the words of the index, which makes it quicker still, takes at most so many seconds; the next time goes on.
    """
    settings, memory = ctx.memory_search, ctx.host_config.memory
    if memory.backend != "builtin" or not settings.enabled:
        return
    embedder = _embedder_notes(ctx, settings)
    if embedder is None and settings.provider != "none" and settings.store.vector.enabled:
        return
    place = place_of(ctx, settings)
    sources = Sources(settings, place.workspace, place.sessions_dir)
    words = ctx.places.cache_dir / f"words-{crc32(str(place.index_file).encode(errors='surrogateescape')):08x}.sqlite"
    index = IndexFile(place.index_file, place.agent_id)
    with index.snapshot() as snapshot:
        identity = None if snapshot is None else dict(snapshot.generation.identity)
        if snapshot is not None and embedder is not None and embedder["knowsWords"]:
            provider = ctx.select_embedder().provider
            assert provider is not None
            learn_words(words, snapshot, provider.embed_documents, seconds=seconds)
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
        "words": str(words),
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
    try:
        twin = provider.quick_twin(ctx.places.cache_dir)
    except Exception as error:  # a full disk, say: this search went well, and the next one goes the usual way
        ctx.report("quick search", f"{provider.id} cannot be had without the host: {error}")
        return None
    advice = advice_of(provider)
    return {
        "twin": twin,
        "advice": {**asdict(advice), "scripts": None if advice.scripts is None else sorted(advice.scripts)},
        "knowsWords": isinstance(provider, HasTokenVectors),
        "requested": settings.provider,
    }
