"""Imports files: each is new, the same, in conflict, or refused."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memslot_memory_core.sources.roots import ExtraPathLike
from memslot_memory_core.transfer.destinations import Destination, destination_of
from memslot_memory_core.transfer.item import Item, UnusableItem
from memslot_memory_core.transfer.placement import PlacementResult, place_file


@dataclass(frozen=True)
class Target:
    """The memory to import into."""

    workspace: Path
    sessions_dir: Path
    extra_paths: Sequence[str | ExtraPathLike] = ()
    ignores_case: bool = False
    """Whether `a.md` and `A.md` are one file here."""

    def root_of(self, destination: Destination) -> Path:
        return self.sessions_dir if destination.source == "sessions" else self.workspace


@dataclass(frozen=True)
class Outcome:
    """The outcome of one file: its path here (or in the archive, if refused), and why."""

    path: str
    state: str
    reason: str = ""
    backup: str | None = None

    def to_json(self) -> dict[str, Any]:
        told = {"reason": self.reason or None, "backup": self.backup}
        return {"path": self.path, "state": self.state, **{key: value for key, value in told.items() if value}}


@dataclass
class ImportReport:
    """The outcomes of all files in an archive."""

    outcomes: list[Outcome] = field(default_factory=list)

    def of(self, *states: str) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.state in states]

    @property
    def changed(self) -> bool:
        return bool(self.of("new", "overwritten"))

    @property
    def is_whole(self) -> bool:
        """Whether every file that belongs in a memory is in this one now."""
        return not self.of("conflict", "refused")

    def to_json(self) -> dict[str, Any]:
        states = ("new", "overwritten", "same", "conflict", "refused", "ignored")
        return {
            "counts": {state: len(self.of(state)) for state in states},
            "files": [outcome.to_json() for outcome in self.outcomes],
        }


def import_items(
    items: Iterable[Item | UnusableItem], target: Target, *, overwrite: bool = False, dry_run: bool = False
) -> ImportReport:
    """Import new files. An existing file with other content is kept, unless `overwrite`, which renames it to
    `<name>.bak-<n>`. With `dry_run` nothing is written and the report is the same.
    """
    report, taken = ImportReport(), _TakenPaths(target.ignores_case)
    for item in items:
        destination = (
            item if isinstance(item, UnusableItem) else destination_of(item.path, target.workspace, target.extra_paths)
        )
        if isinstance(item, UnusableItem) or isinstance(destination, UnusableItem):
            unusable = destination if isinstance(destination, UnusableItem) else item
            assert isinstance(unusable, UnusableItem)
            report.outcomes.append(
                Outcome(unusable.path, "ignored" if unusable.harmless else "refused", unusable.reason)
            )
            continue
        clash = taken.clash(destination.path)
        if clash is not None:
            report.outcomes.append(Outcome(destination.path, "refused", clash))
            continue
        root = target.root_of(destination)
        placed = place_file(root, destination.relative, item.data, item.mtime, overwrite=overwrite, dry_run=dry_run)
        report.outcomes.append(_outcome(destination, placed))
    return report


def _outcome(destination: Destination, placed: PlacementResult) -> Outcome:
    backup = destination.path.rpartition("/")[0]
    backup = f"{backup}/{placed.backup}" if backup and placed.backup else placed.backup or ""
    return Outcome(destination.path, placed.state, placed.reason, backup or None)


class _TakenPaths:
    """The paths imported so far, to detect two that would be one file here."""

    def __init__(self, ignores_case: bool) -> None:
        self._ignores_case = ignores_case
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}

    def clash(self, path: str) -> str | None:
        """Why a path clashes with an earlier one; None if it was added."""
        key = self._key(path)
        folders = [key[:at] for at, letter in enumerate(key) if letter == "/"]
        other = self._files.get(key)
        if other is not None:
            return "is in the archive twice" if other == path else f"differs from {other} only in its case"
        below = next((self._files[folder] for folder in folders if folder in self._files), None)
        if below is not None or key in self._folders:
            return f"is a file and a folder at once: see {below or self._folders[key]}"
        self._files[key] = path
        for folder in folders:
            self._folders.setdefault(folder, path)
        return None

    def _key(self, path: str) -> str:
        return unicodedata.normalize("NFC", path).casefold() if self._ignores_case else path


def ignores_case(folder: Path) -> bool:
    """Whether a folder's file system ignores case; determined without writing."""
    for each in (folder, *folder.parents):
        other = each.with_name(each.name.swapcase()) if each.name else each
        if other != each and each.exists():
            try:
                return os.path.samefile(each, other)  # noqa: PTH121 (Path.samefile does the same)
            except OSError:
                return False
    return False
