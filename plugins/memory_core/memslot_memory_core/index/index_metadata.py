"""The index's metadata: a key-value table in the index file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import apsw

from memslot_memory_core.index.schema import transaction

if TYPE_CHECKING:
    from memslot_memory_core.index.identity import Identity

_MOST_PROBLEMS = 50
_WRONG_SIZE = "wrong_size"
"""Metadata key: the last provider whose vectors had the wrong size."""


class IndexMetadata:
    """Key-value pairs in the index file; written inside the caller's transaction."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def read(self, name: str, default: Any = None) -> Any:
        value = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).get
        return default if value is None else json.loads(value)

    def write(self, name: str, value: Any) -> None:
        self._db.execute("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", (name, json.dumps(value)))

    def forget(self, name: str) -> None:
        self._db.execute("DELETE FROM facts WHERE name = ?", (name,))

    def problems(self) -> list[str]:
        """Problems of the last sync."""
        found: list[str] = self.read("problems", [])
        return found

    def write_problems(self, problems: Sequence[str]) -> None:
        self.write("problems", list(problems)[:_MOST_PROBLEMS])


def record_wrong_size(db: apsw.Connection, identity: Identity, reason: str) -> None:
    """Record that this provider's vectors have the wrong size, so that texts are not sent to it again in vain."""
    with transaction(db):
        IndexMetadata(db).write(_WRONG_SIZE, {"provider": _asked(identity), "reason": reason})


def wrong_size(db: apsw.Connection, identity: Identity) -> str | None:
    """The recorded size mismatch for this provider, model and address, if any."""
    noted = IndexMetadata(db).read(_WRONG_SIZE)
    return noted["reason"] if noted is not None and noted["provider"] == _asked(identity) else None


def forget_wrong_size(db: apsw.Connection) -> None:
    if IndexMetadata(db).read(_WRONG_SIZE) is not None:
        with transaction(db):
            IndexMetadata(db).forget(_WRONG_SIZE)


def _asked(identity: Identity) -> list[Any]:
    return [identity.provider, identity.model, identity.key, identity.dims]
