"""The catalogue: which of an agent's tables is live.

Each agent has its own tables, one per generation: a change of embedder fills the next one and makes it live by adding a
row here, which is atomic in LanceDB, also on an object store.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memslot_memory_lancedb.embedding.identity import Identity
from memslot_memory_lancedb.store.database import Database
from memslot_memory_lancedb.store.predicate import Owner
from memslot_memory_lancedb.store.schema import read_metadata

NAME = "memslot_catalogue"
_MAX_ROWS = 100_000
_PREFIX = "memories_"


@dataclass(frozen=True)
class Generation:
    """One table of an agent; `identity` is None if it has no vectors."""

    number: int
    table: str
    identity: Identity | None
    machine: str
    created_at: datetime


def table_prefix(owner: Owner) -> str:
    """Prefix of an agent's table names. The digest distinguishes Main and main on any file system."""
    readable = re.sub(r"[^a-z0-9]+", "-", owner.agent_id.lower())[:32].strip("-") or "agent"
    return f"{_PREFIX}{readable}_{hashlib.sha256(owner.agent_id.encode()).hexdigest()[:8]}_"


def table_name(owner: Owner, number: int, identity: Identity | None) -> str:
    """Deterministic, so that any process can resume an interrupted build."""
    return f"{table_prefix(owner)}g{number}_{identity.digest[:8] if identity else 'words'}"


class Catalogue:
    """The generations of one agent. Thread-safe."""

    def __init__(self, database: Database, owner: Owner) -> None:
        self._database = database
        self._owner = owner
        self._lock = threading.Lock()
        self._handle: Any = None
        self._seen: tuple[int, tuple[Generation, ...]] | None = None

    def live(self) -> Generation | None:
        """The newest generation; None before anything was stored."""
        generations = self.generations()
        return generations[-1] if generations else None

    def generations(self) -> tuple[Generation, ...]:
        """All generations that were ever live, oldest first; reads only what is new."""
        with self._lock:
            if self._handle is None:
                if not self._database.exists:
                    return ()
                self._handle = self._database.open_table(NAME)
                if self._handle is None:
                    return ()
            handle = self._handle
            version = self._database.attempt(lambda: handle.version)
            if self._seen is None or self._seen[0] != version:
                self._seen = (version, self._read(handle))
            return self._seen[1]

    def publish(self, generation: Generation) -> None:
        """Make a generation live for all processes."""
        import pyarrow  # type: ignore[import-untyped]

        schema = pyarrow.schema(
            [
                pyarrow.field("agentId", pyarrow.string(), nullable=False),
                pyarrow.field("generation", pyarrow.int64(), nullable=False),
                pyarrow.field("table", pyarrow.string(), nullable=False),
                pyarrow.field("identity", pyarrow.string(), nullable=False),
                pyarrow.field("machine", pyarrow.string(), nullable=False),
                pyarrow.field("createdAt", pyarrow.timestamp("us", tz="UTC"), nullable=False),
            ]
        )
        row = {
            "agentId": self._owner.agent_id,
            "generation": generation.number,
            "table": generation.table,
            "identity": json.dumps(generation.identity.to_json() if generation.identity else None),
            "machine": generation.machine,
            "createdAt": generation.created_at,
        }
        rows = pyarrow.Table.from_pylist([row], schema=schema)
        with self._lock:
            handle = self._handle if self._handle is not None else self._database.make_table(NAME, schema)
            self._database.attempt(lambda: handle.add(rows))
            self._handle, self._seen = handle, None

    def orphans(self) -> list[Generation]:
        """Tables of this agent that are not in the catalogue: it was lost, or a build was interrupted."""
        known = {each.table for each in self.generations()}
        found = []
        for name in self._database.table_names():
            if not name.startswith(table_prefix(self._owner)) or name in known:
                continue
            handle = self._database.open_table(name)
            about = read_metadata(handle.schema) if handle is not None else {}
            if about.get("agentId") == self._owner.agent_id:
                number = int(about.get("generation", 0))
                found.append(Generation(number, name, Identity.from_json(about.get("identity")), "", datetime.now(UTC)))
        return found

    def forget_handle(self) -> None:
        """Reopen it on next use."""
        with self._lock:
            self._handle, self._seen = None, None

    def compact(self) -> None:
        """Compact the many small files."""
        with self._lock:
            handle = self._handle
        if handle is not None:
            self._database.attempt(handle.optimize)

    def _read(self, handle: Any) -> tuple[Generation, ...]:
        query = handle.search().where(self._owner.where()).limit(_MAX_ROWS)
        rows = self._database.attempt(lambda: query.to_arrow().to_pylist())
        generations = [
            Generation(
                row["generation"],
                row["table"],
                Identity.from_json(json.loads(row["identity"])),
                row["machine"],
                row["createdAt"],
            )
            for row in rows
            if row["agentId"] == self._owner.agent_id
        ]
        # Two processes may have published the same one; all must choose the same of two with one number.
        unique = {(each.number, each.table): each for each in generations}
        return tuple(unique[key] for key in sorted(unique))
