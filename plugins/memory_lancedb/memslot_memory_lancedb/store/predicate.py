"""SQL conditions for LanceDB, built only here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memslot_memory_lancedb.errors import StoreError

VECTORLESS = "`vector` IS NULL"
WAITING = "`embedder` = ''"
WORDLESS = "`stems` IS NULL"


def quoted(text: str) -> str:
    """A text as an SQL literal. Quotes are doubled, DataFusion's only escape."""
    if "\x00" in text:
        raise StoreError("a name with a NUL character cannot be looked up")
    return "'" + text.replace("'", "''") + "'"


def has_id(memory_id: str) -> str:
    return f"`id` = {quoted(memory_id)}"


def has_any_id(ids: Iterable[str]) -> str:
    return f"`id` IN ({', '.join(quoted(each) for each in ids)})"


@dataclass(frozen=True)
class Owner:
    """The agent whose rows may be read; required for every query."""

    agent_id: str

    def __post_init__(self) -> None:
        if not isinstance(self.agent_id, str) or not self.agent_id.strip():
            raise StoreError("a memory store needs an agent id")
        quoted(self.agent_id)

    def where(self, *conditions: str) -> str:
        """The owner's condition combined with others; part of every query."""
        return " AND ".join([f"`agentId` = {quoted(self.agent_id)}", *(f"({each})" for each in conditions)])
