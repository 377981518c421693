"""The transcripts that belong to a workspace."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from typing import TYPE_CHECKING

from memslot_memory_core.sources.files import record_unreadable_file

if TYPE_CHECKING:
    from memslot_memory_core.sources.files import Discovery, SourceFile

_MAX_BYTES = 1024 * 1024


class WorkspaceTranscripts:
    """One workspace's share of an agent's transcripts, which all live in one folder.

    A transcript's first line names its workspace. Those without belong to the default workspace (`with_unmarked`).
    """

    def __init__(self, workspace: str, *, with_unmarked: bool) -> None:
        self._workspace = workspace
        self._with_unmarked = with_unmarked
        self._known: dict[str, tuple[str, bool]] = {}
        """Stamp and answer by path: an unchanged transcript is not opened again."""

    def has(self, file: SourceFile) -> bool:
        """Whether the file is a note, or a transcript of this workspace. Raises OSError if unreadable."""
        if file.source != "sessions":
            return True
        stamp, belongs = self._known.get(file.location, ("", False))
        if stamp != file.stamp:
            belongs = self._belongs(file)
            self._known[file.location] = (file.stamp, belongs)
        return belongs

    def keep(self, found: Discovery) -> Discovery:
        """Remove other workspaces' transcripts from a discovery."""
        kept = []
        for file in found.files:
            try:
                if self.has(file):
                    kept.append(file)
            except OSError as error:
                record_unreadable_file(file.path, error, found)
        found.files = kept
        return found

    def _belongs(self, file: SourceFile) -> bool:
        from memslot_memory_core.sources.text import open_source

        opened = open_source(file)
        if opened is None:
            return False
        with opened:
            held = workspace_in(opened.readline(_MAX_BYTES))
        return held == self._workspace if held is not None else self._with_unmarked


def workspace_in(line: bytes) -> str | None:
    """The workspace named in a transcript's first line, if any."""
    try:
        header = json.loads(line.removeprefix(BOM_UTF8))
    except (ValueError, RecursionError):
        return None
    if not isinstance(header, dict) or header.get("type") != "session":
        return None
    held = header.get("workspace")
    return held if isinstance(held, str) and held else None
