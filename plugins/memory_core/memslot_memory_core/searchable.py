"""The search protocol of the SQLite index, QMD, and the fallback between them."""

from __future__ import annotations

from typing import Protocol

from memslot import MemorySearchOutcome, MemoryStatus, Session


class Searchable(Protocol):
    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        session: Session | None = None,
        explain: bool = False,
        fresh_seconds: float | None = None,
        snippet_chars: int | None = None,
    ) -> MemorySearchOutcome: ...

    def status(self, *, deep: bool = False) -> MemoryStatus: ...

    def close(self) -> None: ...
