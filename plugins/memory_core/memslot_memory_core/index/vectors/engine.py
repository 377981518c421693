"""What a vector engine does, and where it finds the vectors it searches."""

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
"""The change counter of the index and the number of vectors, both read in the snapshot that is searched."""

BEFORE_ALL = -1
"""Smaller than every id."""

DIMS = {"sqlite-vec": range(1, 8193), "vec1": range(2, 4097)}
"""How long a vector may be; both extensions refuse others."""


class VectorEngine(Protocol):
    """Finds the nearest vectors. All calls work in the transaction that the caller has open.

    An engine object belongs to one table of one database file; it may be shared by threads and connections.
    """

    name: str

    def search(self, db: apsw.Connection, query: bytes, limit: int, *, state: State) -> list[Hit]:
        """The rows of this snapshot with the largest cosine, best first; of equals the smaller id first."""

    def cosines(self, db: apsw.Connection, query: bytes, rowids: Sequence[int], *, state: State) -> dict[int, float]:
        """The exact cosine of each of these rows that is in this snapshot and has a vector with a length."""

    def add(self, db: apsw.Connection, rows: Iterable[tuple[int, bytes]]) -> None:
        """Take in new rows; those without a length are left out."""

    def remove(self, db: apsw.Connection, rowids: Sequence[int]) -> None:
        """Forget rows; one that is not there is no mistake."""

    def create(self, db: apsw.Connection) -> None:
        """Make the table, empty."""

    def drop(self, db: apsw.Connection) -> None:
        """Remove the table, if it is there."""

    def fill(self, db: apsw.Connection) -> None:
        """Put all canonical rows into the empty table."""

    def count(self, db: apsw.Connection) -> int | None:
        """How many rows the table has; None where there is no table."""

    def maintain(self, db: apsw.Connection) -> bool:
        """Bring the table into the shape that its size asks for; True if something was done.

        For the writer, after the files are done: it can take seconds where a table is large.
        """


@dataclass(frozen=True)
class VectorTable:
    """A set of canonical vectors, and the name that an engine's own table for them has.

    `rows` is a SELECT that gives id and vector. Ids only ever grow: a row that comes in later has a larger id than
    all rows before it, even those that are gone, and a row's vector never changes.
    """

    name: str
    dims: int
    rows: str

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"{self.name!r} cannot be the name of a vector table")
        if self.dims < 1:
            raise ValueError(f"a vector has at least 1 number, not {self.dims}")

    def after(self, db: apsw.Connection, rowid: int = BEFORE_ALL) -> Iterator[tuple[int, bytes]]:
        """The rows with a larger id, by id."""
        return db.execute(self.select("id, vector", "id > ? ORDER BY id"), (rowid,))

    def these(self, db: apsw.Connection, rowids: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Those of the rows that are in this snapshot, in any order."""
        asked = json.dumps(list(rowids))
        return db.execute(self.select("id, vector", "id IN (SELECT value FROM json_each(?))"), (asked,))

    def ids(self, db: apsw.Connection) -> list[int]:
        """The ids of all rows that have a vector with a length, by id."""
        sql = self.select("id", "id > ? AND length(vector) > 0 ORDER BY id")
        return [rowid for (rowid,) in db.execute(sql, (BEFORE_ALL,))]

    def checked(self, rows: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """The rows that can be compared; a vector of another length is an error."""
        for rowid, vector in rows:
            if has_length(vector):
                self.check(vector, f"row {rowid}")
                yield rowid, vector

    def check(self, vector: bytes, owner: str) -> None:
        if len(vector) != 4 * self.dims:
            raise ValueError(
                f"the vector of {owner} has {len(vector) / 4:g} numbers, and those in {self.name} have {self.dims}"
            )

    def select(self, columns: str, where: str) -> str:
        """A SELECT from the canonical rows, which have the columns `id` and `vector`."""
        # SQLite dissolves the inner SELECT, so that the condition reaches its table's primary key.
        return f"WITH found(id, vector) AS ({self.rows}) SELECT {columns} FROM found WHERE {where}"


def has_length(vector: bytes) -> bool:
    """False for no numbers at all and for zeros of either sign: there is no cosine with such a vector."""
    return bool(vector.strip(b"\x00\x80"))
