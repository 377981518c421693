"""Takes over conversations of other programs: what is new is added, and importing twice adds nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memslot.agent.messages import message_text
from memslot.errors import SessionError
from memslot.sessions.foreign import ForeignSession, Program
from memslot.sessions.importers.finding import find_files, read_file
from memslot.sessions.lines import encode, encode_header, key_of, message_of, parse
from memslot.sessions.record import SessionRecord
from memslot.sessions.store import SessionStore
from memslot.sessions.summary import title_of
from memslot.sessions.times import now_ms
from memslot.sessions.transcript import read_lines

Facts = Callable[[SessionRecord], Mapping[str, Any]]
_AT_ONCE = 500


@dataclass(frozen=True)
class ImportedSession:
    """What became of a conversation: `new`, `grown` (some of it was here), `same`, or `empty`: nobody says anything."""

    id: str
    program: Program
    state: str
    added: int = 0
    skipped: int = 0
    source: str = ""

    def to_json(self) -> dict[str, Any]:
        told = {"id": self.id, "program": self.program, "state": self.state, "added": self.added, "source": self.source}
        return {**told, **({"skippedLines": self.skipped} if self.skipped else {})}


@dataclass
class SessionsImport:
    """All conversations that were found, and the files of which none could be read, with the reason."""

    dry_run: bool
    sessions: list[ImportedSession] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def count(self, state: str) -> int:
        return sum(session.state == state for session in self.sessions)

    def to_json(self) -> dict[str, Any]:
        return {
            "dryRun": self.dry_run,
            "sessions": [session.to_json() for session in self.sessions],
            "refused": self.refused,
        }


def import_sessions(
    store: SessionStore, paths: Iterable[Path], *, program: Program | None = None, dry_run: bool = False
) -> SessionsImport:
    """Take over the conversations in files, folders and archives; nothing there is changed.

    A file that cannot be read is told and does not keep the others from being taken over. A SessionError where the
    registry cannot be written.
    """
    done = SessionsImport(dry_run)
    entries = _Entries(store)
    try:
        for path in paths:
            for file in find_files(path):
                try:
                    for found in read_file(file, program):
                        done.sessions.append(_take_over(store, found, str(file), None if dry_run else entries))
                except SessionError as error:
                    reason = str(error)
                    done.refused.append(reason if str(file) in reason else f"{file}: {reason}")
    finally:
        entries.write()
    return done


class _Entries:
    """Entries for the registry, many of which are written at once: each time it is written as a whole.

    They come after the transcripts: should the import be cut short, the next one finds no entry and writes it.
    """

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._known = set(store.refuse_newer_registry().entries)
        self._waiting: dict[str, Facts] = {}

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._known

    def add(self, found: ForeignSession) -> None:
        if found.id in self._waiting:
            self.write()
        self._known.add(found.id)
        self._waiting[found.id] = _facts(found)
        if len(self._waiting) >= _AT_ONCE:
            self.write()

    def write(self) -> None:
        waiting, self._waiting = self._waiting, {}
        if waiting:
            self._store.update_all(waiting)


def _take_over(store: SessionStore, found: ForeignSession, source: str, entries: _Entries | None) -> ImportedSession:
    """Add what is new of a conversation; without `entries` nothing is written."""

    def told(state: str, added: int = 0) -> ImportedSession:
        return ImportedSession(found.id, found.program, state, added, found.skipped, source)

    if not found.lines:
        return told("empty")
    if entries is None:
        known = _known_keys(store, found.id)
        fresh = [line for line in found.lines if known is None or line.key not in known]
        return told(_state(known, len(fresh)), len(fresh))
    with store.locked():
        known = _known_keys(store, found.id)
        fresh = [line for line in found.lines if known is None or line.key not in known]
        if fresh or known is None:
            header = _header(store, found)
            store.append_raw(found.id, [line.raw for line in fresh], header)
    if fresh or found.id not in entries:
        entries.add(found)
    return told(_state(known, len(fresh)), len(fresh))


def _header(store: SessionStore, found: ForeignSession) -> bytes:
    """The first line; it names the workspace that the conversation is imported into."""
    held = {} if store.held_in is None else {"workspace": store.held_in.workspace}
    if found.header is not None:
        return encode({**(parse(found.header) or {}), **held}) if held else found.header
    began = found.started_at or found.lines[0].time or found.last_time or now_ms()
    facts = {} if found.program == "memslot" else {"origin": _origin(found)}
    return encode_header(found.id, store.agent_id, began, {**facts, **held})


def _state(known: set[str] | None, fresh: int) -> str:
    if known is None:
        return "new"
    return "grown" if fresh else "same"


def _known_keys(store: SessionStore, session_id: str) -> set[str] | None:
    """What tells apart the lines that are here; None where there is no such transcript."""
    path = store.path_of(session_id)
    try:
        return {key_of(record, raw) for _, raw, record in read_lines(path) if record is not None}
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SessionError(f"{path} cannot be read ({error.strerror or error}).") from None


def _origin(found: ForeignSession) -> dict[str, Any]:
    return {"program": found.program, "sessionId": found.their_id, **found.facts}


def _facts(found: ForeignSession) -> Facts:
    """What is to be known of a conversation, given what is; it does not hold on to what was said."""
    last, began = found.last_time, found.started_at or found.lines[0].time or found.last_time
    title = title_of(found.title) or _first_words(found)
    ours = found.facts if found.program == "memslot" else None
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
