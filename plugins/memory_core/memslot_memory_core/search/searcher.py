"""Answers a query: embeds it, gathers candidates from one snapshot, ranks them, and says how it went."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memslot import MemoryHit, MemorySearchOutcome, MemslotError, redact
from memslot.retrieval import Matcher, QueryTerms, Weights, make_snippet

from memslot_memory_core.index.generation import Generation
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.index_metadata import Facts
from memslot_memory_core.index.keywords import weigh
from memslot_memory_core.index.part_vectors import part_cosines, spread_over_lines
from memslot_memory_core.index.rebuild import was_left
from memslot_memory_core.index.store import IndexFile, Snapshot
from memslot_memory_core.index.tokenizer import FTS5, query_terms
from memslot_memory_core.index.vector_sample import Samples
from memslot_memory_core.search.candidate import ranking_query
from memslot_memory_core.search.candidate_search import Gathered, Gathering, Meaning, Shortlist
from memslot_memory_core.search.ranking import Ranked, RankedChunk, RankingSettings, best_before_reading, rank
from memslot_memory_core.search_output import age, counted

if TYPE_CHECKING:
    from memslot import EmbeddingPipeline, MemorySearch, Selection

    from memslot_memory_core.embedder import EmbedderChoice
    from memslot_memory_core.index.bm25 import Weighed
    from memslot_memory_core.index.memory_sources import Sources
    from memslot_memory_core.index.part_vectors import Row
    from memslot_memory_core.index.vector_tables import VectorTables

_SMALLEST_POOL, _LARGEST_POOL = 60, 200
_MOST_CHARS = 10_000
_MOST_DROPPED = 50
_WORDS_TELL = 0.7
"""The share of the query's words from which on a line needs no other sign that it is to be shown."""
_LINE_MEANING = 0.04
"""The worth of one deviation of a line's meaning, where a line that holds all words is worth 1."""
_REBUILD = "memslot memory index --force"
_PROBE = "check it with: memslot embed probe"


@dataclass(frozen=True)
class _VectorLeg:
    """The query's vector, or the reason why this search has none."""

    vector: Row | None = None
    why_not: str | None = None
    action: str | None = None


class Searcher:
    """One agent's searches. Holds nothing but what makes the next one faster."""

    def __init__(
        self,
        index: IndexFile,
        sources: Sources,
        embedder: EmbedderChoice,
        vectors: VectorTables,
        settings: MemorySearch,
    ) -> None:
        self._index = index
        self._sources = sources
        self._embedder = embedder
        self._vectors = vectors
        self._settings = settings
        self._samples = Samples()
        self._fitting: tuple[EmbeddingPipeline, tuple[str | None, int]] | None = None
        """The last pipeline and the generation whose vectors can be compared."""
        self.query_failure: str | None = None
        """Why the last query could not be embedded, until one can."""

    def find(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        private: bool = True,
        explain: bool = False,
        stale: str | None = None,
        without_vectors: str | None = None,
        snippet_chars: int | None = None,
    ) -> MemorySearchOutcome:
        """What fits, best first. It names the legs that ran and says what did not, and why.

        `without_vectors` is a reason not to ask the provider now; `snippet_chars` the length of a snippet.
        """
        text = " ".join(query.replace("\0", " ").split())[:_MOST_CHARS]
        pipeline, selection = self._embedder.choose()
        terms = query_terms(text)
        leg = self._leg(text, pipeline, selection, without_vectors)
        wanted = max_results or self._settings.query.max_results
        with self._index.snapshot() as snapshot:
            if snapshot is None:
                return _nothing_indexed(self._sources, private, stale)
            if leg.vector is not None and pipeline is not None:
                # A rebuild may have been published since the query was embedded.
                lack = self._unfit(snapshot, pipeline)
                leg = lack if lack is not None else self._with_gaps(leg, snapshot)
            generation = snapshot.generation
            other_settings = self._other_settings(snapshot, pipeline)
            weighed = weigh(snapshot.db, generation.tables.words, terms)
            asked = ranking_query(text, terms, weighed)
            meaning = None if leg.vector is None else self._meaning(snapshot, leg.vector)
            if meaning is None and leg.vector is not None:
                leg = _VectorLeg(why_not=_keywords_only("the index has too few texts yet to compare meanings"))
            settings = self._ranking_settings(generation, meaning, wanted, min_score)
            keep = None if explain else best_before_reading(asked, settings)
            gathered = self._gather(snapshot, terms, weighed, meaning, settings, private=private, keep=keep)
            ranked = rank(gathered.candidates, asked, settings)
            matcher = Matcher(asked.terms, FTS5)
            limit = snippet_chars or self._settings.query.snippet_max_chars
            hits = [
                _hit(each, matcher, self._line_scores(each, snapshot, meaning, limit), limit, explain)
                for each in ranked.results
            ]
        warning, action = _remarks(leg, hits, ranked, generation)
        if other_settings is not None:
            warning, action = _joined(other_settings, warning), action or f"run: {_REBUILD}"
        return MemorySearchOutcome(
            hits=hits,
            mode=_mode(leg, terms, self._settings),
            provider=selection.provider.id if leg.vector is not None and selection.provider else None,
            model=selection.provider.model if leg.vector is not None and selection.provider else None,
            warning=warning,
            action=action,
            stale=stale,
            weak=ranked.weak,
            explanation=_explanation(ranked, gathered, leg) if explain else None,
        )

    # The query's vector

    def _leg(
        self, text: str, pipeline: EmbeddingPipeline | None, selection: Selection, without_vectors: str | None
    ) -> _VectorLeg:
        """The query's vector, asked for only where the index has something to compare it with."""
        if pipeline is None:
            return _VectorLeg(why_not=_keywords_only(selection.reason) if selection.requested != "none" else None)
        if without_vectors is not None:
            return _VectorLeg(why_not=_keywords_only(without_vectors), action=_PROBE)
        if self._fitting is None or self._fitting[0] is not pipeline:  # else it is enough to look once more later
            with self._index.snapshot() as snapshot:
                lack = None if snapshot is None else self._unfit(snapshot, pipeline)
            if lack is not None:
                return lack
        try:
            row = pipeline.embed_query(text)
        except MemslotError as error:
            self.query_failure = str(error)
            return _VectorLeg(why_not=_keywords_only(str(error)), action=_PROBE)
        self.query_failure = None
        if pipeline.is_zero(row):
            return _VectorLeg(why_not=_keywords_only("the provider finds nothing to embed in the query"))
        return _VectorLeg(row)

    def _unfit(self, snapshot: Snapshot, pipeline: EmbeddingPipeline) -> _VectorLeg | None:
        """Why no vector of this pipeline can be compared with those of the index; None where it can."""
        generation = snapshot.generation
        if not generation.chunks:
            return None
        if self._fitting is not None and self._fitting[0] is pipeline and self._fitting[1] == generation.key:
            return None
        there = Identity.from_json(generation.identity)
        here = self._sources.identity_of(pipeline)
        if there.provider is not None and not there.compares_with(here):
            why = f"the index has vectors of {there.provider} ({there.model}), not of {here.provider} ({here.model})"
            action = f"build it for {here.provider} with: {_REBUILD}; memslot memory status tells what that costs"
            return _VectorLeg(why_not=_keywords_only(why), action=action)
        if not generation.vectors:
            stopped = next(
                (each for each in Facts(snapshot.db).problems() if each.startswith("embedding stopped")), None
            )
            why = "the index has no vectors yet" + (f", {stopped}" if stopped else "")
            return _VectorLeg(why_not=_keywords_only(why), action="memslot memory index")
        self._fitting = (pipeline, generation.key)
        return None

    @staticmethod
    def _with_gaps(leg: _VectorLeg, snapshot: Snapshot) -> _VectorLeg:
        """The leg, with a word about chunks that still wait for their vector."""
        generation = snapshot.generation
        if generation.vectors >= generation.chunks:
            return leg
        waiting = f"SELECT count(*) FROM {generation.tables.chunks} WHERE embedding_id IS NULL"
        missing = int(snapshot.db.execute(waiting).get)
        if not missing:  # the others have nothing in them that could be embedded
            return leg
        why = f"{missing} of {generation.chunks} chunks have no vector yet and are found by keywords only"
        return _VectorLeg(leg.vector, why, leg.action)

    def _other_settings(self, snapshot: Snapshot, pipeline: EmbeddingPipeline | None) -> str | None:
        """A warning for an index that was rebuilt from these settings, and is not rebuilt back by itself."""
        there, here = Identity.from_json(snapshot.generation.identity), self._sources.identity_of(pipeline)
        if there == here or not was_left(snapshot.db, snapshot.generation, here):
            return None
        differences = "; ".join(there.differences(here))
        return f"the index was rebuilt with other settings less than a day ago ({differences})"

    # Candidates and their order

    def _gather(
        self,
        snapshot: Snapshot,
        terms: QueryTerms,
        weighed: Weighed,
        meaning: Meaning | None,
        settings: RankingSettings,
        *,
        private: bool,
        keep: Shortlist | None,
    ) -> Gathered:
        hybrid = self._settings.query.hybrid
        pool = settings.max_results * hybrid.candidate_multiplier
        return Gathering(
            snapshot,
            self._vectors,
            terms,
            weighed,
            meaning,
            pool=min(max(pool, _SMALLEST_POOL), _LARGEST_POOL),
            private=private,
            covers=self._sources.coverage(),
            with_words=hybrid.enabled,
            keep=keep,
        ).run()

    def _meaning(self, snapshot: Snapshot, vector: Row) -> Meaning | None:
        """The query as it is compared with this index; None where too little is known to judge a cosine."""
        sample = self._samples.of(snapshot)
        focused = sample.scale.focus(vector)
        noises = sample.noises(focused)
        return None if noises is None else Meaning(focused, *noises)

    def _ranking_settings(
        self, generation: Generation, meaning: Meaning | None, wanted: int, min_score: float | None
    ) -> RankingSettings:
        query = self._settings.query
        weights = Weights.of_settings(query.hybrid.vector_weight, query.hybrid.text_weight)
        if meaning is not None and not query.hybrid.enabled:
            weights = Weights(0.0, 1.0)
        elif meaning is None and not weights.words:
            weights = Weights(1.0, 0.0)
        compared = 0
        if meaning is not None:
            compared = generation.vectors + generation.turn_vectors
        return RankingSettings(
            weights=weights,
            compared=compared,
            max_results=wanted,
            min_score=query.min_score if min_score is None else min_score,
            mmr_balance=query.hybrid.mmr.lambda_ if query.hybrid.mmr.enabled else None,
            half_life_days=(
                query.hybrid.temporal_decay.half_life_days if query.hybrid.temporal_decay.enabled else None
            ),
            now=time.time(),
        )

    # Results

    @staticmethod
    def _line_scores(chunk: RankedChunk, snapshot: Snapshot, meaning: Meaning | None, limit: int) -> Sequence[float]:
        """Which lines to show, where not all can be: those that hold the query's words, and those that mean it."""
        found = chunk.candidate
        lines = found.text.split("\n")
        shares: Sequence[float] = chunk.evidence.lines if chunk.evidence is not None else [0.0] * len(lines)
        if len(found.text) <= limit or meaning is None or found.part is None or max(shares) >= _WORDS_TELL:
            return shares
        z = {
            part: meaning.parts.z(cosine)
            for part, cosine in part_cosines(snapshot.db, snapshot.generation.tables, meaning.vector, found.id).items()
        }
        return [
            share + _LINE_MEANING * max(0.0, each)
            for share, each in zip(shares, spread_over_lines(lines, z), strict=True)
        ]


def _hit(chunk: RankedChunk, matcher: Matcher, line_scores: Sequence[float], limit: int, explain: bool) -> MemoryHit:
    found = chunk.candidate
    lines = found.text.split("\n")
    numbers = [min(found.start_line + offset, found.end_line) for offset in range(len(lines))]
    snippet = make_snippet(found.text, line_scores, matcher, limit, numbers=numbers)
    return MemoryHit(
        path=found.path,
        score=round(chunk.score, 4),
        snippet=redact(snippet.text)[:limit],
        source=found.source,
        start_line=found.start_line,
        end_line=found.end_line,
        explanation=chunk.explanation.to_json() if explain else None,
    )


def _mode(leg: _VectorLeg, terms: QueryTerms, settings: MemorySearch) -> str:
    if leg.vector is None:
        return "keywords"
    return "hybrid" if terms.terms and settings.query.hybrid.enabled else "vectors"


def _keywords_only(why: str) -> str:
    return f"searched by keywords only: {why}"


def _nothing_indexed(sources: Sources, private: bool, stale: str | None) -> MemorySearchOutcome:
    return MemorySearchOutcome(
        hits=[],
        mode="keywords",
        warning=f"nothing is indexed yet of {sources.workspace}" if private else "nothing is indexed yet",
        action="run: memslot memory index",
        stale=stale or "the first index is not built yet",
    )


def _remarks(
    leg: _VectorLeg, hits: Sequence[MemoryHit], ranked: Ranked, generation: Generation
) -> tuple[str | None, str | None]:
    """The warning and the action: what the vectors lack, what no hits mean, that poor ones are poor."""
    if not hits:
        searched = (
            f"nothing fits among {counted(generation.chunks, 'chunk')} of {counted(generation.files, 'file')}, "
            f"{f'indexed {age(generation.synced_at)}' if generation.synced_at else 'and not all files are in yet'}"
        )
        if ranked.dropped:
            searched += f"; the best of what scored too low has {ranked.dropped[0].score:.2f}"
        action = leg.action or "use other words, or a lower minScore; memslot memory status says what is indexed"
        return _joined(leg.why_not, searched), action
    if ranked.weak:
        return _joined(leg.why_not, "weak match: no good answer found, showing the nearest passages"), leg.action
    return leg.why_not, leg.action


def _joined(*sentences: str | None) -> str | None:
    return "; ".join(each for each in sentences if each) or None


def _explanation(ranked: Ranked, gathered: Gathered, leg: _VectorLeg) -> dict[str, Any]:
    return {
        "terms": {stem: round(idf, 3) for stem, idf in gathered.weighed.idf.items()},
        "candidates": len(gathered.candidates),
        "engine": gathered.engine_reason,
        "vectorLeg": leg.vector is not None,
        "dropped": [each.explanation.to_json() for each in ranked.dropped[:_MOST_DROPPED]],
    }
