"""Turns QMD's results into hits: only files of the agent's collections, clean, and no longer than allowed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from memslot import MemoryHit, redact

from memslot_memory_core.qmd.collections import Collection, is_private, read_regular
from memslot_memory_core.qmd.output import Row

_LEAST_SNIPPET_CHARS = 20


def make_hits(
    rows: Iterable[Row],
    collections: Sequence[Collection],
    *,
    workspace: Path,
    private: bool,
    count: int,
    snippet_chars: int,
    total_chars: int,
) -> tuple[list[MemoryHit], int]:
    """The best hits in QMD's order, and how many results named a file that is none of ours."""
    by_name = {collection.name: collection for collection in collections}
    hits: list[MemoryHit] = []
    dropped, left = 0, total_chars
    for row in rows:
        collection = by_name.get(row.collection)
        file = collection.file(row.path) if collection is not None else None
        if collection is None or file is None:
            dropped += 1
            continue
        if not private and is_private(collection, file, workspace):
            continue
        if len(hits) == count or left < _LEAST_SNIPPET_CHARS:
            break
        start, lines = _lines(row, file)
        snippet = redact("\n".join(lines))[: min(snippet_chars, left)].rstrip()
        left -= len(snippet)
        hits.append(
            MemoryHit(
                path=f"qmd/{collection.name}/{row.path}",
                score=row.score,
                snippet=snippet,
                source=collection.source,
                start_line=start,
                end_line=None if start is None else start + snippet.count("\n"),
            )
        )
    return hits, dropped


def _lines(row: Row, file: Path) -> tuple[int | None, list[str]]:
    """The result's lines without blank ones around them, and the number of the first."""
    text = _whole(row, file) if row.is_cut and row.start_line is not None else row.text
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    blank = next((number for number, line in enumerate(lines) if line.strip()), 0)
    return None if row.start_line is None else row.start_line + blank, lines[blank:]


def _whole(row: Row, file: Path) -> str:
    """The lines that QMD cut short (it shows 300 characters), if the file still begins them like that."""
    shown = row.text.removesuffix("...")
    lines = (read_regular(file) or b"").decode("utf-8", errors="replace").split("\n")
    first = (row.start_line or 1) - 1
    whole = "\n".join(lines[first : first + row.line_count])
    return whole if whole.startswith(shown) else row.text
