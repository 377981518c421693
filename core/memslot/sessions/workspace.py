"""The conversations that belong to a workspace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memslot.config.paths import Places, real_path
from memslot.errors import SessionError
from memslot.sessions.transcript import read_header


@dataclass(frozen=True)
class WorkspaceSessions:
    """One workspace's share of an agent's transcripts, which all live in one folder.

    `workspace` is its real path; `unmarked` is the workspace that owns transcripts without a recorded one.
    """

    workspace: str
    unmarked: str

    @classmethod
    def of(cls, places: Places, agent_id: str, workspace: Path) -> WorkspaceSessions:
        return cls(real_path(workspace), real_path(places.unmarked_workspace(agent_id)))

    def has(self, transcript: Path) -> bool:
        """Whether a conversation belongs to this workspace. Raises OSError."""
        return self._held_in(transcript) == self.workspace

    def refuse_others(self, transcript: Path, session_id: str) -> None:
        """Raise SessionError for a transcript of another workspace, which must not leak into this one."""
        try:
            held = self._held_in(transcript)
        except FileNotFoundError:
            return
        except OSError as error:
            raise SessionError(f"{transcript} cannot be read ({error.strerror or error}).") from None
        if held != self.workspace:
            raise SessionError(
                f"Session {session_id!r} belongs to the workspace {held}, not to {self.workspace}; choose another id."
            )

    def _held_in(self, transcript: Path) -> str:
        header = read_header(transcript)
        return (None if header is None else header.workspace) or self.unmarked
