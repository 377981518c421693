"""Rebuilds: a new generation is built beside the live one and replaces it atomically."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass

import apsw

from memslot_memory_core.index import generation as generations
from memslot_memory_core.index.embeddings import Embedder, known_space
from memslot_memory_core.index.generation import Generation
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.index_metadata import IndexMetadata
from memslot_memory_core.index.report import Mismatch
from memslot_memory_core.index.schema import transaction
from memslot_memory_core.index.vector_tables import VectorTables

_CHARACTERS_PER_TOKEN = 4
_REPLACED = "identities left"
_MOST_REPLACED = 8
_RECENT_SECONDS = 24 * 3600.0
_VECTOR_TABLE = re.compile(r"(?:turn_)?vec_([0-9]+)")


@dataclass(frozen=True)
class Cost:
    """What a rebuild would have to embed."""

    chunks: int
    tokens: int


def cost(db: apsw.Connection, live: Generation, wanted: Identity) -> Cost:
    """Estimate, from the live index, what a rebuild would embed beyond what is cached."""
    if wanted.space is None:
        return Cost(0, 0)
    chunks = live.tables.chunks
    if wanted.parts != Identity.from_json(live.identity).parts:
        count, characters = db.execute(f"SELECT count(*), coalesce(sum(length(text)), 0) FROM {chunks}").get
        return Cost(count, characters // _CHARACTERS_PER_TOKEN) if wanted.parts else _uncached(db, chunks, wanted)
    if not wanted.same_layout(Identity.from_json(live.identity)):
        # With other chunking hardly any text is cached; new sources alone change no text.
        if _same_chunking(wanted, Identity.from_json(live.identity)):
            return _uncached(db, chunks, wanted)
        count, characters = db.execute(f"SELECT count(*), coalesce(sum(length(text)), 0) FROM {chunks}").get
        return Cost(count, characters // _CHARACTERS_PER_TOKEN)
    return _uncached(db, chunks, wanted)


def _same_chunking(one: Identity, other: Identity) -> bool:
    return (one.tokens, one.overlap) == (other.tokens, other.overlap)


def _uncached(db: apsw.Connection, chunks: str, wanted: Identity) -> Cost:
    assert wanted.space is not None
    space = known_space(db, *wanted.space)
    count, characters = db.execute(
        f"SELECT count(*), coalesce(sum(length(c.text)), 0) FROM {chunks} c WHERE NOT EXISTS "
        "(SELECT 1 FROM embeddings e WHERE e.space_id = ? AND e.text_hash = c.hash)",
        (space,),
    ).get
    return Cost(count, characters // _CHARACTERS_PER_TOKEN)


def find_mismatch(db: apsw.Connection, live: Generation, wanted: Identity, embedder: Embedder) -> Mismatch | None:
    """Why the next sync won't rebuild the live index although the settings differ; read-only."""
    there = Identity.from_json(live.identity)
    if was_recently_replaced(db, live, wanted):
        price = cost(db, live, wanted)
        return Mismatch(there.differences(wanted), price.chunks, price.tokens, wanted.provider, returned=True)
    if wanted.provider is None and there.provider is not None:
        if embedder.absent is None:
            return None
        kept = wanted.with_vectors_of(there)
        return None if kept == there else _mismatch(db, live, kept, None)
    is_only_without_vectors = there.provider is None and there.same_layout(wanted)
    if wanted == there or is_only_without_vectors or embedder.free:
        return None
    return _mismatch(db, live, wanted, wanted.provider)


def _mismatch(db: apsw.Connection, live: Generation, wanted: Identity, receiver: str | None) -> Mismatch | None:
    price = cost(db, live, wanted)
    differences = Identity.from_json(live.identity).differences(wanted)
    return Mismatch(differences, price.chunks, price.tokens, receiver) if price.chunks else None


def was_recently_replaced(db: apsw.Connection, live: Generation, wanted: Identity) -> bool:
    """Whether a rebuild recently replaced an index of this identity.

    Otherwise two configs that share an index would keep rebuilding it in turn.
    """
    there = Identity.from_json(live.identity)
    if wanted == there:
        return False
    now = time.time()
    return any(
        Identity.from_json(each["identity"]) == wanted and abs(now - each["at"]) < _RECENT_SECONDS
        for each in IndexMetadata(db).read(_REPLACED, [])
    )


def _record_replaced(db: apsw.Connection, target: Generation) -> None:
    """Record the identity of the live generation being replaced; inside the caller's transaction.

    An empty one is not recorded: going back to it costs nothing.
    """
    live = generations.find(db, "live")
    if live is None or not live.chunks or live.identity == target.identity:
        return
    kept = [
        each
        for each in IndexMetadata(db).read(_REPLACED, [])
        if each["identity"] not in (live.identity, target.identity)
    ]
    IndexMetadata(db).write(_REPLACED, [{"identity": dict(live.identity), "at": time.time()}, *kept][:_MOST_REPLACED])


def begin(db: apsw.Connection, wanted: Identity, vectors: VectorTables, *, afresh: bool) -> Generation:
    """The generation being built; an interrupted one is resumed unless `afresh`."""
    drop_unfinished(db, vectors, keep=None if afresh else wanted)
    building = generations.find(db, "building")
    if building is not None:
        return building
    with transaction(db):
        return generations.create(db, "building", wanted.to_json())


def publish(db: apsw.Connection, target: Generation, *, temporary: bool = False) -> None:
    """Make the new generation live; running searches finish on the old one.

    `temporary`: built by a fallback provider, so the index may be rebuilt back at once.
    """
    with transaction(db):
        if not temporary:
            _record_replaced(db, target)
        generations.publish(db, target.number)


def clean_up(db: apsw.Connection, vectors: VectorTables) -> None:
    """Drop replaced generations, including those left by a killed process."""
    for number in generations.retired(db):
        _drop(db, number, vectors)
    for number in _orphaned_vector_tables(db):
        with transaction(db):
            vectors.drop(db, number)


def _orphaned_vector_tables(db: apsw.Connection) -> set[int]:
    """Dropped generations whose vector tables remain, since their extension was not available."""
    names = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '%vec!_%' ESCAPE '!'")
    found = {int(match[1]) for (name,) in names if (match := _VECTOR_TABLE.fullmatch(name))}
    return found - set(generations.numbers(db))


def drop_unfinished(db: apsw.Connection, vectors: VectorTables, *, keep: Identity | None = None) -> None:
    """Drop an unfinished rebuild, unless it is for this identity."""
    building = generations.find(db, "building")
    if building is not None and (keep is None or Identity.from_json(building.identity) != keep):
        _drop(db, building.number, vectors)


def relabel(db: apsw.Connection, live: Generation, identity: Identity) -> None:
    """Change a generation's identity; inside the caller's transaction."""
    written = json.dumps(identity.to_json(), sort_keys=True)
    db.execute("UPDATE generations SET identity = ? WHERE id = ?", (written, live.number))


def _drop(db: apsw.Connection, number: int, vectors: VectorTables) -> None:
    with transaction(db):
        vectors.drop(db, number)
        generations.drop(db, number)
