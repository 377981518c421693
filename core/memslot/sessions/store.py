"""An agent's session store: starts, continues, lists and deletes conversations."""

from __future__ import annotations

import contextlib
import logging
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from memslot.agent.messages import plain_messages
from memslot.config.paths import Places
from memslot.errors import SessionError
from memslot.events import Message, Session
from memslot.sessions.lines import encode_compaction, encode_header, encode_message
from memslot.sessions.locks import writing
from memslot.sessions.names import SUFFIX, is_plain, transcript_name
from memslot.sessions.record import SessionRecord
from memslot.sessions.registry import Registry, read_registry, write_registry
from memslot.sessions.summary import SessionSummary, last_use, summarise
from memslot.sessions.times import now_ms
from memslot.sessions.transcript import Transcript, append_lines, read_header, read_transcript
from memslot.sessions.workspace import WorkspaceSessions
from memslot.storage.atomic import write_file

Changes = Mapping[str, Any] | Callable[[SessionRecord], Mapping[str, Any]]
"""New values for keys of a registry entry (None removes a key), or a function that returns them."""
_log = logging.getLogger("memslot.sessions")


class SessionStore:
    """One agent's conversations: a registry of metadata, and a transcript per session.

    Safe for concurrent processes and threads. A write is on disk when its method returns.
    """

    def __init__(self, folder: Path, agent_id: str, *, held_in: WorkspaceSessions | None = None) -> None:
        """With `held_in`, the store contains only that workspace's conversations, and new ones record it."""
        self.held_in = held_in
        """The workspace these conversations belong to; None: all of the agent's."""
        self.folder = folder
        """The folder with the registry and the transcripts."""
        self.agent_id = agent_id
        """The agent whose conversations these are."""
        self._tidied = False

    @classmethod
    def of_agent(cls, places: Places, agent_id: str, workspace: Path | None = None) -> SessionStore:
        """Return an agent's store below memslot's home, limited to a workspace if given."""
        held_in = None if workspace is None else WorkspaceSessions.of(places, agent_id, workspace)
        return cls(places.sessions_dir(agent_id), agent_id, held_in=held_in)

    # Writing

    def begin(self, session: str | Session, **facts: Any) -> SessionRecord:
        """Register a session and start its transcript; for a known session, only update its facts.

        Facts are registry keys: `channel`, `origin`, `title`, `modelOverride`, or your own.
        """
        place = session if isinstance(session, Session) else Session(self.agent_id, session)
        with writing(self.folder):
            registry = self.refuse_newer_registry()
            self._refuse_elsewhere(place.id)
            self._ensure_transcript(place.id)
            known = registry.entries.get(place.id)
            changes = dict(facts)
            if known is None:
                now = now_ms()
                changes = {"createdAt": now, "updatedAt": now, "chatType": place.chat_type, **facts}
            elif place.chat_type != SessionRecord.from_json(place.id, known).chat_type and isinstance(session, Session):
                changes["chatType"] = place.chat_type
            if changes:
                registry = self._write(registry.changed({place.id: changes}))
            return SessionRecord.from_json(place.id, registry.entries[place.id])

    def append(self, session_id: str, messages: Iterable[Message]) -> tuple[str, ...]:
        """Append messages to a session's transcript, all or none; return their ids."""
        plain, unread = plain_messages(messages)
        if unread:
            raise SessionError(f"{unread} message(s) are neither mappings nor objects with a role and a content.")
        ids = tuple(uuid.uuid4().hex for _ in plain)
        lines = [encode_message(each, now_ms(), message) for each, message in zip(ids, plain, strict=True)]
        if lines:
            with writing(self.folder):
                self.append_raw(session_id, lines)
        return ids

    def append_compaction(
        self,
        session_id: str,
        summary: str,
        *,
        first_kept: str | None = None,
        tokens_before: int | None = None,
    ) -> SessionRecord:
        """Record a compaction: from here on, the summary replaces all messages before the one with the id `first_kept`.

        The messages stay in the transcript; `Transcript.context` omits them.
        """
        with writing(self.folder):
            registry = self.refuse_newer_registry()
            line = encode_compaction(uuid.uuid4().hex, now_ms(), summary, first_kept, tokens_before)
            self.append_raw(session_id, [line])
            before = SessionRecord.from_json(session_id, registry.entries.get(session_id, {}))
            changes = {"compactionCount": before.compaction_count + 1, "updatedAt": now_ms()}
            registry = self._write(registry.changed({session_id: changes}))
            return SessionRecord.from_json(session_id, registry.entries[session_id])

    def append_raw(self, session_id: str, lines: Sequence[bytes], header: bytes | None = None) -> None:
        """Append whole lines verbatim. Requires the lock. A new transcript is created with them atomically."""
        path = self.path_of(session_id)
        self._refuse_elsewhere(session_id)
        if not os.path.lexists(path):
            self._ensure_transcript(session_id, header, lines)
            return
        try:
            append_lines(path, session_id, lines)
        except OSError as error:
            raise SessionError(
                f"{path} could not be written ({error.strerror or error}) and is unchanged; "
                "check the disk's space and the permissions."
            ) from None

    def update(self, session_id: str, changes: Changes) -> SessionRecord:
        """Update a session's registry entry and its last-used time; return the new entry.

        A function is called with the current entry, under the lock.
        """
        return self.update_all({session_id: changes})[session_id]

    def update_all(self, changes: Mapping[str, Changes]) -> dict[str, SessionRecord]:
        """Update several sessions in one write of the registry."""
        with writing(self.folder):
            registry = self.refuse_newer_registry()
            entries, new = registry.entries, {}
            for session_id, change in changes.items():
                before = SessionRecord.from_json(session_id, entries.get(session_id, {}))
                if wanted := change(before) if callable(change) else change:
                    now = now_ms()
                    created = {} if before.created_at else {"createdAt": now}
                    new[session_id] = {**created, "updatedAt": now, **wanted}
            if new:
                entries = self._write(registry.changed(new)).entries
            return {each: SessionRecord.from_json(each, entries.get(each, {})) for each in changes}

    def delete(self, session_id: str) -> bool:
        """Delete a session's transcript and entry; return False if there is no such session."""
        with writing(self.folder):
            registry = self.refuse_newer_registry()
            self._refuse_elsewhere(session_id)
            path = self.path_of(session_id)
            try:
                path.unlink()
            except FileNotFoundError:
                if session_id not in registry.entries:
                    return False
            except OSError as error:
                raise SessionError(f"{path} could not be deleted ({error.strerror or error}).") from None
            # Even if there was no entry: writing fsyncs the folder, which makes the unlink durable.
            self._write(registry.changed({session_id: None}))
            return True

    def locked(self) -> AbstractContextManager[None]:
        """Return the lock that all writes take, for multi-step operations."""
        return writing(self.folder)

    def _ensure_transcript(self, session_id: str, header: bytes | None = None, lines: Sequence[bytes] = ()) -> None:
        path = self.path_of(session_id)
        if os.path.lexists(path):
            return
        held = {} if self.held_in is None else {"workspace": self.held_in.workspace}
        first = header or encode_header(session_id, self.agent_id, now_ms(), held)
        try:
            self._tidy()
            write_file(path, b"".join([first, *lines]), mode=0o600)
        except OSError as error:
            raise SessionError(f"{path} could not be created ({error.strerror or error}).") from None

    def _refuse_elsewhere(self, session_id: str) -> None:
        if self.held_in is not None:
            self.held_in.refuse_others(self.path_of(session_id), session_id)

    def _tidy(self) -> None:
        """Delete temporary files of killed writers; only once, as it scans the whole folder."""
        if not self._tidied:
            for path in self.folder.glob(".*.tmp"):
                path.unlink(missing_ok=True)
            self._tidied = True

    def refuse_newer_registry(self) -> Registry:
        """Read the registry. Raises SessionError if a newer program wrote it, before anything else is written."""
        registry = read_registry(self.folder)
        if registry.is_newer:
            write_registry(registry)  # raises, with the reason
        return registry

    def _write(self, registry: Registry) -> Registry:
        if registry.fault is not None:
            _log.warning("%s; it is set aside and a new one is written", registry.fault)
        with contextlib.suppress(OSError):
            self._tidy()
        write_registry(registry)
        return registry

    # Reading

    def path_of(self, session_id: str) -> Path:
        """Return the path of a session's transcript, which may not exist."""
        path = self.folder / transcript_name(session_id)
        return self._copied(session_id) or path

    def _copied(self, session_id: str) -> Path | None:
        """Return a transcript copied from another program under a name that we would not choose."""
        name = f"{session_id}{SUFFIX}"
        if is_plain(session_id) or session_id.startswith(".") or any(character in session_id for character in "/\\:"):
            return None
        # Listing the folder rules out a case-insensitive match.
        is_there = os.path.lexists(self.folder / name) and name in {each.name for each in self.folder.iterdir()}
        return self.folder / name if is_there else None

    def record(self, session_id: str) -> SessionRecord | None:
        """Return a session's registry entry."""
        entry = read_registry(self.folder).entries.get(session_id)
        return None if entry is None else SessionRecord.from_json(session_id, entry)

    def read(self, session_id: str) -> Transcript:
        """Read a session's transcript. Raises SessionError if there is no such session."""
        path = self.path_of(session_id)
        self._refuse_elsewhere(session_id)
        try:
            found = read_transcript(path)
            if found.torn:
                # The last line may be mid-write: read again under the lock. On read-only media there is no lock,
                # and no writer.
                with contextlib.suppress(SessionError), writing(self.folder):
                    found = read_transcript(path)
        except FileNotFoundError:
            if self.record(session_id) is not None:
                return Transcript(None, ())
            raise SessionError(f"There is no session {session_id!r}; `memslot sessions list` shows all.") from None
        except OSError as error:
            raise SessionError(f"{path} cannot be read ({error.strerror or error}).") from None
        return found

    def ids(self) -> list[str]:
        """Return all session ids, including those with only a transcript."""
        return sorted(self._places(read_registry(self.folder).entries))

    def sessions(
        self, limit: int | None = None, *, only: Callable[[SessionRecord], bool] | None = None
    ) -> list[SessionSummary]:
        """List sessions, most recently used first; `only` filters by entry.

        Beyond `limit`, only the tail of a transcript is read.
        """
        entries = read_registry(self.folder).entries
        found: list[tuple[int, SessionRecord, Path | None]] = []
        for session_id, path in self._places(entries).items():
            record = SessionRecord.from_json(session_id, entries.get(session_id, {}))
            if only is None or only(record):
                found.append((last_use(record, path), record, path))
        found.sort(key=lambda each: (-each[0], each[1].id))
        return [summarise(record, path, moment) for moment, record, path in found[:limit]]

    def _places(self, known: Iterable[str]) -> dict[str, Path | None]:
        """Return all session ids, with the transcript's path if there is one."""
        found: dict[str, Path | None] = dict.fromkeys(known)
        found |= {self._id_of(path): path for path in self._transcripts()}
        if self.held_in is None:
            return found
        return {each: path for each, path in found.items() if path is None or self._is_here(path)}

    def _is_here(self, path: Path) -> bool:
        with contextlib.suppress(OSError):
            return self.held_in is None or self.held_in.has(path)
        return False

    def problem(self) -> str | None:
        """Say why the registry can't be read or written, if so. Transcripts stay readable."""
        registry = read_registry(self.folder)
        if registry.is_newer:
            return f"{registry.path} was written by a newer memslot and is read-only"
        return registry.fault

    def _transcripts(self) -> Iterator[Path]:
        try:
            paths = sorted(self.folder.iterdir())
        except FileNotFoundError:
            return
        except OSError as error:
            raise SessionError(f"{self.folder} cannot be read ({error.strerror or error}).") from None
        for path in paths:
            if path.suffix == SUFFIX and not path.name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path

    def _id_of(self, path: Path) -> str:
        """Return the header's id if it maps to this file, else the file's stem."""
        try:
            header = read_header(path)
            found = header.id if header is not None and header.id is not None else path.stem
            return found if self.path_of(found) == path else path.stem
        except (OSError, SessionError):  # an invalid id
            return path.stem
