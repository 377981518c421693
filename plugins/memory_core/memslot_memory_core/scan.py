"""Word search that reads the notes anew each time: no index, nothing to keep in step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memslot import MemoryHit, redact

from memslot_memory_core.notes import list_notes, read_lines

_WORD = re.compile(r"\w+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_COMMON_TEXT = """
a an and are at be by did do does for from how i in is it my of on or our that the this to was we what when where
which who why with you
"""
_COMMON = frozenset(_COMMON_TEXT.split())


@dataclass(frozen=True)
class Passage:
    """Lines of a note that belong together: a paragraph with the heading above it."""

    path: str
    start_line: int
    end_line: int
    text: str


def passages(workspace: Path, *, private: bool) -> Iterator[Passage]:
    """Every paragraph of every note. A note that cannot be read is passed over."""
    for note in list_notes(workspace, private=private):
        try:
            lines = read_lines(note)
        except OSError:
            continue
        start: int | None = None
        for number, line in enumerate([*lines, ""], start=1):
            if line.strip() and not line.startswith("#"):
                start = start or number
            elif start is not None:
                yield Passage(note.path, start, number - 1, "\n".join(lines[start - 1 : number - 1]))
                start = None


def words(text: str) -> set[str]:
    """The words of a text that say something, folded to lower case.

    Chinese, Japanese and Korean text has no spaces, so each pair of neighbouring characters counts as a word.
    """
    found = {word for word in _WORD.findall(_CJK.sub(" ", text.casefold())) if word not in _COMMON}
    for run in _CJK.findall(text):
        found.update(run[i : i + 2] for i in range(max(1, len(run) - 1)))
    return found


def scan(
    workspace: Path, query: str, max_results: int, *, snippet_chars: int = 700, private: bool = True
) -> list[MemoryHit]:
    """Passages that share words with the query; the score is the share of the query's words they hold."""
    wanted = words(query)
    if not wanted:
        return []
    hits = []
    for passage in passages(workspace, private=private):
        shared = wanted & words(f"{passage.path} {passage.text}")
        if shared:
            hits.append(
                MemoryHit(
                    path=passage.path,
                    score=round(len(shared) / len(wanted), 4),
                    snippet=redact(passage.text)[:snippet_chars],
                    start_line=passage.start_line,
                    end_line=passage.end_line,
                )
            )
    return sorted(hits, key=lambda hit: (-hit.score, hit.path, hit.start_line or 0))[:max_results]
