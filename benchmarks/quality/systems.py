"""What is asked: memslot in several settings, through its public API, and the rules it does not follow."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ablations import ABLATIONS, Ablation
from measures import Answer, Found, Memory
from question_sets import Files, write_files

SQUEEZED = Path(__file__).resolve().parent / "squeezed"


@dataclass(frozen=True)
class System:
    """memslot with its defaults apart from `settings` (of the index or of the query), and one part taken out if so."""

    name: str
    index: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    plugins: Mapping[str, Any] = field(default_factory=dict)
    ablation: Ablation = contextlib.nullcontext

    @property
    def settings(self) -> dict[str, Any]:
        return {**self.index, **({"query": self.query} if self.query else {})}


SYSTEMS: Mapping[str, System] = {
    each.name: each
    for each in (
        System("default"),
        System("keywords only", index={"provider": "none"}),
        System("vectors only", query={"hybrid": {"enabled": False}}),
        System("squeezed cosines", index={"provider": "squeezed"}, plugins={"load": {"paths": [str(SQUEEZED)]}}),
        System("without part vectors", index={"store": {"vector": {"parts": "off"}}}),
        *(System(name, ablation=ablation) for name, ablation in ABLATIONS.items()),
    )
}
REFERENCE, REFERENCE_WITHOUT_FLOOR = "reference rules", "reference rules, no floor"
NAMES = (*SYSTEMS, REFERENCE, REFERENCE_WITHOUT_FLOOR)


@contextlib.contextmanager
def opened(name: str, files: Files, folder: Path) -> Iterator[Memory]:
    """A system that has indexed these files and nothing else.

    In one folder the systems that differ only in how they search share an index, and files of an earlier time
    are not indexed again.
    """
    if name not in SYSTEMS:
        reference = Reference(files, 0.35 if name == REFERENCE else 0.0)
        with contextlib.closing(reference):
            yield reference
        return
    system = SYSTEMS[name]
    workspace = folder / "workspace"
    write_files(files, workspace)
    home = folder / re.sub(r"\W+", "-", json.dumps(system.index))
    with system.ablation(), contextlib.closing(Memslot(home, workspace, system)) as memory:
        yield memory


class Memslot:
    """A host of its own in a folder, with nobody's API keys."""

    def __init__(self, home: Path, workspace: Path, system: System) -> None:
        self._host = load_host(home, system.settings, workspace=workspace, plugins=system.plugins)
        self._memory: Any = self._host.memory
        synced = self._memory.sync()
        if not synced.complete:
            raise SystemExit(f"the notes could not be indexed: {'; '.join(synced.problems)}")

    def search(self, query: str) -> Found:
        outcome = self._memory.search(query)
        answers = [Answer(hit.path, hit.start_line, hit.end_line, hit.snippet) for hit in outcome.hits]
        return Found(answers, outcome.weak)

    def recall(self, prompt: str) -> str:
        with self._host.run(prompt) as run:
            return str(run.context)

    def close(self) -> None:
        self._host.close()


def load_host(
    home: Path, settings: Mapping[str, Any], *, workspace: Path | None = None, plugins: Mapping[str, Any] | None = None
) -> Any:
    """Only `sync()` indexes: no watcher and no look at the disk while questions are asked."""
    from memslot import Host

    quiet = {"sync": {"watch": False, "onSearch": False, "onSessionStart": False}}
    defaults: dict[str, Any] = {"memorySearch": {**quiet, **settings}}
    if workspace is not None:
        defaults["workspace"] = str(workspace)
    config = {"agents": {"defaults": defaults}, **({"plugins": dict(plugins)} if plugins else {})}
    return Host.load(config, home=home, env={"HOME": str(home.parent)})


class Reference:
    """The rules of the system that memslot follows, as first published, on the same chunks and vectors.

    All words must occur in a chunk (joined by AND); whatever the words find has the text score 1.0, as its formula
    gives for SQLite's negative ranks; 0.7 times the cosine and 0.3 times that are summed, with 0 for what a leg did not
    return; four times as many candidates as results; a floor of 0.35; the first 700 characters are shown.
    """

    def __init__(self, files: Files, min_score: float) -> None:
        import apsw
        import numpy
        from memslot_embed_providers.universal.provider import UniversalProvider
        from memslot_memory_core.sources.chunking import chunk_lines

        self._min_score = min_score
        self._rows = [
            (path, chunk.start_line, chunk.end_line, chunk.text)
            for path, lines in files.items()
            for chunk in chunk_lines(lines, None, tokens=400, overlap=80)
        ]
        texts = [row[3] for row in self._rows]
        self._provider = UniversalProvider()
        self._vectors = numpy.asarray(self._provider.embed_documents(texts))
        self._db = apsw.Connection(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        self._db.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", enumerate(texts))

    def search(self, query: str) -> Found:
        import numpy

        wanted = 6
        pool = wanted * 4
        cosines = self._vectors @ numpy.asarray(self._provider.embed_query(query))
        scores = {int(index): 0.7 * float(cosines[index]) for index in numpy.argsort(-cosines)[:pool]}
        words = re.findall(r"[A-Za-z0-9_]+", query)
        if words:
            every = " AND ".join(f'"{word}"' for word in words)
            found = self._db.execute("SELECT rowid FROM words(?) ORDER BY rank LIMIT ?", (every, pool))
            for (index,) in found:
                scores[index] = scores.get(index, 0.0) + 0.3
        best = sorted(scores, key=lambda index: -scores[index])
        return Found([self._answer(index) for index in best if scores[index] >= self._min_score][:wanted])

    def recall(self, prompt: str) -> str:
        """Its three best passages, fenced as memslot fences them."""
        from memslot import fence

        return fence(answer.snippet for answer in self.search(prompt).answers[:3])

    def _answer(self, index: int) -> Answer:
        path, first, last, text = self._rows[index]
        return Answer(path, first, last, text[:700])

    def close(self) -> None:
        self._db.close()
