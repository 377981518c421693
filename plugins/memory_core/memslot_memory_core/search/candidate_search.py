"""Candidate search: the best rows of each leg, with exact scores from both."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memslot.retrieval import QueryTerms, chance

from memslot_memory_core.index import keywords
from memslot_memory_core.index.bm25 import WeighedQuery
from memslot_memory_core.index.keywords import Scores
from memslot_memory_core.index.part_vectors import best_parts
from memslot_memory_core.index.store import Snapshot
from memslot_memory_core.search.candidate import Candidate, UserLine

if TYPE_CHECKING:
    from memslot.retrieval import Noise

    from memslot_memory_core.index.part_vectors import PartDistances, Row
    from memslot_memory_core.index.vector_tables import Kind, VectorTables
    from memslot_memory_core.index.vectors.engine import State, VectorEngine

_MOST_TURNS = 2000
_WIDER = 4
_MOST_VISIBLE = 500
_COMPARED = 72
"""Chunks whose parts are rescored with int8 vectors."""
_USUAL_PARTS = 8


@dataclass(frozen=True, eq=False)
class VectorQuery:
    """A query's vector, centered for one index, and its noise among chunks, parts and user lines."""

    vector: Row
    chunks: Noise
    parts: Noise
    turns: Noise


@dataclass(frozen=True)
class Shortlist:
    """How to select the candidates to read: the best `most`, by BM25 and z."""

    rate: Callable[[float, float | None], float]
    most: int


@dataclass(frozen=True)
class CandidateSet:
    """Unordered candidates, the weighed query, and why a slower vector engine was used, if so."""

    candidates: Sequence[Candidate]
    weighed: WeighedQuery
    engine_reason: str | None = None


@dataclass
class _LegScores:
    """Scores so far, by row id: BM25, cosine, best part and number of parts."""

    r: dict[int, float]
    cosine: dict[int, float]
    parts: dict[int, tuple[float, int]]

    def z(self, number: int, vector_query: VectorQuery | None) -> float | None:
        """A chunk's z-score: its own, or its best part's corrected for the number of parts."""
        if vector_query is None:
            return None
        found = []
        if number in self.cosine:
            found.append(vector_query.chunks.z(self.cosine[number]))
        if number in self.parts:
            part, count = self.parts[number]
            found.append(vector_query.parts.z(part) - chance(count))
        return max(found, default=None)


class CandidateSearch:
    """One query against one snapshot."""

    def __init__(
        self,
        snapshot: Snapshot,
        vectors: VectorTables,
        terms: QueryTerms,
        weighed: WeighedQuery,
        vector_query: VectorQuery | None,
        *,
        pool: int,
        private: bool,
        covers: Callable[[str, str], bool] = lambda source, path: True,
        with_words: bool = True,
        keep: Shortlist | None = None,
    ) -> None:
        """`covers(source, path)` says whether the settings include that file."""
        self._db = snapshot.db
        self._generation = snapshot.generation
        self._tables = snapshot.generation.tables
        self._vectors = vectors
        self._terms = terms
        self._weighed = weighed
        self._vector_query = vector_query
        self._query_vector = None if vector_query is None else vector_query.vector.astype("<f4").tobytes()
        self._pool = pool
        self._private = private
        self._covers = covers
        self._with_words = with_words
        self._keep = keep
        self._engines: dict[Kind, VectorEngine] = {}
        self._engine_reason: str | None = None

    def run(self) -> CandidateSet:
        said = keywords.score_query(self._db, self._tables.words, self._weighed, read=self._read)
        found = _LegScores(*self._search_legs("chunks", said, self._pool), {})
        turns = self._search_turns(self._pool)
        distances = self._compare_parts()
        ids = {*found.r, *found.cosine, *distances.nearest(self._pool)} if distances else {*found.r, *found.cosine}
        ids.update(turns.chunks if turns else ())
        if self._keep is not None and self._private and turns is None:
            self._complete(ids, said, found)
            if distances is not None:
                # Estimate by bits which are worth rescoring.
                found.parts = self._estimated(distances, ids)
                ids = set(self._best(ids, found, self._keep, _COMPARED))
                found.parts = self._best_parts(ids)
            rows = self._rows(self._best(ids, found, self._keep, self._keep.most))
        else:
            rows = self._rows(ids)
            if not self._private and len(rows) < self._pool:
                # Private rows were filtered out: widen the search, and add the first visible rows.
                wider = self._pool * _WIDER
                found = _LegScores(*self._search_legs("chunks", said, wider), {})
                nearest = distances.nearest(wider) if distances else ()
                rows = self._rows({*found.r, *found.cosine, *nearest, *self._visible()})
            self._complete(rows, said, found)
            found.parts = self._best_parts(rows)
        user_lines = self._user_lines(turns, rows)
        candidates = [
            Candidate(
                number,
                path,
                source,
                start,
                end,
                text,
                text_r=found.r[number],
                z=found.z(number, self._vector_query),
                cosine=found.cosine.get(number),
                part=found.parts[number][0] if number in found.parts else None,
                time=time,
                user_lines=user_lines.get(number),
            )
            for number, path, source, start, end, text, time in rows.values()
        ]
        return CandidateSet(candidates, self._weighed, self._engine_reason)

    def _best(self, ids: Iterable[int], found: _LegScores, keep: Shortlist, most: int) -> list[int]:
        rated = sorted((-keep.rate(found.r[number], found.z(number, self._vector_query)), number) for number in ids)
        return [number for _, number in rated[: max(most, keep.most)]]

    def _complete(self, ids: Iterable[int], said: Scores, found: _LegScores) -> None:
        """Add the scores of legs that did not find these rows."""
        found.r |= said.of([number for number in ids if number not in found.r])
        found.cosine |= self._cosines("chunks", [number for number in ids if number not in found.cosine])

    def _search_legs(self, kind: Kind, said: Scores, limit: int) -> tuple[dict[int, float], dict[int, float]]:
        """The best rows of each leg: BM25 by id, and cosine by id."""
        with_words = self._with_words or self._query_vector is None
        return dict(said.best(limit)) if with_words else {}, self._nearest(kind, limit)

    def _compare_parts(self) -> PartDistances | None:
        if self._vector_query is None or not self._generation.part_vectors:
            return None
        finder = self._vectors.part_index(self._generation)
        return finder.compare(self._db, self._generation, self._vector_query.vector)

    @staticmethod
    def _estimated(distances: PartDistances, ids: Collection[int]) -> dict[int, tuple[float, int]]:
        return {number: (cosine, _USUAL_PARTS) for number, cosine in distances.cosines(list(ids)).items()}

    def _best_parts(self, ids: Collection[int]) -> dict[int, tuple[float, int]]:
        if self._vector_query is None or not self._generation.part_vectors:
            return {}
        return best_parts(self._db, self._tables, self._vector_query.vector, list(ids))

    def _nearest(self, kind: Kind, limit: int) -> dict[int, float]:
        generation = self._generation
        if self._query_vector is None or not (generation.vectors if kind == "chunks" else generation.turn_vectors):
            return {}
        found = self._engine(kind).search(self._db, self._query_vector, limit, state=self._state(kind))
        return dict(found)

    def _cosines(self, kind: Kind, ids: Sequence[int]) -> dict[int, float]:
        if self._query_vector is None or not ids or not self._generation.identity.get("dims"):
            return {}
        state = self._state(kind)
        return self._engine(kind).cosines(self._db, self._query_vector, ids, state=state)

    def _state(self, kind: Kind) -> State:
        from memslot_memory_core.index.vector_tables import state_of

        return state_of(self._generation, kind)

    def _engine(self, kind: Kind) -> VectorEngine:
        if kind not in self._engines:
            chosen = self._vectors.for_reading(self._db, self._generation, kind)
            self._engines[kind], self._engine_reason = chosen
        return self._engines[kind]

    def _read(self, ids: Sequence[int]) -> Mapping[int, str]:
        return dict(
            self._db.execute(
                f"SELECT id, text FROM {self._tables.chunks} WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(ids)),),
            )
        )

    def _rows(self, ids: Iterable[int]) -> dict[int, Any]:
        visible = "" if self._private else "AND f.private = 0 AND f.source = 'memory'"
        rows = self._db.execute(
            "SELECT c.id, f.path, f.source, c.start_line, c.end_line, c.text, c.time "
            f"FROM {self._tables.chunks} c JOIN {self._tables.files} f ON f.id = c.file_id "
            f"WHERE c.id IN (SELECT value FROM json_each(?)) {visible}",
            (json.dumps(list(ids)),),
        )
        return {row[0]: row for row in rows if self._covers(row[2], row[1])}

    def _visible(self) -> list[int]:
        """Some chunks visible to everyone; all, if there are few."""
        rows = self._db.execute(
            f"SELECT c.id FROM {self._tables.files} f JOIN {self._tables.chunks} c ON c.file_id = f.id "
            "WHERE f.private = 0 AND f.source = 'memory' LIMIT ?",
            (_MOST_VISIBLE,),
        )
        return [number for (number,) in rows]

    # The user's own lines

    def _search_turns(self, limit: int) -> _Turns | None:
        """Search the user lines of transcripts."""
        if not self._private or not self._generation.turns:
            return None
        weighed = keywords.weigh(self._db, self._tables.turn_words, self._terms)
        said = keywords.score_query(self._db, self._tables.turn_words, weighed)
        r, cosine = self._search_legs("turns", said, limit)
        chunks = self._db.execute(
            f"SELECT DISTINCT c.id FROM {self._tables.turns} t JOIN {self._tables.chunks} c "
            "ON c.file_id = t.file_id AND t.line BETWEEN c.start_line AND c.end_line "
            "WHERE t.id IN (SELECT value FROM json_each(?))",
            (json.dumps([*{*r, *cosine}]),),
        )
        return _Turns(weighed, said, [number for (number,) in chunks])

    def _user_lines(self, turns: _Turns | None, rows: Mapping[int, Any]) -> dict[int, tuple[UserLine, ...]]:
        """Scores of the user lines in each transcript chunk."""
        said: dict[int, list[int]] = {number: [] for number, row in rows.items() if row[2] == "sessions"}
        if turns is None or not said:
            return {}
        for chunk, turn in self._db.execute(
            f"SELECT c.id, t.id FROM {self._tables.chunks} c JOIN {self._tables.turns} t "
            "ON t.file_id = c.file_id AND t.line BETWEEN c.start_line AND c.end_line "
            "WHERE c.id IN (SELECT value FROM json_each(?)) LIMIT ?",
            (json.dumps(list(said)), _MOST_TURNS),
        ):
            said[chunk].append(turn)
        ids = list({turn for listed in said.values() for turn in listed})
        r = turns.said.of(ids)
        vector_query = self._vector_query
        z = (
            {}
            if vector_query is None
            else {turn: vector_query.turns.z(each) for turn, each in self._cosines("turns", ids).items()}
        )
        score = {turn: UserLine(turns.weighed.text_score(r[turn]), z.get(turn)) for turn in ids}
        return {chunk: tuple(score[turn] for turn in listed) for chunk, listed in said.items()}


@dataclass(frozen=True)
class _Turns:
    """The weighed query among user lines, their scores, and the chunks of the best."""

    weighed: WeighedQuery
    said: Scores
    chunks: Sequence[int]
