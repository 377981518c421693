"""The least that a person writes around a store that knows no files: chunks, what has changed, and three verbs.

Runs in a peer's environment, so nothing but the standard library is imported.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

CHUNK, OVERLAP = 1600, 320
"""Characters: the 400 and 80 tokens of memslot and of the reference."""
RESULTS = 6


class Store(Protocol):
    def replace(self, files: dict[str, list[str]], known: dict[str, Any]) -> dict[str, Any]:
        """Put the chunks of changed files in place of their old ones; returns what to remember for each file."""

    def search(self, question: str) -> list[Any]: ...


def chunks_of(text: str) -> Iterator[str]:
    """Whole lines of up to CHUNK characters, the last OVERLAP of which open the next chunk."""
    lines: list[str] = []
    length = 0
    for line in text.splitlines(keepends=True):
        for piece in (line[start : start + CHUNK] for start in range(0, len(line), CHUNK)):
            if length + len(piece) > CHUNK and lines:
                yield "".join(lines)
                while lines and length > OVERLAP:
                    length -= len(lines.pop(0))
            lines.append(piece)
            length += len(piece)
    if lines and "".join(lines).strip():
        yield "".join(lines)


def sync(store: Store, folder: Path, manifest: Path) -> None:
    """Index the files whose time or size is another than in the manifest."""
    known: dict[str, Any] = json.loads(manifest.read_text()) if manifest.exists() else {}
    marks = {str(file): [file.stat().st_mtime_ns, file.stat().st_size] for file in folder.rglob("*.md")}
    changed = {
        name: list(chunks_of(Path(name).read_text(encoding="utf-8")))
        for name, mark in marks.items()
        if name not in known or known[name]["mark"] != mark
    }
    if changed:
        kept = store.replace(changed, {name: known[name]["kept"] for name in changed if name in known})
        known.update({name: {"mark": marks[name], "kept": kept.get(name)} for name in changed})
        manifest.write_text(json.dumps(known))


def main(open_store: Callable[[Path], Store]) -> None:
    """`sync HOME FOLDER`, `search HOME QUESTION` or `answer HOME`."""
    verb, home, *rest = sys.argv[1:]
    store = open_store(Path(home))
    if verb == "sync":
        sync(store, Path(rest[0]), Path(home) / "manifest.json")
    elif verb == "search":
        print(json.dumps(store.search(rest[0]), default=str))
    else:
        answer(store.search)


def answer(search: Callable[[str], Any]) -> None:
    for line in sys.stdin:
        print(len(search(line.strip())), flush=True)
