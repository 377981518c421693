"""Health of an index: row counts, consistency checks, problems."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import apsw

from memslot_memory_core.index import keywords
from memslot_memory_core.index.connection import damage_in
from memslot_memory_core.index.embeddings import Embedder, has_background
from memslot_memory_core.index.generation import Generation
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.index_metadata import IndexMetadata
from memslot_memory_core.index.memory_sources import UNSETTLED, IndexedFile, Sources
from memslot_memory_core.index.part_vectors import bytes_of_bits
from memslot_memory_core.index.rebuild import find_mismatch
from memslot_memory_core.index.report import DISK_SCAN, MAINTENANCE, Mismatch
from memslot_memory_core.index.store import Snapshot
from memslot_memory_core.index.vector_tables import VectorTables
from memslot_memory_core.sources.files import UNREAD_WORKSPACE, SourceFile

_REPAIR = "run: memslot memory index --force"
_MAX_REMARKS = 50


@dataclass
class Health:
    """Row counts of one generation, and a message for every inconsistency."""

    counts: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)


def check_health(
    snapshot: Snapshot,
    vectors: VectorTables,
    wanted: Identity,
    embedder: Embedder,
    *,
    workspace: Path | None = None,
    deep: bool = False,
) -> Health:
    """Count the rows themselves, not the cached counters; `deep` also runs an integrity check.

    `wanted` is the index that the settings ask for.
    """
    generation, db = snapshot.generation, snapshot.db
    health = Health()
    counts = _counted(db, generation)
    shown = ("files", "chunks", "words", "vectors", "parts", "embeddings")
    health.counts = {name: counts[name] for name in shown if name in counts}
    mismatch = find_mismatch(db, generation, wanted, embedder)
    if mismatch is not None:
        health.problems.append(f"{mismatch.sentence}; rebuild it with: memslot memory index --force")
    # The settings may have changed, or changed back, since the last sync.
    health.problems += [each for each in IndexMetadata(db).problems() if not _is_outdated(each, workspace)]
    if counts["chunks"] != counts["words"]:
        health.problems.append(f"{counts['chunks']} chunks and {counts['words']} keyword rows should match; {_REPAIR}")
    if counts["turns"] != counts["turnWords"]:
        health.problems.append(
            f"{counts['turns']} user lines and {counts['turnWords']} keyword rows of them should match; {_REPAIR}"
        )
    searched = vectors.counts(db, generation)
    if searched is not None and searched != (generation.vectors, generation.turn_vectors):
        health.problems.append(
            f"{searched[0] + searched[1]} vectors are searchable, but "
            f"{generation.vectors + generation.turn_vectors} should be; {_REPAIR}"
        )
    unfinished = IndexMetadata(db).read(MAINTENANCE) == "begun" or vectors.needs_maintenance(db, generation)
    if generation.synced_at is None:
        health.problems.append("the first index is not complete yet; run: memslot memory index")
    if mismatch is None and embedder.pipeline is not None:
        health.problems += [f"{each}; run: memslot memory index" for each in _unembedded(db, generation, counts)]
    if (counts["files"], counts["chunks"], counts["vectors"], counts.get("parts", 0)) != (
        generation.files,
        generation.chunks,
        generation.vectors,
        generation.part_vectors,
    ):
        health.problems.append(f"the index's row counters are wrong; {_REPAIR}")
    remarks = db.execute(f"SELECT path, remark FROM {generation.tables.files} WHERE remark IS NOT NULL ORDER BY path")
    health.details = {
        "identity": dict(generation.identity),
        "engine": generation.engine,
        "engineReason": generation.engine_reason,
        "generation": generation.number,
        "mismatch": None if mismatch is None else mismatch.to_json(),
        "syncedAt": generation.synced_at,
        "unfinished": ["the vector tables are not optimized yet"] if unfinished else [],
        "linksSkipped": IndexMetadata(db).read(DISK_SCAN, {}).get("links", 0),
        "remarks": [f"{path}: {remark}" for path, remark in islice(remarks, _MAX_REMARKS)],
    }
    if deep:
        searched_parts = _searched_parts(db, generation)
        if searched_parts != counts.get("parts", 0):
            health.problems.append(
                f"{searched_parts} parts of chunks are searchable, but {counts.get('parts', 0)} should be; {_REPAIR}"
            )
        health.problems += [f"the index is damaged: {line}; {_REPAIR}" for line in damage_in(db)]
    return health


def _is_outdated(problem: str, workspace: Path | None) -> bool:
    """Whether a stored problem is about settings that may have changed since."""
    if problem.startswith(UNREAD_WORKSPACE):
        if workspace is None:
            return False
        is_another = not problem.startswith(f"{UNREAD_WORKSPACE}{workspace} ")
        # A missing workspace is the status's own problem, and only while it is missing.
        return is_another or not workspace.is_dir() or _is_listable(workspace)
    return problem.startswith(Mismatch.BEGINNING)


def _is_listable(folder: Path) -> bool:
    try:
        os.scandir(folder).close()
    except OSError:
        return False
    return True


def _unembedded(db: apsw.Connection, generation: Generation, counts: Mapping[str, int]) -> Iterator[str]:
    """Messages about chunks and parts that still lack vectors."""
    chunks = counts["chunks"] - counts["vectors"] - counts["withoutDirection"]
    if chunks:
        yield f"{chunks} of {counts['chunks']} chunks have no vector yet"
    parts = counts.get("waitingParts", 0)
    if parts:
        yield f"{parts} of {counts['parts'] + parts} parts of chunks have no vector yet"
    if counts["vectors"] and not has_background(db, Identity.from_json(generation.identity)):
        yield "the background sentences that similarity is calibrated against are not embedded yet"


def _searched_parts(db: apsw.Connection, generation: Generation) -> int:
    """How many parts are searchable by their bits."""
    identity = Identity.from_json(generation.identity)
    if not identity.parts or not identity.dims:
        return 0
    total = int(db.execute(f"SELECT coalesce(sum(length(bits)), 0) FROM {generation.tables.part_bits}").get)
    return total // bytes_of_bits(identity.dims)


def _counted(db: apsw.Connection, generation: Generation) -> dict[str, int]:
    tables = generation.tables

    def number(sql: str) -> int:
        return int(db.execute(sql).get)

    with_vector = (
        "SELECT count(*) FROM {} r JOIN embeddings e ON e.id = r.embedding_id WHERE length(e.vector) {} 0".format
    )
    parts = {}
    if generation.identity.get("parts"):
        parts = {
            "parts": number(f"SELECT count(*) FROM {tables.parts}"),
            "waitingParts": number(f"SELECT coalesce(sum(waiting), 0) FROM {tables.part_bits} WHERE waiting > 0"),
        }
    return {
        **parts,
        "files": number(f"SELECT count(*) FROM {tables.files}"),
        "chunks": number(f"SELECT count(*) FROM {tables.chunks}"),
        "words": keywords.count(db, tables.words),
        "vectors": number(with_vector(tables.chunks, ">")),
        "withoutDirection": number(with_vector(tables.chunks, "=")),
        "turns": number(f"SELECT count(*) FROM {tables.turns}"),
        "turnWords": keywords.count(db, tables.turn_words),
        "embeddings": number("SELECT count(*) FROM embeddings"),
    }


def count_changed(snapshot: Snapshot, sources: Sources) -> int:
    """How many files on disk are new, changed or gone; nothing is written."""
    disk = sources.discover()
    rows = snapshot.db.execute(f"SELECT source, path, stamp, hash, resume FROM {snapshot.generation.tables.files}")
    known = {(source, path): IndexedFile(*row) for source, path, *row in rows}
    found = {(file.source, file.path): file for file in disk.files}
    gone = [path for source, path in known.keys() - found.keys() if not path.startswith(tuple(disk.unread))]
    changed = [file for name, file in found.items() if name not in known or _differs(file, known[name], sources)]
    return len(gone) + len(changed)


def _differs(file: SourceFile, row: IndexedFile, sources: Sources) -> bool:
    return row.stamp.removesuffix(UNSETTLED) != file.stamp and sources.grew_enough(file, row)


def is_writable(file: Path) -> bool:
    """Whether permissions allow writing the index, or creating it."""
    if file.exists():
        return os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)
    return os.access(next(path for path in file.absolute().parents if path.exists()), os.W_OK)


def size_on_disk(file: Path) -> int:
    """Size of the index on disk, including its WAL."""
    total = 0
    for each in (file, Path(f"{file}-wal")):
        with contextlib.suppress(OSError):
            total += each.stat().st_size
    return total
