"""The embedding cache: vectors by the hash of their text, shared by all chunks and generations.

The index reads its vectors from here; a vector in use is never pruned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
from memslot import ProviderBusyError, ProviderError, ProviderRefusedError

from memslot_memory_core.index.generation import Tables
from memslot_memory_core.index.index_metadata import IndexMetadata
from memslot_memory_core.index.part_vectors import from_bytes, part_hash, to_bytes
from memslot_memory_core.index.schema import transaction

if TYPE_CHECKING:
    import numpy
    from memslot import CacheKey, EmbeddingPipeline
    from memslot.retrieval import Background

    from memslot_memory_core.index.identity import Identity

    Row = numpy.ndarray[tuple[int], numpy.dtype[numpy.float32]]

EMPTY_VECTOR = b""
"""Stored for a text whose vector is all zeros: it is not embedded again, and never compared."""
MAX_BATCH_TEXTS = 50_000
_AT_ONCE = 500
_MOST_FAILURES = 24
"""Failed requests before giving up on a provider; bisecting 512 texts for a bad one takes ten."""
_WORTH_COUNTING = 10_000
_COUNTED = "embeddings_counted"
"""Metadata key: the number of vectors, and the newest id at that time."""
_NEWEST = "SELECT coalesce(max(id), 0) FROM embeddings"
_USE_COUNTS_AFTER = 3600
"""Seconds: used_at is updated only if it is older, so that reads don't become writes."""


@dataclass(frozen=True)
class BatchApi:
    """How to use a provider's batch API; `folder` records jobs, so that a killed process can resume them."""

    folder: Path
    concurrency: int
    poll_seconds: float
    timeout_seconds: float
    wait: bool


@dataclass(frozen=True)
class Embedder:
    """The embedding pipeline for a sync, if any, and whether using it is free."""

    pipeline: EmbeddingPipeline | None = None
    free: bool = True
    absent: str | None = None
    """Why there is no pipeline although one is configured."""
    batch: BatchApi | None = None
    is_fallback: bool = False
    """Whether this is a fallback for the configured provider."""

    @property
    def batch_size(self) -> int:
        """How many chunks to collect per embedding call: enough to fill a request, or a batch job.

        A local provider has no requests to fill, and small batches are searchable sooner.
        """
        if self.batch is not None:
            return MAX_BATCH_TEXTS
        return 64 if self.free else 512

    @property
    def knows_blanks(self) -> bool:
        """Whether a row of zeros means an empty text rather than an unfinished batch job."""
        return self.batch is None or self.batch.wait

    def embed(self, texts: Sequence[str], cancelled: Callable[[], bool]) -> Iterable[Row]:
        """Embed texts, one row each; rows are cached as they arrive."""
        assert self.pipeline is not None
        if self.batch is None:
            return self.pipeline.embed_documents(texts, cancelled=cancelled)
        from memslot import embed_in_batches

        return embed_in_batches(
            self.pipeline,
            texts,
            folder=self.batch.folder,
            concurrency=self.batch.concurrency,
            poll_interval=self.batch.poll_seconds,
            timeout=self.batch.timeout_seconds,
            wait=self.batch.wait,
            cancelled=cancelled,
        )


class EmbeddingStore:
    """The embedding cache in the index file, while a writer has it open."""

    def __init__(self) -> None:
        self._db: apsw.Connection | None = None
        self._is_compact = False

    def attach(self, db: apsw.Connection | None) -> None:
        """Use this connection, which must not be in a transaction during embedding; None detaches."""
        self._db = db

    @contextmanager
    def compact(self) -> Iterator[None]:
        """Within this context, store int8 vectors in a separate space: for parts of chunks, which are many."""
        self._is_compact = True
        try:
            yield
        finally:
            self._is_compact = False

    def get_many(self, keys: Sequence[CacheKey]) -> Mapping[CacheKey, Row]:
        if self._db is None or not keys:
            return {}
        import numpy

        found: dict[CacheKey, Any] = {}
        by_space: dict[tuple[str, str, str], list[CacheKey]] = {}
        for key in keys:
            by_space.setdefault(key[:3], []).append(key)
        for space, listed in by_space.items():
            number = space_number(self._db, *(compact_space(space) if self._is_compact else space))
            ids = vector_ids(self._db, number, [bytes.fromhex(key.text_hash) for key in listed])
            for key in listed:
                embedding = ids.get(bytes.fromhex(key.text_hash))
                blob = (
                    None
                    if embedding is None
                    else self._db.execute("SELECT vector FROM embeddings WHERE id = ?", (embedding,)).get
                )
                if blob:
                    found[key] = from_bytes([blob])[0] if self._is_compact else numpy.frombuffer(blob, dtype="<f4")
        return found

    def put_many(self, rows: Mapping[CacheKey, Row]) -> None:
        if self._db is None:
            return
        now = int(time.time())
        with transaction(self._db) as db:
            named = {space: compact_space(space) if self._is_compact else space for space in {key[:3] for key in rows}}
            spaces = {space: space_number(db, *name) for space, name in named.items()}
            db.executemany(
                "INSERT INTO embeddings (space_id, text_hash, vector, used_at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (space_id, text_hash) DO UPDATE SET vector = excluded.vector, used_at = excluded.used_at",
                [
                    (spaces[key[:3]], bytes.fromhex(key.text_hash), self._to_bytes(row), now)
                    for key, row in rows.items()
                ],
            )

    def _to_bytes(self, row: Row) -> bytes:
        return to_bytes(row) if self._is_compact else row.astype("<f4").tobytes()


class RefusedTextError(ProviderError):
    """The provider refused some texts for good, and accepted the others."""


def compact_space(space: tuple[str, str, str]) -> tuple[str, str, str]:
    """The space of a provider's int8 vectors."""
    provider, model, key = space
    return provider, model, f"{key}:parts"


def space_number(db: apsw.Connection, provider: str, model: str, key: str) -> int:
    """The id of a vector space, created if missing."""
    number = known_space(db, provider, model, key)
    if number is None:
        db.execute("INSERT OR IGNORE INTO spaces (provider, model, key) VALUES (?, ?, ?)", (provider, model, key))
        number = known_space(db, provider, model, key)
        assert number is not None
    return number


def known_space(db: apsw.Connection, provider: str, model: str, key: str) -> int | None:
    """The id of a vector space, or None."""
    found: int | None = db.execute(
        "SELECT id FROM spaces WHERE provider = ? AND model = ? AND key = ?", (provider, model, key)
    ).get
    return found


def vector_ids(db: apsw.Connection, space: int, hashes: Sequence[bytes]) -> dict[bytes, int]:
    """Embedding ids by text hash, for texts that are embedded or known to be empty."""
    found: dict[bytes, int] = {}
    for start in range(0, len(hashes), _AT_ONCE):
        part = hashes[start : start + _AT_ONCE]
        marks = ",".join("?" * len(part))
        found.update(
            db.execute(
                f"SELECT text_hash, id FROM embeddings WHERE space_id = ? AND text_hash IN ({marks})", (space, *part)
            )
        )
    return found


def record_use(db: apsw.Connection, ids: Iterable[int]) -> None:
    """Update used_at of these vectors; inside the caller's transaction."""
    now = int(time.time())
    db.executemany(
        "UPDATE embeddings SET used_at = ? WHERE id = ? AND used_at < ?",
        [(now, number, now - _USE_COUNTS_AFTER) for number in ids],
    )


def record_empty(db: apsw.Connection, space: int, hashes: Iterable[bytes]) -> None:
    """Record texts whose vector is all zeros; inside the caller's transaction."""
    now = int(time.time())
    db.executemany(
        "INSERT OR IGNORE INTO embeddings (space_id, text_hash, vector, used_at) VALUES (?, ?, ?, ?)",
        [(space, text_hash, EMPTY_VECTOR, now) for text_hash in hashes],
    )


def embed_missing(
    embedder: Embedder, db: apsw.Connection, space: int, texts: Mapping[bytes, str], cancelled: Callable[[], bool]
) -> None:
    """Embed texts and cache every finished batch. Raises what the pipeline raises.

    A refused text doesn't stop the others: its error is raised once they are done, unless there are many.
    """
    waiting, failures = [texts], 0
    refusal: ProviderError | None = None
    while waiting:
        some = waiting.pop()
        try:
            _embed_all(embedder, db, space, some, cancelled)
        except (ProviderBusyError, ProviderRefusedError):
            raise
        except ProviderError as error:
            failures += 1
            if embedder.batch is not None or failures >= _MOST_FAILURES:
                raise
            if len(some) > 1:
                waiting += _halves(some)
            else:
                refusal = error
    if refusal is not None:
        raise RefusedTextError(f"some texts cannot be embedded: {refusal}")


def _halves(texts: Mapping[bytes, str]) -> list[Mapping[bytes, str]]:
    listed = list(texts.items())
    return [dict(listed[len(listed) // 2 :]), dict(listed[: len(listed) // 2])]


def _embed_all(
    embedder: Embedder, db: apsw.Connection, space: int, texts: Mapping[bytes, str], cancelled: Callable[[], bool]
) -> None:
    rows = embedder.embed(list(texts.values()), cancelled)
    if not embedder.knows_blanks:
        return
    from memslot import EmbeddingPipeline

    blank = [text_hash for text_hash, row in zip(texts, rows, strict=True) if EmbeddingPipeline.is_zero(row)]
    if blank:
        with transaction(db):
            record_empty(db, space, blank)


def background_of(db: apsw.Connection, identity: Identity) -> Background | None:
    """The background vectors for an index's provider, if they were embedded."""
    if identity.space is None or identity.dims is None:
        return None
    from memslot.retrieval import Background

    sql = "SELECT background FROM spaces WHERE provider = ? AND model = ? AND key = ?"
    blob = db.execute(sql, identity.space).get
    return Background.from_bytes(blob, identity.dims) if blob else None


def has_background(db: apsw.Connection, identity: Identity) -> bool:
    """Whether the background vectors are up to date; reads only their version."""
    if identity.space is None:
        return True
    from memslot.retrieval import background_version

    version = background_version().encode()
    sql = "SELECT substr(background, 1, ?) = ? FROM spaces WHERE provider = ? AND model = ? AND key = ?"
    return bool(db.execute(sql, (len(version), version, *identity.space)).get)


def embed_background(
    embedder: Embedder, store: EmbeddingStore, db: apsw.Connection, identity: Identity, cancelled: Callable[[], bool]
) -> Background | None:
    """Embed the background sentences once per provider. Raises what `embed_missing` raises.

    Refused texts are skipped, as long as most are accepted. None if the cache could not keep some, as on a full disk:
    a background of the others would be kept for good, and scores would differ from those of other indexes.
    """
    import numpy
    from memslot.retrieval import Background, background_texts

    assert identity.space is not None
    texts = {part_hash(text): text for text in background_texts()}
    with transaction(db):
        space = space_number(db, *compact_space(identity.space))
    known = vector_ids(db, space, list(texts))
    missing = {text_hash: text for text_hash, text in texts.items() if text_hash not in known}
    refused = False
    try:
        with store.compact():
            # Not through the batch API: vector search is impossible without them.
            embed_missing(replace(embedder, batch=None), db, space, missing, cancelled)
    except RefusedTextError:
        refused = True
        if len(vector_ids(db, space, list(texts))) <= len(texts) // 2:
            raise
    known = vector_ids(db, space, list(texts))
    if len(known) < len(texts) and not refused:
        return None
    vectors = numpy.zeros((len(texts), identity.dims or 1), dtype=numpy.float32)
    for place, text_hash in enumerate(texts):
        blob = db.execute("SELECT vector FROM embeddings WHERE id = ?", (known.get(text_hash),)).get
        if blob:
            vectors[place] = from_bytes([blob])[0]
    background = Background.from_vectors(vectors)
    if not len(background.statements) or not len(background.questions):
        raise RefusedTextError(
            "vector search is impossible: the provider returned all-zero vectors for ordinary sentences"
        )
    with transaction(db):
        number = space_number(db, *identity.space)
        db.execute("UPDATE spaces SET background = ? WHERE id = ?", (background.to_bytes(), number))
    return background


def prune(db: apsw.Connection, generations: Sequence[int], keep: int) -> int:
    """Delete unused vectors, least recently used first, down to `keep` in all; returns how many."""
    count = _count(db)
    surplus = count - keep
    if surplus <= 0:
        return 0
    if keep and count > _WORTH_COUNTING:
        # Finding unused vectors scans all of them: not worth it after each edit.
        used = int(db.execute("SELECT coalesce(sum(vectors + turn_vectors + part_vectors), 0) FROM generations").get)
        if min(surplus, count - used) < count // 50:
            return 0
    users = [
        table
        for number in generations
        for table in (Tables(number).chunks, Tables(number).turns, Tables(number).parts)
        if db.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (table,)).get  # an older generation has no parts
    ]
    unused = " AND ".join(f"NOT EXISTS (SELECT 1 FROM {table} u WHERE u.embedding_id = e.id)" for table in users)
    where = f"WHERE {unused}" if unused else ""
    with transaction(db):
        db.execute(
            f"DELETE FROM embeddings WHERE id IN (SELECT e.id FROM embeddings e {where} ORDER BY e.used_at LIMIT ?)",
            (surplus,),
        )
        gone = db.changes()
        _record_count(db)
        return gone


def _count(db: apsw.Connection) -> int:
    """The number of vectors, without a table scan.

    They are counted once; after that the newest id tells, since only `prune` deletes any.
    """
    counted = IndexMetadata(db).read(_COUNTED)
    if counted is None:
        with transaction(db):
            counted = _record_count(db)
    count, newest = counted
    return int(count + db.execute(_NEWEST).get - newest)


def _record_count(db: apsw.Connection) -> list[int]:
    counted = [int(db.execute("SELECT count(*) FROM embeddings").get), int(db.execute(_NEWEST).get)]
    IndexMetadata(db).write(_COUNTED, counted)
    return counted
