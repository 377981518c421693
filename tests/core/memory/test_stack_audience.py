"""A memory that cannot tell who listens is asked in private chats only."""

from __future__ import annotations

from typing import Any

import pytest
from memslot import MemoryHit, MemorySearchOutcome, MemoryStatus, MemslotError, Session, search_memory


class Diary:
    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        return MemorySearchOutcome([MemoryHit("diary.md", 0.9, "a secret wish")], mode="keyword")

    def status(self) -> MemoryStatus:
        return MemoryStatus("diary")

    def close(self) -> None: ...


def test_a_memory_without_a_session_is_not_asked_in_a_group() -> None:
    memory: Any = Diary()
    assert search_memory(memory, "wish", session=Session("main")).hits
    with pytest.raises(MemslotError, match="group chats"):
        search_memory(memory, "wish", session=Session("main", chat_type="group"))
