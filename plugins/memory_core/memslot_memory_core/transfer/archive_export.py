"""Exports notes, and optionally transcripts, to one file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

from memslot import MemslotError, atomic_file

from memslot_memory_core.sources.files import discover
from memslot_memory_core.sources.roots import ExtraPathLike
from memslot_memory_core.sources.text import open_source
from memslot_memory_core.transfer.item import MAX_FILE_BYTES, Item
from memslot_memory_core.transfer.json_lines import write_json_lines
from memslot_memory_core.transfer.zip_files import write_zip

Format = Literal["zip", "jsonl"]


@dataclass
class ExportReport:
    """What was exported, and what was not."""

    files: int = 0
    size: int = 0
    outside: list[str] = field(default_factory=list)
    """Notes in extra paths outside the workspace, which have no counterpart in another memory."""
    problems: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {"files": self.files, "bytes": self.size, "outside": self.outside, "problems": self.problems}


def export(
    out: BinaryIO,
    layout: Format,
    workspace: Path,
    *,
    extra_paths: Sequence[str | ExtraPathLike] = (),
    sessions_dir: Path | None = None,
    **about: Any,
) -> ExportReport:
    """Write all notes, and the transcripts of `sessions_dir`, byte for byte; `about` goes into the manifest."""
    report = ExportReport()
    items = _items(workspace, extra_paths, sessions_dir, report)
    if layout == "zip":
        write_zip(out, items, **about)
    else:
        write_json_lines(out, items)
    return report


def _items(
    workspace: Path, extra_paths: Sequence[str | ExtraPathLike], sessions_dir: Path | None, report: ExportReport
) -> Iterator[Item]:
    found = discover(workspace, extra_paths=extra_paths, sessions_dir=sessions_dir)
    report.problems += found.problems
    for source in found.files:
        if Path(source.path).is_absolute():
            report.outside.append(source.path)
            continue
        try:
            file = open_source(source)
            data = b""
            if file is not None:
                with file:
                    data = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            report.problems.append(f"{source.path} cannot be read: {error.strerror or error}")
            continue
        if file is None:
            report.problems.append(f"{source.path} was replaced or deleted during the export; export again")
        elif len(data) > MAX_FILE_BYTES:
            report.problems.append(f"{source.path} is larger than {MAX_FILE_BYTES:,} bytes; copy it by hand")
        else:
            report.files += 1
            report.size += len(data)
            yield Item(source.path, data, source.mtime)


@contextlib.contextmanager
def new_file(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Write a file atomically; raises a MemslotError if it exists or can't be written."""
    if os.path.lexists(path) and not overwrite:
        raise MemslotError(f"{path} exists already; choose another name, or replace it with --overwrite")
    try:
        with atomic_file(path, overwrite=overwrite, mode=0o600, follow_links=True) as out:
            yield out
    except OSError as error:
        raise MemslotError(f"{path} could not be written: {error.strerror or error}") from None
