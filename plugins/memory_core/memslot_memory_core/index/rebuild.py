"""Builds an index beside the one that serves, and lets it take over in one step."""

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
from memslot_memory_core.index.index_metadata import Facts
from memslot_memory_core.index.report import Mismatch
from memslot_memory_core.index.schema import transaction
from memslot_memory_core.index.vector_tables import VectorTables

_CHARACTERS_PER_TOKEN = 4
_LEFT = "identities left"
_MOST_LEFT = 8
_RECENT_SECONDS = 24 * 3600.0
_VECTOR_TABLE = re.compile(r"(?:turn_)?vec_([0-9]+)")


@dataclass(frozen=True)
class Cost:
    """What would have to be embedded anew."""

    chunks: int
    tokens: int


def cost(db: apsw.Connection, live: Generation, wanted: Identity) -> Cost:
    """What a rebuild would embed, as far as the live index tells: nothing that is in the cache already."""
    if wanted.space is None:
        return Cost(0, 0)
    chunks = live.tables.chunks
    if wanted.parts != Identity.from_json(live.identity).parts:
        count, characters = db.execute(f"SELECT count(*), coalesce(sum(length(text)), 0) FROM {chunks}").get
        return Cost(count, characters // _CHARACTERS_PER_TOKEN) if wanted.parts else _uncached(db, chunks, wanted)
    if not wanted.same_layout(Identity.from_json(live.identity)):
        # Cut in another way, hardly a text is one that was embedded before; new sources alone change no text.
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
    """Why the next sync will leave the live index as it is though the settings want another one; writes nothing."""
    there = Identity.from_json(live.identity)
    if was_left(db, live, wanted):
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


def was_left(db: apsw.Connection, live: Generation, wanted: Identity) -> bool:
    """Whether the index was rebuilt away from this identity a short time ago.

    Two configs on one index would otherwise rebuild it in turn, for ever.
    """
    there = Identity.from_json(live.identity)
    if wanted == there:
        return False
    now = time.time()
    return any(
        Identity.from_json(each["identity"]) == wanted and abs(now - each["at"]) < _RECENT_SECONDS
        for each in Facts(db).read(_LEFT, [])
    )


def _note_left(db: apsw.Connection, target: Generation) -> None:
    """Remember the identity of the live generation that is being replaced; inside the caller's transaction.

    An empty one is not remembered: going back to it rebuilds nothing.
    """
    live = generations.find(db, "live")
    if live is None or not live.chunks or live.identity == target.identity:
        return
    kept = [each for each in Facts(db).read(_LEFT, []) if each["identity"] not in (live.identity, target.identity)]
    Facts(db).write(_LEFT, [{"identity": dict(live.identity), "at": time.time()}, *kept][:_MOST_LEFT])


def begin(db: apsw.Connection, wanted: Identity, vectors: VectorTables, *, afresh: bool) -> Generation:
    """The generation that is being built: one that was interrupted goes on, unless all is to be done afresh."""
    forget_building(db, vectors, keep=None if afresh else wanted)
    building = generations.find(db, "building")
    if building is not None:
        return building
    with transaction(db):
        return generations.create(db, "building", wanted.to_json())


def publish(db: apsw.Connection, target: Generation, *, for_now: bool = False) -> None:
    """From here on every new search sees the new generation; those that run see the old one to their end.

    `for_now`: built by a fallback provider, so the old identity is followed as soon as it is wanted again.
    """
    with transaction(db):
        if not for_now:
            _note_left(db, target)
        generations.publish(db, target.number)


def clean_up(db: apsw.Connection, vectors: VectorTables) -> None:
    """Drop generations that were replaced, also by a process that was killed before it could."""
    for number in generations.retired(db):
        _drop(db, number, vectors)
    for number in _left_behind(db):
        with transaction(db):
            vectors.drop(db, number)


def _left_behind(db: apsw.Connection) -> set[int]:
    """Generations that are gone but for vector tables, which a process without their extension could not drop."""
    names = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '%vec!_%' ESCAPE '!'")
    found = {int(match[1]) for (name,) in names if (match := _VECTOR_TABLE.fullmatch(name))}
    return found - set(generations.numbers(db))


def forget_building(db: apsw.Connection, vectors: VectorTables, *, keep: Identity | None = None) -> None:
    """Drop what an interrupted rebuild left, unless it is one for this identity."""
    building = generations.find(db, "building")
    if building is not None and (keep is None or Identity.from_json(building.identity) != keep):
        _drop(db, building.number, vectors)


def rename(db: apsw.Connection, live: Generation, identity: Identity) -> None:
    """Say what a generation is for from now on; inside the caller's transaction."""
    written = json.dumps(identity.to_json(), sort_keys=True)
    db.execute("UPDATE generations SET identity = ? WHERE id = ?", (written, live.number))


def _drop(db: apsw.Connection, number: int, vectors: VectorTables) -> None:
    with transaction(db):
        vectors.drop(db, number)
        generations.drop(db, number)
