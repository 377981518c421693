"""Small things that an index remembers about itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

_MOST_PROBLEMS = 50


class Facts:
    """Named values in the index file; written inside the caller's transaction."""

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
        """What the last sync could not do."""
        found: list[str] = self.read("problems", [])
        return found

    def write_problems(self, problems: Sequence[str]) -> None:
        self.write("problems", list(problems)[:_MOST_PROBLEMS])
