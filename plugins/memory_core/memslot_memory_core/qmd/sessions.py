"""Exports transcripts as Markdown, so that QMD can find what was said."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memslot import make_private_dir, redact, write_file

_LEDGER = ".memslot-export.json"
_DAY = 86_400.0


@dataclass(frozen=True)
class Export:
    """The outcome of an export; `skipped` lists transcripts that failed, with the reason."""

    written: int = 0
    removed: int = 0
    skipped: tuple[str, ...] = ()


def export_sessions(
    transcripts: Path, target: Path, render: Callable[[Path], str], *, retention_days: int | None, now: float
) -> Export:
    """Export new and changed transcripts, and remove old exports. Only exported files are ever touched.

    `render` returns a transcript's clean text. Raises OSError if the folder can't be written.
    """
    make_private_dir(target)
    ledger = _read_ledger(target)
    kept: dict[str, str] = {}
    skipped: list[str] = []
    written = 0
    try:
        for transcript, stamp in _current(transcripts, retention_days, now):
            name = f"{transcript.stem}.md"
            file = target / name
            if ledger.get(name) == stamp and file.is_file():
                kept[name] = stamp
                continue
            if name not in ledger and file.exists() and not _is_export(file):
                skipped.append(f"{name}: a file of that name exists and is not an export")
                continue
            try:
                text = redact(render(transcript)).strip()
            except Exception as error:  # one bad transcript must not block the others
                skipped.append(f"{transcript.name}: {error}")
                if name in ledger:
                    kept[name] = ledger[name]
                continue
            if text:
                write_file(file, f"{_heading(transcript.stem)}\n\n{text}\n", mode=0o600)
                kept[name] = stamp
                written += 1
        removed = 0
        for name in ledger.keys() - kept.keys():
            with contextlib.suppress(FileNotFoundError):
                (target / name).unlink()
                removed += 1
    except BaseException:
        # Keep track of files written before the failure, to remove them later.
        with contextlib.suppress(OSError):
            _write_ledger(target, {**ledger, **kept})
        raise
    if kept != ledger:
        _write_ledger(target, kept)
    return Export(written, removed, tuple(skipped))


def _current(transcripts: Path, retention_days: int | None, now: float) -> Iterator[tuple[Path, str]]:
    """Recent transcripts with their stamps."""
    for transcript in sorted(transcripts.glob("*.jsonl")):
        try:
            status = transcript.lstat()
        except OSError:
            continue
        is_old = retention_days is not None and now - status.st_mtime > retention_days * _DAY
        # QMD skips hidden files, and a link may lead anywhere.
        if not is_old and not transcript.is_symlink() and transcript.is_file() and not transcript.name.startswith("."):
            yield transcript, f"{status.st_mtime_ns}:{status.st_size}"


def _is_export(file: Path) -> bool:
    """Whether it looks like an export, in case the ledger was lost."""
    try:
        with file.open(encoding="utf-8") as opened:
            return opened.readline(1000) == f"{_heading(file.stem)}\n"
    except (OSError, ValueError):
        return False


def _heading(stem: str) -> str:
    return f"# Session {stem}"


def _read_ledger(target: Path) -> dict[str, str]:
    """The exported files; names that lead out of the folder are ignored."""
    try:
        raw = json.loads((target / _LEDGER).read_text(encoding="utf-8"))
        return {name: str(stamp) for name, stamp in raw.items() if Path(name).name == name and name.endswith(".md")}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _write_ledger(target: Path, ledger: dict[str, str]) -> None:
    write_file(target / _LEDGER, json.dumps(ledger, indent=2, sort_keys=True) + "\n", mode=0o600)
