"""Which conversations belong to a workspace: those that were held in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memslot.config.paths import Places, real_path
from memslot.errors import SessionError
from memslot.sessions.transcript import read_header


@dataclass(frozen=True)
class WorkspaceSessions:
    """An agent's transcripts lie in one folder, whatever workspace they are about; this is one workspace's share.

    `workspace` is its real path, `unmarked` that of the workspace to which transcripts belong that name none.
    """

    workspace: str
    unmarked: str

    @classmethod
    def of(cls, places: Places, agent_id: str, workspace: Path) -> WorkspaceSessions:
        return cls(real_path(workspace), real_path(places.unmarked_workspace(agent_id)))

    def has(self, transcript: Path) -> bool:
        """Whether a conversation was held here. Raises OSError."""
        return self._held_in(transcript) == self.workspace

    def refuse_others(self, transcript: Path, session_id: str) -> None:
        """Raise a SessionError for a transcript of another workspace: what was said there isn't for the agent here."""
        try:
            held = self._held_in(transcript)
        except FileNotFoundError:
            return
        except OSError as error:
            raise SessionError(f"{transcript} cannot be read ({error.strerror or error}).") from None
        if held != self.workspace:
            raise SessionError(
                f"Session {session_id!r} was held in the workspace {held}, not in {self.workspace}; choose another id."
            )

    def _held_in(self, transcript: Path) -> str:
        header = read_header(transcript)
        return (None if header is None else header.workspace) or self.unmarked
