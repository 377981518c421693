"""The decision log: why each message was kept or not, and which messages were seen."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memslot import file_lock

from memslot_memory_lancedb.errors import StoreError
from memslot_memory_lancedb.memory_record import MemoryRecord

KEPT_DECISIONS = 20_000
SHOWN_CHARS = 120
FAILED = "failed"
"""Rule of a message that could not be stored or logged; it may be judged again."""
WRITTEN_KEPT = timedelta(hours=6)
WRITTEN_CHARS = 4000
MOST_WRITTEN = 200
_PRUNE_EVERY = 500
_LOCK_SECONDS = 20.0


@dataclass(frozen=True)
class Decision:
    """The decision about one message: the rule, and the memory it became or duplicates."""

    session: str
    message: str
    kept: bool
    rule: str
    reason: str
    text: str
    memory_id: str = ""
    at: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "at": self.at.isoformat() if self.at is not None else None,
            "session": self.session,
            "message": self.message,
            "kept": self.kept,
            "rule": self.rule,
            "reason": self.reason,
            "text": self.text,
            "memoryId": self.memory_id or None,
        }


def message_key(text: str) -> str:
    """The key of a message: its text, so that passing the whole history again repeats nothing."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "surrogatepass")).hexdigest()[:32]


class DecisionLog:
    """A private SQLite file per agent. Safe across processes."""

    def __init__(self, file: Path, agent_id: str) -> None:
        self._file = file
        self._agent_id = agent_id
        self._lock = threading.Lock()
        self._since_prune = 0

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock for judging this agent's messages."""
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(file_lock(self._file.with_suffix(".lock"), seconds=_LOCK_SECONDS, what=self._file))
            except OSError as error:
                raise StoreError(f"the decision log {self._file} cannot be locked: {error}") from error
            yield

    def unseen(self, session: str, messages: Sequence[str]) -> set[str]:
        """The keys that are not in this conversation's log."""
        with self._open() as database:
            query = "SELECT message FROM decisions WHERE agent = ? AND session = ? AND message = ? AND rule != ?"
            return {
                key
                for key in messages
                if database.execute(query, (self._agent_id, session, key, FAILED)).fetchone() is None
            }

    def add(self, decisions: Sequence[Decision]) -> None:
        """Log decisions, marking their messages as seen."""
        now = datetime.now(UTC).isoformat()
        rows = [
            (
                self._agent_id,
                each.session,
                each.message,
                now,
                each.kept,
                each.rule,
                each.reason,
                each.text[:SHOWN_CHARS],
                each.memory_id,
            )
            for each in decisions
        ]
        with self._open() as database:
            database.executemany("INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._since_prune += len(rows)
            if self._since_prune >= _PRUNE_EVERY:
                self._since_prune = 0
                self._prune(database)

    def latest(self, count: int) -> list[Decision]:
        """The latest decisions, newest first."""
        with self._open() as database:
            rows = database.execute(
                "SELECT session, message, kept, rule, reason, text, memory_id, at FROM decisions "
                "WHERE agent = ? ORDER BY at DESC, rowid DESC LIMIT ?",
                (self._agent_id, count),
            ).fetchall()
        return [
            Decision(row[0], row[1], bool(row[2]), row[3], row[4], row[5], row[6], datetime.fromisoformat(row[7]))
            for row in rows
        ]

    def note_written(self, memory_id: str, path: str, text: str) -> None:
        """Log what another memory has just stored, for as long as its conversation may last."""
        row = (self._agent_id, memory_id, path, text[:WRITTEN_CHARS], datetime.now(UTC).isoformat())
        with self._open() as database:
            database.execute("INSERT INTO written VALUES (?, ?, ?, ?, ?)", row)

    def recently_written(self) -> list[tuple[str, str, str]]:
        """Return other memories' recent writes, newest first: memory, path and text."""
        if not self._file.exists():
            return []
        with self._open() as database:
            database.execute("DELETE FROM written WHERE at < ?", ((datetime.now(UTC) - WRITTEN_KEPT).isoformat(),))
            query = "SELECT memory, path, text FROM written WHERE agent = ? ORDER BY at DESC LIMIT ?"
            return database.execute(query, (self._agent_id, MOST_WRITTEN)).fetchall()

    def blank(self, memories: Sequence[MemoryRecord]) -> None:
        """Blank the text of forgotten memories; their messages stay marked as seen.

        Matches by text as well: a message may be skipped in one conversation and kept in another.
        """
        if not self._file.exists():
            return
        with self._open() as database:
            database.executemany(
                "UPDATE decisions SET text = '' WHERE agent = ? AND (memory_id = ? OR text = ?)",
                [(self._agent_id, each.id, each.text[:SHOWN_CHARS]) for each in memories],
            )

    def _prune(self, database: sqlite3.Connection) -> None:
        database.execute(
            "DELETE FROM decisions WHERE agent = ? AND rowid NOT IN "
            "(SELECT rowid FROM decisions WHERE agent = ? ORDER BY at DESC LIMIT ?)",
            (self._agent_id, self._agent_id, KEPT_DECISIONS),
        )

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """One transaction on a fresh connection: used once a run, and no handle outlives a fork or close."""
        with self._lock:
            try:
                if not self._file.exists():
                    os.close(os.open(self._file, os.O_CREAT | os.O_WRONLY, 0o600))
                database = sqlite3.connect(self._file, timeout=10)
                try:
                    database.execute("PRAGMA secure_delete = ON")
                    database.execute(
                        "CREATE TABLE IF NOT EXISTS decisions (agent TEXT, session TEXT, message TEXT, at TEXT, "
                        "kept INTEGER, rule TEXT, reason TEXT, text TEXT, memory_id TEXT, "
                        "PRIMARY KEY (agent, session, message))"
                    )
                    database.execute(
                        "CREATE TABLE IF NOT EXISTS written (agent TEXT, memory TEXT, path TEXT, text TEXT, at TEXT)"
                    )
                    with database:
                        yield database
                finally:
                    database.close()
            except (sqlite3.Error, OSError) as error:
                raise StoreError(f"the decision log {self._file} cannot be used: {error}") from error
