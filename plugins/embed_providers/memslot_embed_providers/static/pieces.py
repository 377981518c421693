"""The tokenizer's pieces in an SQLite file, from which those that a question needs are read in a millisecond.

The tokenizer itself takes longer to load than a whole search. Its rules are few: a word begins as single letters, and
of all neighbours that make a piece together, those that make the most common one are joined first.
"""

from __future__ import annotations

import json
import os
from itertools import pairwise

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    Piece = tuple[int, int, bytes]
    """A piece's number, its rank, and how long its first part may be, the likelier first."""

_LONGEST = 16
_LONGEST_WORD = 200
_FIRST_BYTE = 3
"""The number of the token for the byte 0; the others follow."""
_FORMAT = 1


def is_for(file: str, origin: str) -> bool:
    """Whether the file is whole and was made from this tokenizer."""
    try:
        db = _open(file)
        return bool(db.execute("SELECT 1 FROM origin WHERE text = ? AND format = ?", (origin, _FORMAT)).get)
    except apsw.Error:
        return False


def write_pieces(file: Path, tokenizer: Path, origin: str) -> None:
    """Make the file, for this user alone; a half-written one has another name. Raises OSError or apsw.Error."""
    model = json.loads(tokenizer.read_bytes())["model"]
    numbers: Mapping[str, int] = model["vocab"]
    rank: dict[str, int] = {}
    parts: dict[str, list[int]] = {}
    for place, merge in enumerate(model["merges"]):
        first, second = merge.split(" ") if isinstance(merge, str) else merge
        rank.setdefault(first + second, place)
        parts.setdefault(first + second, []).append(len(first))
    temporary = file.with_name(f".tmp-{os.getpid()}-{file.name}")
    temporary.unlink(missing_ok=True)
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        db = apsw.Connection(str(temporary), flags=apsw.SQLITE_OPEN_READWRITE)
        db.execute("PRAGMA journal_mode = OFF")
        with db:
            db.execute(
                "CREATE TABLE origin (text TEXT NOT NULL, format INTEGER NOT NULL);"
                "CREATE TABLE pieces (piece TEXT PRIMARY KEY, number INTEGER, rank INTEGER, parts BLOB) WITHOUT ROWID"
            )
            db.executemany(
                "INSERT INTO pieces VALUES (?, ?, ?, ?)",
                [(piece, numbers[piece], rank.get(piece), bytes(parts.get(piece, ()))) for piece in sorted(numbers)],
            )
            db.execute("INSERT INTO origin VALUES (?, ?)", (origin, _FORMAT))
        db.close()
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def _open(file: str) -> apsw.Connection:
    return apsw.Connection(file, flags=apsw.SQLITE_OPEN_READONLY)


class Pieces:
    """Cuts words into tokens as the tokenizer does."""

    def __init__(self, file: str) -> None:
        self._db = _open(file)

    def cut(self, words: Collection[str]) -> dict[str, list[int]]:
        """The tokens of each word, which has its spaces before it. Raises ValueError for one of no sane length."""
        if any(len(word) > _LONGEST_WORD for word in words):
            raise ValueError("there is a word that is too long to be cut here")
        marked = {word: word.replace(" ", "▁") for word in words}
        known = self._read({piece for word in marked.values() for piece in _possible(word)})
        return {word: list(_join(each, known)) for word, each in marked.items()}

    def _read(self, wanted: Collection[str]) -> dict[str, Piece]:
        rows = self._db.execute(
            "SELECT piece, number, rank, parts FROM pieces WHERE piece IN (SELECT value FROM json_each(?))",
            (json.dumps(list(wanted)),),
        )
        return {piece: (number, rank, parts) for piece, number, rank, parts in rows}


def _possible(word: str) -> Iterator[str]:
    """All parts of a word that may be a piece."""
    for start in range(len(word)):
        for end in range(start + 1, min(len(word), start + _LONGEST) + 1):
            yield word[start:end]


def _join(word: str, known: Mapping[str, Piece]) -> Iterator[int]:
    parts = list(word)
    while True:
        best, where = None, 0
        for place, (first, second) in enumerate(pairwise(parts)):
            piece = known.get(first + second)
            if piece is not None and len(first) in piece[2]:
                rank = (piece[1], piece[2].index(len(first)))
                if best is None or rank < best:
                    best, where = rank, place
        if best is None:
            break
        parts[where : where + 2] = [parts[where] + parts[where + 1]]
    for part in parts:
        if part in known:
            yield known[part][0]
        else:  # a letter that is no piece is spelled in bytes
            yield from (_FIRST_BYTE + byte for byte in part.encode())
