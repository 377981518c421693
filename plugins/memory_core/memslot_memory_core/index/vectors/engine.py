"""The vector engine interface, and the canonical vectors it searches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import apsw

Hit = tuple[int, float]
"""A row's id and its cosine with the query."""

State = tuple[int, int]
"""The index's change counter and vector count, read in the searched snapshot."""

BEFORE_ALL = -1
"""Smaller than every id."""

DIMS = {"sqlite-vec": range(1, 8193), "vec1": range(2, 4097)}
"""Supported dimensions per engine."""


class VectorEngine(Protocol):
    """Finds the nearest vectors, inside the caller's transaction.

    An engine object belongs to one table of one database file; it may be shared by threads and connections.
    """

    def search(self, db: apsw.Connection, query: bytes, limit: int, *, state: State) -> list[Hit]:
        """The rows of this snapshot with the largest cosine, best first; ties by smaller id."""

    def cosines(self, db: apsw.Connection, query: bytes, rowids: Sequence[int], *, state: State) -> dict[int, float]:
        """The exact cosines of these rows, without those that are missing or all zeros."""

    def add(self, db: apsw.Connection, rows: Iterable[tuple[int, bytes]]) -> None:
        """Add new rows; all-zero vectors are skipped."""

    def remove(self, db: apsw.Connection, rowids: Sequence[int]) -> None:
        """Remove rows; missing ids are ignored."""

    def create(self, db: apsw.Connection) -> None:
        """Create the empty table."""

    def fill(self, db: apsw.Connection) -> None:
        """Fill the empty table with all canonical rows."""

    def count(self, db: apsw.Connection) -> int | None:
        """Row count of the table; None without a table."""

    def maintain(self, db: apsw.Connection) -> bool:
        """Optimize the table for its size; True if something was done.

        For the writer, after all files: it can take seconds for a large table.
        """


@dataclass(frozen=True)
class VectorTable:
    """A set of canonical vectors, and the name of an engine's table for them.

    `rows` is a SELECT of id and vector, `waiting` one of the first id whose vector is still to come, if any. Ids only
    grow: a new row's id is larger than all before it, even deleted ones. A stored vector never changes.
    """

    name: str
    dims: int
    rows: str
    waiting: str = "SELECT NULL"

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"{self.name!r} is not a valid vector table name")
        if self.dims < 1:
            raise ValueError(f"a vector needs at least 1 dimension, not {self.dims}")

    def after(self, db: apsw.Connection, rowid: int = BEFORE_ALL) -> Iterator[tuple[int, bytes]]:
        """The rows with a larger id, by id."""
        return db.execute(self.select("id, vector", "id > ? ORDER BY id"), (rowid,))

    def ids_after(self, db: apsw.Connection, rowid: int) -> list[int]:
        """The larger ids of rows with a vector, sorted."""
        return [each for (each,) in db.execute(self.select("id", "id > ? ORDER BY id"), (rowid,))]

    def settled(self, db: apsw.Connection, largest: int) -> int:
        """The id up to which no row will get a vector any more; `largest` if none is waiting."""
        first = db.execute(self.waiting).get
        return largest if first is None else min(largest, first - 1)

    def by_ids(self, db: apsw.Connection, rowids: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """The rows with these ids in this snapshot, by id."""
        asked = json.dumps(list(rowids))
        return db.execute(self.select("id, vector", "id IN (SELECT value FROM json_each(?)) ORDER BY id"), (asked,))

    def ids(self, db: apsw.Connection) -> list[int]:
        """The ids of all rows with a nonzero vector, sorted."""
        sql = self.select("id", "id > ? AND length(vector) > 0 ORDER BY id")
        return [rowid for (rowid,) in db.execute(sql, (BEFORE_ALL,))]

    def checked(self, rows: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """The rows with a nonzero vector; raises for other dimensions."""
        for rowid, vector in rows:
            if is_nonzero(vector):
                self.check(vector, f"row {rowid}")
                yield rowid, vector

    def check(self, vector: bytes, owner: str) -> None:
        if len(vector) != 4 * self.dims:
            raise ValueError(
                f"the vector of {owner} has {len(vector) / 4:g} dimensions, but {self.name} has {self.dims}"
            )

    def select(self, columns: str, where: str) -> str:
        """A SELECT from the canonical rows, which have the columns `id` and `vector`."""
        # SQLite flattens the inner SELECT, so the condition reaches the primary key.
        return f"WITH found(id, vector) AS ({self.rows}) SELECT {columns} FROM found WHERE {where}"


def is_nonzero(vector: bytes) -> bool:
    """False for an empty vector and for all zeros, of either sign: neither has a cosine."""
    return bool(vector.strip(b"\x00\x80"))
