"""Parses the output of `qmd … --json` into hits."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memslot import MemoryHit, redact

from memslot_memory_core.qmd.collections import Collection, is_private, read_regular
from memslot_memory_core.qmd.errors import QmdError

_URI = re.compile(r"qmd:/+([^/]+)/(.+?)(?:\?index=[^?]*)?\Z", re.DOTALL)
_HUNK = re.compile(r"@@ -(\d{1,9}),(\d{1,9}) @@[^\n]*(?:\n|\Z)")
_MISSING_VECTORS = re.compile(r"(\d+) documents \((\d+)%\) need embeddings")
_CUT = "..."


@dataclass(frozen=True)
class Row:
    """One result: file, collection, text, its first line and line count."""

    collection: str
    path: str
    score: float
    text: str
    start_line: int | None
    line_count: int
    is_cut: bool


def read_rows(stdout: str) -> list[Row]:
    """Parse the results; raises QmdError for unexpected output."""
    if stdout.lstrip().startswith("No results found"):  # printed by QMD before 1.0, even with --json
        return []
    if not stdout.strip():
        raise QmdError("QMD printed no results")
    for value in _lists(stdout):
        if all(isinstance(item, dict) for item in value):
            return [_row(item) for item in value]
    raise QmdError("QMD did not print a JSON list of results")


def missing_vectors(stderr: str) -> tuple[int, int] | None:
    """Number and percentage of documents without vectors, if QMD warns about them."""
    found = _MISSING_VECTORS.search(stderr)
    return (int(found[1]), int(found[2])) if found else None


def _lists(text: str) -> Iterator[list[Any]]:
    """Every JSON list that starts a line; there may be warnings around it."""
    decoder = json.JSONDecoder()
    for match in re.finditer(r"^\s*\[", text, re.MULTILINE):
        try:
            value, _ = decoder.raw_decode(text, match.end() - 1)
        except (ValueError, RecursionError):
            continue
        yield value


def _row(item: dict[str, Any]) -> Row:
    uri, snippet = item.get("file"), item.get("snippet", item.get("body", ""))
    where = _URI.match(uri) if isinstance(uri, str) else None
    if where is None or not isinstance(snippet, str):
        raise QmdError("QMD printed a result without a file or a text")
    line = item.get("line")
    start, count, text = line if isinstance(line, int) and line > 0 else None, 0, snippet
    if hunk := _HUNK.match(snippet):
        start, count, text = int(hunk[1]), int(hunk[2]), snippet[hunk.end() :]
    return Row(where[1], where[2], _score(item.get("score")), text, start, count, text.endswith(_CUT))


def _score(value: Any) -> float:
    number = float(value) if isinstance(value, int | float) and abs(value) < 1e9 else 0.0
    return min(1.0, max(0.0, number)) if math.isfinite(number) else 0.0


_MIN_SNIPPET_CHARS = 20


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
    """The best hits in QMD's order, and how many results were outside our collections."""
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
        if len(hits) == count or left < _MIN_SNIPPET_CHARS:
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
    """The result's lines, stripped of surrounding blank ones, and the number of the first."""
    text = _whole(row, file) if row.is_cut and row.start_line is not None else row.text
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    blank = next((number for number, line in enumerate(lines) if line.strip()), 0)
    return None if row.start_line is None else row.start_line + blank, lines[blank:]


def _whole(row: Row, file: Path) -> str:
    """The full lines that QMD truncated to 300 characters, if the file still matches."""
    shown = row.text.removesuffix("...")
    lines = (read_regular(file) or b"").decode("utf-8", errors="replace").split("\n")
    first = (row.start_line or 1) - 1
    whole = "\n".join(lines[first : first + row.line_count])
    return whole if whole.startswith(shown) else row.text
