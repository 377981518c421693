"""Imports memories: existing ones are reported, and nothing is overwritten unless requested."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memslot import MemslotError, redact

from memslot_memory_lancedb.embedding.embedder import Embedder
from memslot_memory_lancedb.memory_record import MemoryRecord
from memslot_memory_lancedb.store.store import MemoryStore

if TYPE_CHECKING:
    from memslot_memory_lancedb.store.schema import Vector

AT_ONCE = 500
Progress = Callable[[int], None]


@dataclass
class Imported:
    """The outcome of an import, by id."""

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    """Existing ones that differ; not replaced unless requested."""
    warning: str | None = None


def import_memories(
    store: MemoryStore,
    embedder: Embedder,
    memories: Iterable[MemoryRecord],
    *,
    replace_differing: bool = False,
    dry_run: bool = False,
    progress: Progress = lambda count: None,
) -> Imported:
    """Add memories with their ids and times to this agent, whoever exported them."""
    result = Imported()
    newest = {each.id: replace(each, text=redact(each.text)) for each in memories}
    waiting = list(newest.values())
    for start in range(0, len(waiting), AT_ONCE):
        part = waiting[start : start + AT_ONCE]
        _import_part(store, embedder, part, result, replace_differing, dry_run)
        progress(len(part))
    return result


def _import_part(
    store: MemoryStore,
    embedder: Embedder,
    part: Sequence[MemoryRecord],
    result: Imported,
    replace_differing: bool,
    dry_run: bool,
) -> None:
    table = store.live()
    there = {each.id: each for each in table.get_many([each.id for each in part])} if table is not None else {}
    wanted: list[MemoryRecord] = []
    for memory in part:
        known = there.get(memory.id)
        if known is None:
            result.added.append(memory.id)
            wanted.append(memory)
        elif known.to_json() == memory.to_json():
            result.unchanged.append(memory.id)
        elif replace_differing:
            result.replaced.append(memory.id)
            wanted.append(memory)
        else:
            result.differing.append(memory.id)
    if not wanted or dry_run:
        return
    vectors, mark = _embed(embedder, wanted, result)
    store.put([replace(each, embedder=mark) for each in wanted], vectors, embedder.identity)


def _embed(
    embedder: Embedder, memories: Sequence[MemoryRecord], result: Imported
) -> tuple[Sequence[Vector | None], str]:
    """Vectors and their embedder; none, with a warning, if the embedder fails."""
    identity = embedder.identity
    if identity is not None:
        try:
            return embedder.embed_documents([each.text for each in memories]), identity.digest
        except MemslotError as error:
            result.warning = f"the memories have no vectors yet and are found by keywords only: {error}"
    return [None] * len(memories), ""
