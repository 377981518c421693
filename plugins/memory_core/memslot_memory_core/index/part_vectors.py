"""Vectors of parts of chunks: int8 in the embedding cache, one bit per dimension for search.

There are several times as many parts as chunks. Comparing bits in memory is faster than any vector table, and the best
are then rescored with int8. A bit says on which side of the background's mean a value lies.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from memslot_memory_core.index.generation import Generation, Tables

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = NDArray[np.float32]
    Matrix = NDArray[np.float32]

_STEPS = 127.0
_SCALE_BYTES = 4
_WORD_BITS = 64
_FEW_DEAD = 1000  # deleted rows; beyond that, and once they are the majority, all rows are reloaded


def to_bytes(row: Row) -> bytes:
    """A vector as a float32 scale followed by int8 values."""
    import numpy

    scale = float(numpy.abs(row).max()) / _STEPS
    if not scale:
        return b""
    rounded = numpy.rint(row / scale).astype(numpy.int8)
    scaled: bytes = numpy.float32(scale).tobytes() + rounded.tobytes()
    return scaled


def from_bytes(blobs: Sequence[bytes]) -> Matrix:
    """The vectors of `to_bytes`, normalized except for rounding."""
    import numpy

    packed = numpy.frombuffer(b"".join(blobs), dtype=numpy.uint8).reshape(len(blobs), -1)
    scales = packed[:, :_SCALE_BYTES].copy().view("<f4")
    rows: Matrix = packed[:, _SCALE_BYTES:].view(numpy.int8) * scales
    return rows


def _bits(rows: Matrix, center: Row) -> bytes:
    """One bit per dimension, padded to 64-bit words."""
    import numpy

    packed = numpy.packbits(rows > center, axis=1)
    missing = -packed.shape[1] % (_WORD_BITS // 8)
    return (numpy.pad(packed, ((0, 0), (0, missing))) if missing else packed).tobytes()


def bytes_of_bits(dims: int) -> int:
    """Bytes of one part's bits."""
    return -(-dims // _WORD_BITS) * (_WORD_BITS // 8)


class PartRows:
    """Writes the parts of chunks; inside the caller's transaction.

    `vectors` maps a part's hash to its embedding id. `center` is None until the background is embedded.
    """

    def __init__(self, db: apsw.Connection, tables: Tables, center: Row | None = None) -> None:
        self._db = db
        self._tables = tables
        self.center = center
        self.vectors: Mapping[bytes, int] = {}

    def waiting(self, chunks: Sequence[int]) -> Mapping[int, int]:
        """The number of parts without a vector, for chunks that have any."""
        sql = (
            f"SELECT chunk_id, waiting FROM {self._tables.part_bits} "
            "WHERE waiting > 0 AND chunk_id IN (SELECT value FROM json_each(?))"
        )
        return dict(self._db.execute(sql, (json.dumps(list(chunks)),)))

    def lacking(self, parts: Mapping[bytes, str]) -> int:
        """How many of these parts can't be written yet."""
        return len(parts) if self.center is None else sum(part not in self.vectors for part in parts)

    def add(self, chunks: Iterable[tuple[int, Mapping[bytes, str]]]) -> None:
        """Write the parts of new chunks; those without a vector are counted as waiting."""
        count = 0
        for chunk, parts in chunks:
            if not parts:
                continue
            known = {self.vectors[part] for part in parts if part in self.vectors} if self.center is not None else set()
            blobs = {
                each: self._db.execute("SELECT vector FROM embeddings WHERE id = ?", (each,)).get for each in known
            }
            filled = {each: blob for each, blob in blobs.items() if blob}  # without empty vectors
            bits = b"" if not filled or self.center is None else _bits(from_bytes(list(filled.values())), self.center)
            self._db.executemany(
                f"INSERT INTO {self._tables.parts} (chunk_id, embedding_id) VALUES (?, ?)",
                [(chunk, each) for each in filled],
            )
            self._db.execute(
                f"INSERT INTO {self._tables.part_bits} (chunk_id, bits, waiting) VALUES (?, ?, ?)",
                (chunk, bits, self.lacking(parts)),
            )
            count += len(filled)
        self._count(count)

    def remove(self, chunks: Sequence[int]) -> None:
        """Delete the parts of removed chunks."""
        gone = 0
        for chunk in chunks:
            self._db.execute(f"DELETE FROM {self._tables.parts} WHERE chunk_id = ?", (chunk,))
            gone += self._db.changes()
            self._db.execute(f"DELETE FROM {self._tables.part_bits} WHERE chunk_id = ?", (chunk,))
        self._count(-gone)

    def _count(self, parts: int) -> None:
        if parts:
            sql = "UPDATE generations SET part_vectors = part_vectors + ? WHERE id = ?"
            self._db.execute(sql, (parts, self._tables.number))


class PartDistances:
    """Hamming distances between a query and the parts of all chunks."""

    def __init__(self, chunks: NDArray[np.int64], distances: NDArray[np.uint16], dims: int) -> None:
        """`distances` are those of each chunk's best part; `chunks` are sorted by id."""
        self._chunks = chunks
        self._distances = distances
        self._dims = dims

    def nearest(self, limit: int) -> list[int]:
        """The chunks with the nearest parts."""
        import numpy

        most = min(limit, len(self._chunks))
        if not most:
            return []
        best: list[int] = self._chunks[numpy.argpartition(self._distances, most - 1)[:most]].tolist()
        return best

    def cosines(self, chunks: Sequence[int]) -> dict[int, float]:
        """Approximate cosine of the best part of each of these chunks with parts."""
        import numpy

        if not len(self._chunks):
            return {}
        asked = numpy.array(chunks, dtype=numpy.int64)
        places = numpy.minimum(numpy.searchsorted(self._chunks, asked), len(self._chunks) - 1)
        is_there = self._chunks[places] == asked
        cosines = numpy.cos(numpy.pi * self._distances[places[is_there]] / self._dims)
        return dict(zip(asked[is_there].tolist(), cosines.tolist(), strict=True))


class PartIndex:
    """An in-memory index over the parts of a generation's chunks.

    Chunk ids only grow and parts never change once they are complete, so only chunks from the first one on that waited
    for a part are loaded again; deleted rows drop out when their chunks are looked up.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._lock = threading.Lock()
        self._changes = -1
        self._settled = 0
        """The chunk up to which no part was missing."""
        self._bits: NDArray[np.uint64] | None = None
        """Indexed by 64-bit word, then part: summing columns is several times faster than summing rows."""
        self._chunks: NDArray[np.int64] | None = None
        self._firsts: NDArray[np.intp] | None = None
        """The first part of each chunk."""

    def compare(self, db: apsw.Connection, generation: Generation, query: Row) -> PartDistances:
        import numpy

        bits, chunks, firsts = self._read(db, generation)
        apart = numpy.zeros(bits.shape[1], dtype=numpy.uint16)
        for column, word in zip(
            bits, _to_words(_bits(query[numpy.newaxis], numpy.zeros_like(query)), 1)[:, 0], strict=True
        ):
            apart += numpy.bitwise_count(column ^ word)
        best = numpy.minimum.reduceat(apart, firsts) if len(firsts) else apart
        return PartDistances(chunks, best, len(query))

    def _read(
        self, db: apsw.Connection, generation: Generation
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.intp]]:
        import numpy

        with self._lock:
            is_full = self._bits is not None and self._bits.shape[1] > 2 * generation.part_vectors + _FEW_DEAD
            bits, chunks, firsts = self._bits, self._chunks, self._firsts
            if bits is None or chunks is None or firsts is None or generation.changes < self._changes or is_full:
                width = bytes_of_bits(int(generation.identity["dims"])) // 8
                bits = numpy.empty((width, 0), dtype=numpy.uint64)
                chunks, firsts = numpy.empty(0, dtype=numpy.int64), numpy.empty(0, dtype=numpy.intp)
                self._settled = 0
            elif generation.changes == self._changes:
                return bits, chunks, firsts
            stay = int(numpy.searchsorted(chunks, self._settled, side="right"))
            if stay < len(chunks):
                bits, chunks, firsts = bits[:, : firsts[stay]], chunks[:stay], firsts[:stay]
            rows: list[Any] = db.execute(
                f"SELECT chunk_id, bits FROM {self._tables.part_bits} WHERE chunk_id > ? ORDER BY chunk_id",
                (self._settled,),
            ).fetchall()
            filled = [(chunk, blob) for chunk, blob in rows if blob]
            if filled:
                width = len(bits)
                counts = numpy.array([len(blob) // (8 * width) for _, blob in filled])
                first = bits.shape[1] + numpy.cumsum(counts) - counts
                bits = numpy.concatenate(
                    (bits, _to_words(b"".join(blob for _, blob in filled), int(counts.sum()))), axis=1
                )
                chunks = numpy.concatenate((chunks, numpy.array([chunk for chunk, _ in filled], dtype=numpy.int64)))
                firsts = numpy.concatenate((firsts, first))
            waiting = db.execute(f"SELECT min(chunk_id) FROM {self._tables.part_bits} WHERE waiting > 0").get
            largest = rows[-1][0] if rows else self._settled
            self._settled = largest if waiting is None else min(largest, waiting - 1)
            self._bits, self._chunks, self._firsts, self._changes = bits, chunks, firsts, generation.changes
            return bits, chunks, firsts


def _to_words(bits: bytes, rows: int) -> NDArray[np.uint64]:
    """Bits of several rows as 64-bit words, indexed by word, then row."""
    import numpy

    return numpy.ascontiguousarray(numpy.frombuffer(bits, dtype=numpy.uint64).reshape(rows, -1).T)


def best_parts(db: apsw.Connection, tables: Tables, query: Row, chunks: Sequence[int]) -> dict[int, tuple[float, int]]:
    """The cosine of each chunk's best part with the query, and how many parts it has."""
    import numpy

    rows: list[Any] = db.execute(
        f"SELECT p.chunk_id, (SELECT vector FROM embeddings e WHERE e.id = p.embedding_id) FROM {tables.parts} p "
        "WHERE p.chunk_id IN (SELECT value FROM json_each(?)) ORDER BY p.chunk_id",
        (json.dumps(list(chunks)),),
    ).fetchall()
    if not rows:
        return {}
    owners = numpy.array([chunk for chunk, _ in rows], dtype=numpy.int64)
    cosines = from_bytes([blob for _, blob in rows]) @ query
    first = numpy.flatnonzero(numpy.diff(owners, prepend=-1))
    best = numpy.maximum.reduceat(cosines, first)
    counts = numpy.diff(first, append=len(owners))
    return {
        int(owner): (float(cosine), int(count))
        for owner, cosine, count in zip(owners[first], best, counts, strict=True)
    }


def part_cosines(db: apsw.Connection, tables: Tables, query: Row, chunk: int) -> dict[bytes, float]:
    """The cosine of each part of a chunk with the query, by the part's hash."""
    sql = (
        "SELECT text_hash, vector FROM embeddings "
        f"WHERE id IN (SELECT embedding_id FROM {tables.parts} WHERE chunk_id = ?)"
    )
    rows: list[Any] = db.execute(sql, (chunk,)).fetchall()
    return dict(zip((part for part, _ in rows), (from_bytes([blob for _, blob in rows]) @ query).tolist(), strict=True))


def spread_over_lines(lines: Sequence[str], by_part: Mapping[bytes, float]) -> list[float]:
    """Scores of a text's parts, spread over its lines; 0 for a line in no part."""
    from memslot.retrieval import parts_of

    parts = [(part, by_part[digest]) for part in parts_of("\n".join(lines)) if (digest := part_hash(part)) in by_part]
    found = [0.0] * len(lines)
    place = 0
    for number, line in enumerate(lines):
        text = " ".join(line.split())
        for step in range(place, len(parts)):
            part, value = parts[step]
            if text and (part in text or text in part or text.endswith(part[-40:])):
                found[number] = max(found[number], value)
                place = step
                break
    return found


def part_hash(part: str) -> bytes:
    """The cache key of a part's embedding."""
    return hashlib.sha256(part.encode()).digest()
