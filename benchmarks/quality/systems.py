"""What is asked: memslot in several settings, through its public API, and the rules it does not follow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from measures import Answer
from question_sets import QuestionSet

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "keywords only": {"provider": "none"},
    "vectors only": {"query": {"hybrid": {"enabled": False}}},
    "fusion by rank": {"query": {"hybrid": {"fusion": "rrf"}}},
}
REFERENCE, REFERENCE_WITHOUT_FLOOR = "reference rules", "reference rules, no floor"
NAMES = (*SETTINGS, REFERENCE, REFERENCE_WITHOUT_FLOOR)


class System(Protocol):
    """Something that can be asked about one workspace."""

    def ask(self, query: str, wanted: int | None = None) -> Sequence[Answer]: ...

    def close(self) -> None: ...


def make_system(name: str, asked: QuestionSet, folder: Path) -> System:
    """Index a set's files in `folder` and be ready for questions."""
    if name in SETTINGS:
        return Memslot(asked, folder, SETTINGS[name])
    return Reference(asked, 0.35 if name == REFERENCE else 0.0)


class Memslot:
    """A host of its own in a folder, with its defaults apart from what `settings` says, and nobody's API keys."""

    def __init__(self, asked: QuestionSet, folder: Path, settings: Mapping[str, Any]) -> None:
        from memslot import Host

        workspace = folder / "workspace"
        asked.write(workspace)
        defaults = {"workspace": str(workspace), "memorySearch": dict(settings)}
        self._host = Host.load({"agents": {"defaults": defaults}}, home=folder / "home", env={"HOME": str(folder)})
        memory: Any = self._host.memory
        memory.sync()
        self._memory = memory

    def ask(self, query: str, wanted: int | None = None) -> Sequence[Answer]:
        found = self._memory.search(query, max_results=wanted).hits
        return [Answer(hit.path, hit.start_line, hit.end_line, hit.snippet, hit.score) for hit in found]

    def close(self) -> None:
        self._host.close()


class Reference:
    """The rules of the system that memslot follows, as first published, on the same chunks and vectors.

    All words must occur in a chunk (joined by AND); whatever the words find has the text score 1.0, as its formula
    gives for SQLite's negative ranks; 0.7 times the cosine and 0.3 times that are summed, with 0 for what a leg did not
    return; four times as many candidates as results; a floor of 0.35; the first 700 characters are shown.
    """

    def __init__(self, asked: QuestionSet, min_score: float) -> None:
        import apsw
        import numpy
        from memslot_embed_providers.static.provider import StaticProvider
        from memslot_memory_core.sources.chunking import chunk_lines

        self._min_score = min_score
        self._rows = [
            (path, chunk.start_line, chunk.end_line, chunk.text)
            for path, lines in asked.files.items()
            for chunk in chunk_lines(lines, None, tokens=400, overlap=80)
        ]
        texts = [row[3] for row in self._rows]
        self._provider = StaticProvider()
        self._vectors = numpy.asarray(self._provider.embed_documents(texts))
        self._db = apsw.Connection(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        self._db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", enumerate(texts))

    def ask(self, query: str, wanted: int | None = None) -> Sequence[Answer]:
        import numpy

        wanted = wanted or 6
        pool = min(200, wanted * 4)
        cosines = self._vectors @ numpy.asarray(self._provider.embed_query(query))
        scores = {int(index): 0.7 * float(cosines[index]) for index in numpy.argsort(-cosines)[:pool]}
        words = re.findall(r"[A-Za-z0-9_]+", query)
        if words:
            every = " AND ".join(f'"{word}"' for word in words)
            found = self._db.execute("SELECT rowid FROM words(?) ORDER BY rank LIMIT ?", (every, pool))
            for (index,) in found:
                scores[index] = scores.get(index, 0.0) + 0.3
        best = sorted(scores, key=lambda index: -scores[index])
        return [self._answer(index, scores[index]) for index in best if scores[index] >= self._min_score][:wanted]

    def _answer(self, index: int, score: float) -> Answer:
        path, first, last, text = self._rows[index]
        return Answer(path, first, last, text[:700], score)

    def close(self) -> None:
        self._db.close()
