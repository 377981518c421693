"""The Arrow schema, and conversion between rows and memories."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from memslot_memory_lancedb.embedding.identity import Identity
from memslot_memory_lancedb.memory_record import CATEGORIES, Category, MemoryRecord, Origin
from memslot_memory_lancedb.store.predicate import Owner

if TYPE_CHECKING:
    import numpy

    Vector = numpy.ndarray[tuple[int], numpy.dtype[numpy.float32]]

METADATA_KEY = b"memslot"
COLUMNS = (
    "id",
    "agentId",
    "text",
    "category",
    "importance",
    "createdAt",
    "updatedAt",
    "session",
    "message",
    "embedder",
)
"""All columns except those for search: the vector is far larger than the rest and rarely needed."""
STEMS = "stems"
"""The stems column, as from `index_stems`. Null in rows of older versions."""


def make_schema(owner: Owner, generation: int, identity: Identity | None) -> Any:
    """The schema of one generation; owner and embedder are in its metadata."""
    import pyarrow  # type: ignore[import-untyped]

    moment = pyarrow.timestamp("us", tz="UTC")
    fields = [
        pyarrow.field("id", pyarrow.string(), nullable=False),
        pyarrow.field("agentId", pyarrow.string(), nullable=False),
        pyarrow.field("text", pyarrow.string(), nullable=False),
        pyarrow.field("vector", pyarrow.list_(pyarrow.float32(), identity.dims if identity else 1)),
        pyarrow.field("category", pyarrow.string(), nullable=False),
        pyarrow.field("importance", pyarrow.float64(), nullable=False),
        pyarrow.field("createdAt", moment, nullable=False),
        pyarrow.field("updatedAt", moment, nullable=False),
        pyarrow.field("session", pyarrow.string(), nullable=False),
        pyarrow.field("message", pyarrow.string(), nullable=False),
        pyarrow.field("embedder", pyarrow.string(), nullable=False),
        stems_field(),
    ]
    about = {
        "agentId": owner.agent_id,
        "generation": generation,
        "identity": identity.to_json() if identity is not None else None,
    }
    return pyarrow.schema(fields, metadata={METADATA_KEY: json.dumps(about).encode()})


def stems_field() -> Any:
    import pyarrow

    return pyarrow.field(STEMS, pyarrow.string())


def read_metadata(schema: Any) -> Mapping[str, Any]:
    """The metadata written by `make_schema`, or empty."""
    try:
        about = json.loads((schema.metadata or {}).get(METADATA_KEY, b"{}"))
    except ValueError:
        return {}
    return about if isinstance(about, dict) else {}


def to_arrow(owner: Owner, schema: Any, memories: Sequence[MemoryRecord], vectors: Sequence[Vector | None]) -> Any:
    """Rows for `add` or `merge_insert`; None is a memory without a vector."""
    import pyarrow
    from memslot.retrieval import index_stems

    columns = {
        "id": [each.id for each in memories],
        "agentId": [owner.agent_id] * len(memories),
        "text": [each.text for each in memories],
        "vector": _vector_column(schema, vectors),
        "category": [each.category for each in memories],
        "importance": [each.importance for each in memories],
        "createdAt": [each.created_at for each in memories],
        "updatedAt": [each.changed_at for each in memories],
        "session": [each.origin.session for each in memories],
        "message": [each.origin.message for each in memories],
        "embedder": [each.embedder for each in memories],
    }
    if STEMS in schema.names:
        columns[STEMS] = [index_stems(each.text) for each in memories]
    return pyarrow.table(columns, schema=schema)


def _vector_column(schema: Any, vectors: Sequence[Vector | None]) -> Any:
    """All vectors in one block: a hundred times faster than lists."""
    import numpy
    import pyarrow

    dims = schema.field("vector").type.list_size
    block = numpy.zeros((len(vectors), dims), dtype=numpy.float32)
    for number, vector in enumerate(vectors):
        if vector is not None:
            block[number] = vector
    missing = pyarrow.array([vector is None for vector in vectors], type=pyarrow.bool_())
    return pyarrow.FixedSizeListArray.from_arrays(block.ravel(), dims, mask=missing)


def vectors_in(column: Any) -> list[Vector | None]:
    """The vectors of an Arrow column, without Python floats."""
    import numpy

    dims = column.type.list_size
    filled = numpy.concatenate([chunk.flatten().to_numpy() for chunk in column.chunks] or [numpy.zeros(0)])
    rows = iter(filled.astype(numpy.float32, copy=False).reshape(-1, dims))
    return [next(rows) if is_there else None for is_there in column.is_valid().to_pylist()]


def from_row(owner: Owner, row: Mapping[str, Any]) -> MemoryRecord | None:
    """One row as a memory; None for a row of another agent, which should never occur."""
    if row["agentId"] != owner.agent_id:
        return None
    category = row["category"] if row["category"] in CATEGORIES else "other"
    return MemoryRecord(
        id=row["id"],
        text=row["text"],
        category=cast(Category, category),
        importance=row["importance"],
        created_at=row["createdAt"],
        updated_at=row["updatedAt"] if row["updatedAt"] != row["createdAt"] else None,
        origin=Origin(row["session"], row["message"]),
        embedder=row["embedder"],
    )
