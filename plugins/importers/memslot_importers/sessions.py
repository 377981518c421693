"""Imports conversations from files, folders and archives into a session store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memslot import ImportedSession, SessionError, SessionImport, SessionStore

from memslot_importers.conversations import find_files, read_file


@dataclass
class SessionsImport:
    """All conversations that were found, and why files could not be read."""

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
    store: SessionStore, paths: Iterable[Path], *, program: str | None = None, dry_run: bool = False
) -> SessionsImport:
    """Import the conversations in files, folders and archives, which stay as they are.

    A file that cannot be read does not stop the others. Raises a SessionError if the registry cannot be written.
    """
    done = SessionsImport(dry_run)
    with SessionImport(store, dry_run=dry_run) as sessions:
        for file in (file for path in paths for file in find_files(path)):
            try:
                for found in read_file(file, program):
                    done.sessions.append(sessions.add(found, str(file)))
            except SessionError as error:
                reason = str(error)
                done.refused.append(reason if str(file) in reason else f"{file}: {reason}")
    return done
