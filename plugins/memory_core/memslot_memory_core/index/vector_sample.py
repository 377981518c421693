"""A sample of an index's vectors, from which a search estimates the noise of its scores."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from memslot import MemoryPoint, one_line, redact

from memslot_memory_core.index.embeddings import background_of, has_background
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.part_vectors import from_bytes
from memslot_memory_core.index.store import Snapshot

if TYPE_CHECKING:
    import apsw
    from memslot.retrieval import MeaningScale, Noise

    from memslot_memory_core.index.part_vectors import Matrix, Row

POINT_CHARS = 160
_GROWTH = 1.2
"""A sample is reused until the index has grown or shrunk by this factor."""


@dataclass(frozen=True, eq=False)
class IndexSample:
    """Sampled vectors of chunks, parts and user lines, and their statistics."""

    scale: MeaningScale
    chunks: Matrix
    parts: Matrix
    turns: Matrix
    size: int
    has_background: bool

    def noises(self, focused: Row) -> tuple[Noise, Noise, Noise] | None:
        """The noise of chunks, parts and lines for a query; None if the sample is too small."""
        found = tuple(self.scale.noise(focused, each) for each in (self.chunks, self.parts, self.turns))
        chunks, parts, turns = found
        return None if chunks is None or parts is None or turns is None else (chunks, parts, turns)


class Samples:
    """Caches the sample of the generation searched last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: tuple[tuple[str | None, int], IndexSample] | None = None

    def of(self, snapshot: Snapshot) -> IndexSample:
        generation = snapshot.generation
        size = generation.vectors + generation.turn_vectors + generation.part_vectors
        with self._lock:
            if self._kept is not None and self._kept[0] == generation.key:
                sample = self._kept[1]
                if sample.size / _GROWTH <= size <= sample.size * _GROWTH and not _lacks_background(sample, snapshot):
                    return sample
            sample = _draw(snapshot, size)
            self._kept = (generation.key, sample)
            return sample


def _lacks_background(sample: IndexSample, snapshot: Snapshot) -> bool:
    """Whether the background was embedded after the sample was drawn."""
    if sample.has_background:
        return False
    return has_background(snapshot.db, Identity.from_json(snapshot.generation.identity))


def _draw(snapshot: Snapshot, size: int) -> IndexSample:
    from memslot.retrieval import MeaningScale

    db, generation = snapshot.db, snapshot.generation
    tables, identity = generation.tables, Identity.from_json(generation.identity)
    dims = identity.dims or 1
    chosen = _ids(db, tables.chunks)
    chunks = _floats(_vectors(db, tables.chunks, chosen), dims)
    parts = _part_vectors(db, tables.parts, chosen) if identity.parts else []
    turns = _floats(_vectors(db, tables.turns, _ids(db, tables.turns)), dims) if generation.turns else _floats([], dims)
    background = background_of(db, identity)
    return IndexSample(
        MeaningScale(background, chunks),
        chunks,
        from_bytes(parts) if parts else _floats([], dims),
        turns,
        size,
        background is not None,
    )


def sample_points(snapshot: Snapshot, limit: int) -> list[MemoryPoint]:
    """Evenly spread chunks with their vectors, texts redacted."""
    db, tables = snapshot.db, snapshot.generation.tables
    dims = Identity.from_json(snapshot.generation.identity).dims
    ids = [number for (number,) in db.execute(f"SELECT id FROM {tables.chunks} WHERE embedding_id IS NOT NULL")]
    step = max(1.0, len(ids) / max(1, limit))
    sql = (
        f"SELECT f.path, f.source, f.mtime, c.time, c.start_line, substr(c.text, 1, {4 * POINT_CHARS}), e.vector "
        f"FROM {tables.chunks} c JOIN {tables.files} f ON f.id = c.file_id JOIN embeddings e ON e.id = c.embedding_id "
        "WHERE c.id = ?"
    )
    points = []
    for number in (ids[int(place * step)] for place in range(min(limit, len(ids)))):
        for path, source, mtime, time, line, text, blob in db.execute(sql, (number,)):
            if dims and len(blob) == 4 * dims:
                vector = _floats([blob], dims)[0].tolist()
                moment = datetime.fromtimestamp(mtime if time is None else time, UTC)
                excerpt = one_line(redact(text), POINT_CHARS)
                points.append(MemoryPoint(path, excerpt, vector, source, line, moment))
    return points


def _ids(db: apsw.Connection, table: str) -> list[int]:
    """Ids of rows with a vector, evenly spread."""
    from memslot.retrieval import SAMPLE_SIZE

    where = "embedding_id IS NOT NULL"
    # By rows, not by ids: an index that was changed often has few rows far apart, and scores as a fresh one does.
    most = 2 * SAMPLE_SIZE
    if db.execute(f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT {most})").get < most:
        return [number for (number,) in db.execute(f"SELECT id FROM {table} WHERE {where} ORDER BY id")]
    first, last = (int(db.execute(f"SELECT {end}(id) FROM {table}").get) for end in ("min", "max"))
    # Search each interval separately: while an index is being filled, most rows may lack a vector.
    ends = [first + (last + 1 - first) * place // SAMPLE_SIZE for place in range(SAMPLE_SIZE + 1)]
    sql = f"SELECT id FROM {table} WHERE id >= ? AND id < ? AND {where} ORDER BY id LIMIT 1"
    found = (db.execute(sql, limits).get for limits in pairwise(ends))
    return [number for number in found if number is not None]


def _vectors(db: apsw.Connection, table: str, ids: list[int]) -> list[bytes]:
    sql = f"SELECT vector FROM embeddings WHERE id = (SELECT embedding_id FROM {table} WHERE id = ?)"
    return [blob for number in ids if (blob := db.execute(sql, (number,)).get)]


def _part_vectors(db: apsw.Connection, table: str, chunks: list[int]) -> list[bytes]:
    """One part per chunk, or two if there are few chunks."""
    from memslot.retrieval import SAMPLE_SIZE

    each = 1 + SAMPLE_SIZE // max(1, len(chunks))
    sql = (
        f"SELECT vector FROM embeddings WHERE id IN (SELECT embedding_id FROM {table} WHERE chunk_id = ?) "
        f"ORDER BY text_hash LIMIT {each}"  # ids depend on embedding order
    )
    return [blob for number in chunks for (blob,) in db.execute(sql, (number,)) if blob]


def _floats(blobs: list[bytes], dims: int) -> Matrix:
    import numpy

    return numpy.frombuffer(b"".join(blobs), dtype="<f4").reshape(-1, dims)
