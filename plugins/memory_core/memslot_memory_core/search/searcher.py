"""Runs a search: embeds the query, finds candidates in one snapshot, ranks them, builds the outcome."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memslot import MemoryHit, MemorySearchOutcome, MemslotError, one_blas_thread, redact
from memslot.retrieval import Matcher, QueryTerms, Weights, make_snippet

from memslot_memory_core.index.generation import Generation
from memslot_memory_core.index.identity import Identity
from memslot_memory_core.index.index_metadata import IndexMetadata
from memslot_memory_core.index.keywords import weigh
from memslot_memory_core.index.part_vectors import part_cosines, spread_over_lines
from memslot_memory_core.index.rebuild import was_recently_replaced
from memslot_memory_core.index.store import IndexFile, Snapshot
from memslot_memory_core.index.tokenizer import FTS5, query_terms
from memslot_memory_core.index.vector_sample import Samples
from memslot_memory_core.search.candidate import ranking_query
from memslot_memory_core.search.candidate_search import CandidateSearch, CandidateSet, Shortlist, VectorQuery
from memslot_memory_core.search.ranking import Ranked, RankedChunk, RankingSettings, best_before_reading, rank
from memslot_memory_core.search_output import age, pluralize

if TYPE_CHECKING:
    from memslot import EmbeddingPipeline, Selection

    from memslot_memory_core.embedder import EmbedderChoice
    from memslot_memory_core.index.bm25 import WeighedQuery
    from memslot_memory_core.index.memory_sources import Sources
    from memslot_memory_core.index.part_vectors import Row
    from memslot_memory_core.index.vector_tables import VectorTables
    from memslot_memory_core.settings import SearchSettings

_SMALLEST_POOL, _LARGEST_POOL = 60, 200
_MOST_CHARS = 10_000
_MOST_DROPPED = 50
_WORDS_TELL = 0.7
"""A line with this share of the query's words is shown without further evidence."""
_LINE_MEANING = 0.04
"""Weight of one standard deviation of a line's similarity; a line with all words weighs 1."""
_REBUILD = "memslot memory index --force"
_PROBE = "check it with: memslot embed probe"


@dataclass(frozen=True)
class _VectorLeg:
    """The query's vector, or the reason why this search has none."""

    vector: Row | None = None
    why_not: str | None = None
    action: str | None = None


class Searcher:
    """Searches one agent's index. Its only state is caches."""

    def __init__(
        self,
        index: IndexFile,
        sources: Sources,
        embedder: EmbedderChoice,
        vectors: VectorTables,
        settings: SearchSettings,
    ) -> None:
        self._index = index
        self._sources = sources
        self._embedder = embedder
        self._vectors = vectors
        self._settings = settings
        self._samples = Samples()
        self._fitting: tuple[EmbeddingPipeline, tuple[str | None, int]] | None = None
        """The last pipeline, and the generation it is comparable with."""
        self.query_failure: str | None = None
        """Why the last query could not be embedded; None after a success."""

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
        """Search; the outcome names the legs that ran, and why one did not.

        `without_vectors` is a reason not to call the provider now; `snippet_chars` the snippet length.
        """
        text = " ".join(query.replace("\0", " ").split())[:_MOST_CHARS]
        pipeline, selection = self._embedder.choose()
        terms = query_terms(text)
        leg = self._leg(text, pipeline, selection, without_vectors)
        wanted = max_results or self._settings.query.max_results
        products = nullcontext() if leg.vector is None else one_blas_thread()
        with products, self._index.snapshot() as snapshot:
            if snapshot is None:
                return _nothing_indexed(self._sources, private, stale)
            if leg.vector is not None and pipeline is not None:
                # A rebuild may have been published since the query was embedded.
                lack = self._unfit(snapshot, pipeline)
                leg = lack if lack is not None else self._with_gaps(leg, snapshot)
            generation = snapshot.generation
            other_settings = self._other_settings(snapshot, pipeline)
            weighed = weigh(snapshot.db, generation.tables.words, terms)
            asked = ranking_query(text, weighed)
            vector_query = None if leg.vector is None else self._vector_query(snapshot, leg.vector)
            if vector_query is None and leg.vector is not None:
                leg = _VectorLeg(why_not=_keywords_only("the index has too few texts yet for vector search"))
            settings = self._ranking_settings(generation, vector_query, wanted, min_score)
            keep = None if explain else best_before_reading(asked, settings)
            candidate_set = self._search_candidates(
                snapshot, terms, weighed, vector_query, settings, private=private, keep=keep
            )
            ranked = rank(candidate_set.candidates, asked, settings)
            matcher = Matcher(asked.terms, FTS5)
            limit = snippet_chars or self._settings.query.snippet_max_chars
            hits = [
                _hit(each, matcher, self._line_scores(each, snapshot, vector_query, limit), limit, explain)
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
            explanation=_explanation(ranked, candidate_set, leg) if explain else None,
        )

    # The query's vector

    def _leg(
        self, text: str, pipeline: EmbeddingPipeline | None, selection: Selection, without_vectors: str | None
    ) -> _VectorLeg:
        """Embed the query, if the index has vectors to compare it with."""
        if pipeline is None:
            return _VectorLeg(why_not=_keywords_only(selection.reason) if selection.requested != "none" else None)
        if without_vectors is not None:
            return _VectorLeg(why_not=_keywords_only(without_vectors), action=_PROBE)
        if self._fitting is None or self._fitting[0] is not pipeline:  # otherwise a later check is enough
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
            return _VectorLeg(why_not=_keywords_only("the provider returned an all-zero vector for the query"))
        return _VectorLeg(row)

    def _unfit(self, snapshot: Snapshot, pipeline: EmbeddingPipeline) -> _VectorLeg | None:
        """Why this pipeline's vectors don't match the index; None if they do."""
        generation = snapshot.generation
        if not generation.chunks:
            return None
        if self._fitting is not None and self._fitting[0] is pipeline and self._fitting[1] == generation.key:
            return None
        there = Identity.from_json(generation.identity)
        here = self._sources.identity_of(pipeline)
        if there.provider is not None and not there.is_comparable(here):
            why = f"the index has vectors of {there.provider} ({there.model}), not of {here.provider} ({here.model})"
            action = f"rebuild it for {here.provider} with: {_REBUILD}; memslot memory status shows the cost"
            return _VectorLeg(why_not=_keywords_only(why), action=action)
        if not generation.vectors:
            stopped = next(
                (each for each in IndexMetadata(snapshot.db).problems() if each.startswith("embedding stopped")), None
            )
            why = "the index has no vectors yet" + (f", {stopped}" if stopped else "")
            return _VectorLeg(why_not=_keywords_only(why), action="memslot memory index")
        self._fitting = (pipeline, generation.key)
        return None

    @staticmethod
    def _with_gaps(leg: _VectorLeg, snapshot: Snapshot) -> _VectorLeg:
        """The leg, with a warning about chunks without a vector."""
        generation = snapshot.generation
        if generation.vectors >= generation.chunks:
            return leg
        waiting = f"SELECT count(*) FROM {generation.tables.chunks} WHERE embedding_id IS NULL"
        missing = int(snapshot.db.execute(waiting).get)
        if not missing:  # the others have empty vectors
            return leg
        why = f"{missing} of {generation.chunks} chunks have no vector yet and are found by keywords only"
        return _VectorLeg(leg.vector, why, leg.action)

    def _other_settings(self, snapshot: Snapshot, pipeline: EmbeddingPipeline | None) -> str | None:
        """A warning if the index was rebuilt with other settings and won't be rebuilt automatically."""
        there, here = Identity.from_json(snapshot.generation.identity), self._sources.identity_of(pipeline)
        if there == here or not was_recently_replaced(snapshot.db, snapshot.generation, here):
            return None
        differences = "; ".join(there.differences(here))
        return f"the index was rebuilt with other settings less than a day ago ({differences})"

    # Candidates and their order

    def _search_candidates(
        self,
        snapshot: Snapshot,
        terms: QueryTerms,
        weighed: WeighedQuery,
        vector_query: VectorQuery | None,
        settings: RankingSettings,
        *,
        private: bool,
        keep: Shortlist | None,
    ) -> CandidateSet:
        hybrid = self._settings.query.hybrid
        pool = settings.max_results * hybrid.candidate_multiplier
        return CandidateSearch(
            snapshot,
            self._vectors,
            terms,
            weighed,
            vector_query,
            pool=min(max(pool, _SMALLEST_POOL), _LARGEST_POOL),
            private=private,
            covers=self._sources.coverage(),
            with_words=hybrid.enabled,
            keep=keep,
        ).run()

    def _vector_query(self, snapshot: Snapshot, vector: Row) -> VectorQuery | None:
        """The query centered for this index; None if there is too little data to calibrate cosines."""
        sample = self._samples.of(snapshot)
        focused = sample.scale.focus(vector)
        noises = sample.noises(focused)
        return None if noises is None else VectorQuery(focused, *noises)

    def _ranking_settings(
        self, generation: Generation, vector_query: VectorQuery | None, wanted: int, min_score: float | None
    ) -> RankingSettings:
        query = self._settings.query
        weights = Weights.of_settings(query.hybrid.vector_weight, query.hybrid.text_weight)
        if vector_query is not None and not query.hybrid.enabled:
            weights = Weights(0.0, 1.0)
        elif vector_query is None and not weights.words:
            weights = Weights(1.0, 0.0)
        compared = 0
        if vector_query is not None:
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
    def _line_scores(
        chunk: RankedChunk, snapshot: Snapshot, vector_query: VectorQuery | None, limit: int
    ) -> Sequence[float]:
        """Scores of a chunk's lines, to select those to show: by words and by similarity."""
        found = chunk.candidate
        lines = found.text.split("\n")
        shares: Sequence[float] = chunk.evidence.lines if chunk.evidence is not None else [0.0] * len(lines)
        if len(found.text) <= limit or vector_query is None or found.part is None or max(shares) >= _WORDS_TELL:
            return shares
        z = {
            part: vector_query.parts.z(cosine)
            for part, cosine in part_cosines(
                snapshot.db, snapshot.generation.tables, vector_query.vector, found.id
            ).items()
        }
        return [
            share + _LINE_MEANING * max(0.0, each)
            for share, each in zip(shares, spread_over_lines(lines, z), strict=True)
        ]


def _hit(chunk: RankedChunk, matcher: Matcher, line_scores: Sequence[float], limit: int, explain: bool) -> MemoryHit:
    found = chunk.candidate
    snippet = make_snippet(found.text, line_scores, matcher, limit)
    return MemoryHit(
        path=found.path,
        score=round(chunk.score, 4),
        snippet=redact(snippet)[:limit],
        source=found.source,
        start_line=found.start_line,
        end_line=found.end_line,
        explanation=chunk.explanation.to_json() if explain else None,
    )


def _mode(leg: _VectorLeg, terms: QueryTerms, settings: SearchSettings) -> str:
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
    """The warning and the action: missing vectors, no hits, weak hits."""
    if not hits and not generation.chunks and generation.synced_at:
        return "the memory is empty", 'add a note: memslot remember "…"'
    if not hits:
        searched = (
            f"no match among {pluralize(generation.chunks, 'chunk')} of {pluralize(generation.files, 'file')}, "
            f"{f'indexed {age(generation.synced_at)}' if generation.synced_at else 'and not all files are indexed yet'}"
        )
        if ranked.dropped:
            searched += f"; the best below the minimum score has {ranked.dropped[0].score:.2f}"
        action = leg.action or "use other words or a lower minScore; memslot memory status shows what is indexed"
        return _joined(leg.why_not, searched), action
    if ranked.weak:
        return _joined(leg.why_not, "weak match: no good answer found, showing the nearest passages"), leg.action
    return leg.why_not, leg.action


def _joined(*sentences: str | None) -> str | None:
    return "; ".join(each for each in sentences if each) or None


def _explanation(ranked: Ranked, candidate_set: CandidateSet, leg: _VectorLeg) -> dict[str, Any]:
    return {
        "terms": {stem: round(idf, 3) for stem, idf in candidate_set.weighed.idf.items()},
        "candidates": len(candidate_set.candidates),
        "engine": candidate_set.engine_reason,
        "vectorLeg": leg.vector is not None,
        "dropped": [each.explanation.to_json() for each in ranked.dropped[:_MOST_DROPPED]],
    }
