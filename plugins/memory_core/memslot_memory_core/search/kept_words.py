"""Which words are like others, from a file: for a process that searches once.

The file (`quick_words` fills it) holds the words of an index, their vectors, and for each word those that are like it.
Nothing in it could not be made again.
"""

from __future__ import annotations

import json
from array import array

import apsw

from memslot_memory_core.search.word_rows import LEAST_COSINE, row_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from typing import Any

    Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
    Likeness = dict[str, dict[int, float]]
    """Words that are like any asked one, with their cosines by its place."""

_MOST_UNKNOWN = 200
"""Words that a provider is asked for in plain Python; for more of them the usual way is faster."""
_BUSY_MILLISECONDS = 100


class UnknownWordsError(Exception):
    """Too many words have no vector in the file; the usual way fills it."""


class KeptWords:
    """The words of an index whose newest chunk is `last_chunk` of a generation. Raises apsw.Error without the file."""

    def __init__(
        self, file: str, embed: Embed, generation: int, last_chunk: int, extension_path: str | None = None
    ) -> None:
        self._embed = embed
        self._extension_path = extension_path
        self._db = open_words(file)
        listed = "SELECT 1 FROM progress WHERE generation = ? AND chunk >= ? AND listed"
        self._is_listed = bool(self._db.execute(listed, (generation, last_chunk)).get)

    def similar(self, asked: Sequence[str], among: Callable[[], Collection[str]]) -> Likeness:
        """Those words of the index that are like any asked one; `among` are the only ones that matter."""
        found: Likeness = {}
        rest = list(enumerate(word.lower() for word in asked))
        if self._is_listed:
            lists = self._lists([word for _, word in rest])
            for place, word in rest:
                for other, cosine in lists.get(word, ()):
                    found.setdefault(other, {})[place] = cosine
            rest = [(place, word) for place, word in rest if word not in lists]
        rows = zip(rest, map(row_of, self._embed([word for _, word in rest])), strict=True) if rest else ()
        if compared := {place: row for (place, _), row in rows if row is not None}:
            for word, close in self._compare(compared, among()).items():
                found.setdefault(word, {}).update(close)
        return found

    def _lists(self, asked: Sequence[str]) -> dict[str, list[tuple[str, float]]]:
        """For each asked word of the index those that are like it."""
        listed = "SELECT w.word, l.near, l.cosines FROM words w JOIN lists l ON l.id = w.id WHERE w.word IN "
        named = "SELECT id, word FROM words WHERE id IN "
        these = "(SELECT value FROM json_each(?))"
        found = [
            (word, array("I", near), array("f", cosines))
            for word, near, cosines in self._db.execute(listed + these, (json.dumps(asked),))
        ]
        ids = json.dumps([number for _, near, _ in found for number in near])
        word_of = dict(self._db.execute(named + these, (ids,)))
        return {
            word: [(word_of[number], cosine) for number, cosine in zip(near, cosines, strict=True)]
            for word, near, cosines in found
        }

    def _compare(self, asked: dict[int, bytes], among: Collection[str]) -> Likeness:
        self._load_extension()
        found = self._ask(asked, among)
        unknown = [word for word, is_known, *_ in found if not is_known]
        if unknown:
            self._learn(unknown)
            found = [each for each in found if each[1]] + self._ask(asked, unknown)
        return {
            word: {place: 1.0 - far for place, far in zip(asked, distances, strict=True) if _is_close(far)}
            for word, _, *distances in found
        }

    def _ask(self, asked: dict[int, bytes], among: Collection[str]) -> list[tuple[Any, ...]]:
        """The words that are close to any row, and those that are not in the file: word, whether it is, distances."""
        names = [f"d{place}" for place in asked]
        far = "CASE WHEN w.vector IS NOT NULL THEN vec_distance_cosine(vec_int8(w.vector), vec_int8(?{})) END {}"
        columns = [far.format(number, name) for number, name in enumerate(names, 2)]
        every = (
            f"SELECT {', '.join(['j.value word', 'w.word IS NOT NULL is_known', *columns])} "
            "FROM json_each(?1) j LEFT JOIN words w ON w.word = j.value"
        )
        close = "".join(f" OR {name} <= {1.0 - LEAST_COSINE}" for name in names)
        sql = f"SELECT {', '.join(['word', 'is_known', *names])} FROM ({every}) WHERE NOT is_known{close}"
        return list(self._db.execute(sql, (json.dumps(list(among)), *asked.values())))

    def _learn(self, words: Sequence[str]) -> None:
        """Add words that nobody has met before."""
        if len(words) > _MOST_UNKNOWN:
            self._db.execute("DELETE FROM progress")  # the words of the index are to be read once more
            raise UnknownWordsError(f"{len(words)} words are not known yet")
        add_words(self._db, zip(words, map(row_of, self._embed(words)), strict=True))

    def _load_extension(self) -> None:
        from memslot_memory_core.index.vectors.loading import load

        lack = load(self._db, "sqlite-vec", extension_path=self._extension_path)
        if lack is not None:
            raise OSError(lack)

    def close(self) -> None:
        self._db.close()


def _is_close(distance: float | None) -> bool:
    return distance is not None and distance <= 1.0 - LEAST_COSINE


def open_words(file: str) -> apsw.Connection:
    """A connection to such a file, which must be there."""
    db = apsw.Connection(file, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW)
    db.set_busy_timeout(_BUSY_MILLISECONDS)
    return db


def add_words(db: apsw.Connection, rows: Iterable[tuple[str, bytes | None]]) -> None:
    """Words with their rows, in one transaction; those that are there stay, and no list is complete any more."""
    with db:
        db.executemany("INSERT OR IGNORE INTO words (word, vector) VALUES (?, ?)", rows)
        db.execute("UPDATE progress SET listed = 0")
