"""Gathers the words of an index, and which of them are alike, so that a search from a shell has them.

`search/kept_words` reads the file.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
from memslot import make_private_dir

from memslot_memory_core.index.store import Snapshot
from memslot_memory_core.search.kept_words import add_words, open_words
from memslot_memory_core.search.vocabulary import IN_RUN, cut
from memslot_memory_core.search.word_rows import DIMS, LEAST_COSINE

if TYPE_CHECKING:
    from memslot_memory_core.search.kept_words import Embed
    from memslot_memory_core.search.word_vectors import Matrix, Numbers

_CHUNKS_AT_ONCE = 256
_WORDS_AT_ONCE = 512
_MOST_WORDS = 200_000
_FORMAT = 1


def learn_words(file: Path, snapshot: Snapshot, embed: Embed, *, seconds: float) -> None:
    """Take in the words of chunks that were not read yet. Never raises: without the file the usual way is taken."""
    deadline = time.monotonic() + seconds
    try:
        # An index that was built anew may have lost notes whose words should go, too.
        number, identity = snapshot.generation.number, json.dumps(snapshot.generation.identity, sort_keys=True)
        with contextlib.closing(_open(file, f"{_FORMAT} {LEAST_COSINE} {number} {identity}")) as db:
            if _read_chunks(db, snapshot, embed, deadline) and _list_similar(db, deadline):
                with db:
                    db.execute("UPDATE progress SET listed = 1 WHERE generation = ?", (number,))
    except (apsw.Error, OSError):
        return


def _open(file: Path, kind: str) -> apsw.Connection:
    """The file for words of this kind; what was there for another kind is thrown away."""
    make_private_dir(file.parent)
    for _ in range(2):
        with contextlib.suppress(FileExistsError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        db = open_words(str(file))
        try:
            if _kind_of(db) == kind:
                return db
            with db:
                _make_tables(db, kind)
            return db
        except (apsw.CorruptError, apsw.NotADBError):
            db.close()
            file.unlink(missing_ok=True)
        except BaseException:
            db.close()
            raise
    raise OSError(f"{file} cannot be used")


def _kind_of(db: apsw.Connection) -> str | None:
    if not db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'kind'").get:
        return None
    kind: str | None = db.execute("SELECT text FROM kind").get
    return kind


def _make_tables(db: apsw.Connection, kind: str) -> None:
    for table in ("words", "lists", "progress", "kind"):
        db.execute(f"DROP TABLE IF EXISTS {table}")
    db.execute(
        "CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT UNIQUE NOT NULL, vector BLOB);"
        "CREATE TABLE lists (id INTEGER PRIMARY KEY, near BLOB NOT NULL, cosines BLOB NOT NULL);"
        "CREATE TABLE progress (generation INTEGER PRIMARY KEY, chunk INTEGER NOT NULL, listed INTEGER NOT NULL);"
        "CREATE TABLE kind (text TEXT NOT NULL)"
    )
    db.execute("INSERT INTO kind VALUES (?)", (kind,))


def _read_chunks(db: apsw.Connection, snapshot: Snapshot, embed: Embed, deadline: float) -> bool:
    """Whether the words of all chunks are in the file now."""
    number = snapshot.generation.number
    done = int(db.execute("SELECT coalesce(max(chunk), 0) FROM progress WHERE generation = ?", (number,)).get)
    known: set[str] | None = None
    for last, texts in _chunks(snapshot, done):
        if known is None:
            known = {word for (word,) in db.execute("SELECT word FROM words")}
        new = sorted({word.lstrip(IN_RUN).lower() for text in texts for word in cut(text).split()} - known)
        if len(known) + len(new) > _MOST_WORDS or time.monotonic() > deadline:
            return False
        if new:
            add_words(db, zip(new, _rows(embed, new), strict=True))
            known.update(new)
        db.execute("INSERT OR REPLACE INTO progress VALUES (?, ?, 0)", (number, last))
    return True


def _chunks(snapshot: Snapshot, done: int) -> Iterator[tuple[int, Sequence[str]]]:
    """The texts that come after a chunk, so many at a time, each time with the number of the last."""
    sql = f"SELECT id, text FROM {snapshot.generation.tables.chunks} WHERE id > ? ORDER BY id LIMIT {_CHUNKS_AT_ONCE}"
    while rows := list(snapshot.db.execute(sql, (done,))):
        done = rows[-1][0]
        yield done, [text for _, text in rows]


def _rows(embed: Embed, words: Sequence[str]) -> list[bytes | None]:
    import numpy

    from memslot_memory_core.search.word_vectors import rounded

    found: list[bytes | None] = []
    for start in range(0, len(words), 1000):
        vectors = numpy.asarray(embed(words[start : start + 1000]), dtype=numpy.float32)[:, :DIMS]
        found += [row.tobytes() if row.any() else None for row in rounded(vectors).astype(numpy.int8)]
    return found


def _list_similar(db: apsw.Connection, deadline: float) -> bool:
    """Whether every word now has the list of those that are like it."""
    import numpy

    missing = [number for (number,) in db.execute("SELECT id FROM words EXCEPT SELECT id FROM lists")]
    if not missing:
        return True
    numbers, matrix = _all_words(db)
    places = numpy.flatnonzero(numpy.isin(numbers, missing))
    is_listed = numpy.isin(numbers, missing, invert=True)
    for start in range(0, len(places), _WORDS_AT_ONCE):
        if time.monotonic() > deadline:
            return False
        _list(db, numbers, matrix, places[start : start + _WORDS_AT_ONCE], is_listed)
    with db:  # a word without a vector is like no other
        db.execute("INSERT OR IGNORE INTO lists SELECT id, x'', x'' FROM words WHERE vector IS NULL")
    return True


def _all_words(db: apsw.Connection) -> tuple[Numbers, Matrix]:
    import numpy

    rows = list(db.execute("SELECT id, vector FROM words WHERE vector IS NOT NULL ORDER BY id"))
    joined = numpy.frombuffer(b"".join(vector for _, vector in rows), dtype=numpy.int8)
    matrix = joined.reshape(len(rows), -1).astype(numpy.float32)
    numbers = numpy.array([number for number, _ in rows], dtype=numpy.intp)
    return numbers, matrix / numpy.linalg.norm(matrix, axis=1, keepdims=True)


def _list(db: apsw.Connection, numbers: Numbers, matrix: Matrix, places: Numbers, is_listed: Any) -> None:
    """Write the lists of some words, and add these words to the lists that were written before."""
    import numpy

    cosines = matrix[places] @ matrix.T
    cosines[numpy.arange(len(places)), places] = 0.0  # not itself
    is_close = cosines >= LEAST_COSINE
    with db:
        for place, close, row in zip(places, is_close, cosines, strict=True):
            near = numpy.flatnonzero(close)
            db.execute(
                "INSERT OR REPLACE INTO lists VALUES (?, ?, ?)",
                (int(numbers[place]), *_packed(numbers[near], row[near])),
            )
        for other in numpy.flatnonzero(is_close.any(axis=0) & is_listed):
            new, number = numpy.flatnonzero(is_close[:, other]), int(numbers[other])
            before = db.execute("SELECT near, cosines FROM lists WHERE id = ?", (number,)).get
            packed = _packed(numbers[places[new]], cosines[new, other])
            joined = [old + added for old, added in zip(before, packed, strict=True)]
            db.execute("UPDATE lists SET near = ?, cosines = ? WHERE id = ?", (*joined, number))


def _packed(numbers: Numbers, cosines: Matrix) -> tuple[bytes, bytes]:
    return numbers.astype("u4").tobytes(), cosines.astype("f4").tobytes()
