"""A team's glossary: one term per line in GLOSSARY.md, explained before a prompt that uses it.

A memory needs three methods: search, status and close. This one has no tools and writes nothing: people edit the
file, every search of the stack includes it, and a term is recalled before a prompt that contains it.
"""

from __future__ import annotations

from pathlib import Path

from memslot import (
    AgentStart,
    MemoryHit,
    MemorySearchOutcome,
    MemoryStatus,
    PluginContext,
    RecalledItem,
    RunInfo,
    hookimpl,
)
from memslot.retrieval import STEMMING_TOKENIZER, WEAK_SCORE, query_terms

NAMED, SHARED = 0.9, 0.8
"""Scores of a line whose term is in the query, and of one that has all of the query's words."""


class Glossary:
    """The glossary of one workspace. The file is read for each query, so edits count at once."""

    def __init__(self, workspace: Path, path: str) -> None:
        self._path = path
        self._file = workspace / path

    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        """Return the lines that have words of the query, best first."""
        wanted, hits = _stems(query), []
        for number, line in enumerate(self._lines(), start=1):
            word = _stems(line.partition(":")[0])
            score = NAMED if word and word <= wanted else SHARED * len(wanted & _stems(line)) / (len(wanted) or 1)
            if score:
                hits.append(MemoryHit(self._path, score, line.strip(), "glossary", number, number))
        hits.sort(key=lambda hit: -hit.score)
        is_weak = bool(hits) and hits[0].score < WEAK_SCORE
        return MemorySearchOutcome(hits[: max_results or 6], mode="words", weak=is_weak)

    def status(self) -> MemoryStatus:
        return MemoryStatus("glossary", {"terms": len(self._lines())}, details={"file": str(self._file)})

    def close(self) -> None:
        """Nothing stays open between calls."""

    def _lines(self) -> list[str]:
        try:
            return self._file.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return []


def _stems(text: str) -> set[str]:
    return set(query_terms(text, STEMMING_TOKENIZER).stems)


@hookimpl
def register_memory(ctx: PluginContext) -> Glossary:
    return ctx.shared("glossary", lambda: Glossary(ctx.workspace, ctx.config["file"]))


@hookimpl
def before_agent_start(ctx: PluginContext, run: RunInfo) -> AgentStart | None:
    """Recall what fits the prompt. The host fences it, removes duplicates and cuts everything to one budget."""
    if not run.session.is_private:
        return None
    hits = register_memory(ctx).search(run.prompt, max_results=3).hits
    return AgentStart(recalled=[RecalledItem(h.snippet, h.score, h.citation) for h in hits if h.score >= WEAK_SCORE])
