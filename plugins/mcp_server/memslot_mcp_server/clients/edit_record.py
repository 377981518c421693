"""Records what was written into which file, so that it can be undone byte for byte.

It contains the characters that memslot replaced, and nothing else of other programs' files. Without it, or when another
program has changed a file since, memslot's entries are found and removed by their names.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from memslot import file_lock, write_file

from memslot_mcp_server.clients.draft import Draft, Splice, take_back

_VERSION = 1


class EditRecord:
    """The record of one home. Use it as a context manager: one process at a time edits and records."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "connections.json"
        self._lock = contextlib.ExitStack()

    def __enter__(self) -> EditRecord:
        self._lock.enter_context(file_lock(self._file.with_suffix(".lock"), what="memslot's list of connections"))
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def add(self, file: Path, draft: Draft, *, is_new: bool) -> None:
        """Record an edit before it is written."""
        files = self._load()
        known = files.setdefault(str(file), {"edits": []})
        if is_new:
            known.update(edits=[], is_new=True, folders=_missing_folders(file))
        known["edits"].append({"after": _digest(draft.text), "splices": [list(each) for each in draft.splices]})
        self._save(files)

    def take_back(self, file: Path, text: str) -> tuple[str | None, bool]:
        """Return the text without the edits that are still intact, and whether those were all edits.

        None stands for a file that did not exist.
        """
        known = self._load().get(str(file), {})
        try:
            edits = [(edit["after"], [Splice(*each) for each in edit["splices"]]) for edit in known.get("edits", [])]
        except (KeyError, TypeError):  # the record was edited by hand
            edits = []
        is_whole = bool(edits)
        for after, splices in reversed(edits):
            if after == _digest(text):
                text = take_back(text, splices)
            else:
                is_whole = False
        return (None if known.get("is_new") and not text else text), is_whole

    def remove_folders(self, file: Path) -> None:
        """Remove the folders that were created for a file, if they are empty."""
        for folder in self._load().get(str(file), {}).get("folders", []):
            try:
                Path(folder).rmdir()
            except OSError:
                return

    def forget(self, file: Path) -> None:
        """Drop what is known about a file."""
        files = self._load()
        if files.pop(str(file), None) is not None:
            self._save(files)

    def _load(self) -> dict[str, Any]:
        try:
            tree = json.loads(self._file.read_text(encoding="utf-8"))
            return dict(tree["files"]) if tree["version"] == _VERSION else {}
        except (OSError, ValueError, KeyError, TypeError):  # removal by name needs no record
            return {}

    def _save(self, files: dict[str, Any]) -> None:
        text = json.dumps({"version": _VERSION, "files": files}, ensure_ascii=False, indent=1)
        write_file(self._file, text.encode("utf-8", "surrogatepass"), mode=0o600)


def _missing_folders(file: Path) -> list[str]:
    """The folders to create for a file, innermost first."""
    found = []
    for folder in file.parents:
        if os.path.lexists(folder):
            break
        found.append(str(folder))
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
