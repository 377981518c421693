"""Idempotent import of foreign conversations into a session store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from memslot.agent.messages import message_text
from memslot.errors import SessionError
from memslot.sessions.lines import PROGRAM, encode, encode_header, encode_message, key_of, message_of, parse
from memslot.sessions.record import SessionRecord
from memslot.sessions.store import SessionStore
from memslot.sessions.summary import title_of
from memslot.sessions.times import now_ms
from memslot.sessions.transcript import read_jsonl

Facts = Callable[[SessionRecord], Mapping[str, Any]]
RawLine = tuple[int, bytes, dict[str, Any] | None]
"""A line of another program's file: its number, its bytes, and its record, or None if it is not a JSON object."""
_ENTRIES_AT_ONCE = 500


class ForeignLine(NamedTuple):
    """A transcript line; `key` identifies it, which makes imports idempotent."""

    key: str
    raw: bytes
    time: int | None

    @classmethod
    def of_message(cls, key: str, time: int | None, message: Mapping[str, Any]) -> Self:
        """Build the line of a message."""
        return cls(key, encode_message(key, time, message), time)

    @property
    def message(self) -> Mapping[str, Any]:
        """The message of a line that `of_message` made."""
        return message_of(parse(self.raw) or {}) or {}

    @staticmethod
    def make_key(*parts: object) -> str:
        """Derive a key for a line without an id from its immutable parts."""
        text = "\0".join(map(str, parts))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True)
class ForeignSession:
    """A conversation to import; `id` is its id in our store, stable across imports.

    `header` is the transcript's first line, if one is to be kept verbatim. `skipped` counts unreadable lines.
    """

    program: str
    id: str
    their_id: str
    lines: tuple[ForeignLine, ...]
    title: str = ""
    started_at: int | None = None
    header: bytes | None = field(default=None, repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict)
    skipped: int = 0

    @property
    def last_time(self) -> int | None:
        return max((line.time for line in self.lines if line.time is not None), default=self.started_at)


@dataclass(frozen=True)
class ImportedSession:
    """Outcome of an import: `new`, `grown` (partly known), `same`, or `empty` (no messages)."""

    id: str
    program: str
    state: str
    added: int = 0
    skipped: int = 0
    source: str = ""

    def to_json(self) -> dict[str, Any]:
        told = {"id": self.id, "program": self.program, "state": self.state, "added": self.added, "source": self.source}
        return {**told, **({"skippedLines": self.skipped} if self.skipped else {})}


class SessionImport:
    """Imports conversations into a store. A context manager; `dry_run` writes nothing.

    Registry entries are written in batches, because each write rewrites the whole file, and after the transcripts:
    an interrupted import leaves entries missing, and the next one adds them. Raises SessionError if the registry
    can't be written.
    """

    def __init__(self, store: SessionStore, *, dry_run: bool = False) -> None:
        self._store = store
        self._dry_run = dry_run
        self._known = set(store.refuse_newer_registry().entries)
        self._pending: dict[str, Facts] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._write_entries()

    def add(self, found: ForeignSession, source: str = "") -> ImportedSession:
        """Append the new lines of a conversation; `source` names its origin."""

        def result(state: str, added: int = 0) -> ImportedSession:
            return ImportedSession(found.id, found.program, state, added, found.skipped, source)

        if not found.lines:
            return result("empty")
        if self._dry_run:
            known, fresh = self._compare(found)
        else:
            with self._store.locked():
                known, fresh = self._compare(found)
                if fresh or not known:
                    self._store.append_raw(found.id, [line.raw for line in fresh], self._header(found))
            if fresh or found.id not in self._known:
                self._add_entry(found)
        return result("new" if not known else "grown" if fresh else "same", len(fresh))

    def _compare(self, found: ForeignSession) -> tuple[bool, list[ForeignLine]]:
        """Return whether a transcript of this conversation exists, and the lines missing from it."""
        path = self._store.path_of(found.id)
        try:
            keys = {key_of(record, raw) for _, raw, record in read_jsonl(path) if record is not None}
        except FileNotFoundError:
            return False, list(found.lines)
        except OSError as error:
            raise SessionError(f"{path} cannot be read ({error.strerror or error}).") from None
        return True, [line for line in found.lines if line.key not in keys]

    def _header(self, found: ForeignSession) -> bytes:
        """Return the header line, with the workspace the conversation is imported into."""
        held = {} if self._store.held_in is None else {"workspace": self._store.held_in.workspace}
        if found.header is not None:
            return encode({**(parse(found.header) or {}), **held}) if held else found.header
        facts = {} if found.program == PROGRAM else {"origin": _origin(found)}
        return encode_header(found.id, self._store.agent_id, _began(found) or now_ms(), {**facts, **held})

    def _add_entry(self, found: ForeignSession) -> None:
        if found.id in self._pending:
            self._write_entries()
        self._known.add(found.id)
        self._pending[found.id] = _facts(found)
        if len(self._pending) >= _ENTRIES_AT_ONCE:
            self._write_entries()

    def _write_entries(self) -> None:
        pending, self._pending = self._pending, {}
        if pending:
            self._store.update_all(pending)


def _began(found: ForeignSession) -> int | None:
    return found.started_at or found.lines[0].time or found.last_time


def _origin(found: ForeignSession) -> dict[str, Any]:
    return {"program": found.program, "sessionId": found.their_id, **found.facts}


def _facts(found: ForeignSession) -> Facts:
    """Return a function that merges a conversation into its registry entry. It holds no reference to the messages."""
    last, began = found.last_time, _began(found)
    title = title_of(found.title) or _first_words(found)
    ours = found.facts if found.program == PROGRAM else None
    theirs = {"channel": found.program, "origin": _origin(found)}

    def facts(record: SessionRecord) -> Mapping[str, Any]:
        times = [time for time in (record.updated_at, last) if time]
        told: dict[str, Any] = {"updatedAt": max(times, default=now_ms())}
        told = {**theirs, **told} if ours is None else {**ours, **record.data, **told}
        if began:
            told["createdAt"] = record.created_at or began
        if title:
            told["title"] = record.title or title
        return told

    return facts


def _first_words(found: ForeignSession) -> str:
    for line in found.lines:
        message = message_of(parse(line.raw) or {})
        if message is not None and message.get("role") == "user" and (title := title_of(message_text(message))):
            return title
    return ""
