"""Gathers what may answer a query: the best of each leg, and for all of them the exact score of both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memslot_memory_core.index import keywords
from memslot_memory_core.index.keyword_scoring import Weighed
from memslot_memory_core.index.store import Snapshot
from memslot_memory_core.index.terms import QueryTerms
from memslot_memory_core.index.vector_tables import Kind, VectorTables, state_of, table_of
from memslot_memory_core.index.vectors.exact import cosines
from memslot_memory_core.search.candidate import Candidate, UserLine

_MOST_TURNS = 2000
_WIDER = 4
_MOST_VISIBLE = 500


@dataclass(frozen=True)
class Gathered:
    """The candidates in no order, the weight of the query's terms, and why vectors are searched the slow way, if so."""

    candidates: Sequence[Candidate]
    weighed: Weighed
    engine_reason: str | None = None


class Gathering:
    """One query against one snapshot."""

    def __init__(
        self,
        snapshot: Snapshot,
        vectors: VectorTables,
        terms: QueryTerms,
        query_vector: bytes | None,
        *,
        pool: int,
        private: bool,
        with_words: bool = True,
    ) -> None:
        self._db = snapshot.db
        self._generation = snapshot.generation
        self._tables = snapshot.generation.tables
        self._vectors = vectors
        self._terms = terms
        self._query_vector = query_vector
        self._pool = pool
        self._private = private
        self._with_words = with_words
        self._engine_reason: str | None = None

    def run(self) -> Gathered:
        weighed = keywords.weigh(self._db, self._tables.words, self._terms)
        r, cosine = self._ask_both("chunks", weighed, self._pool)
        turns = self._ask_turns(self._pool)
        rows = self._rows([*{*r, *cosine}, *(turns.chunks if turns else ())])
        if not self._private and len(rows) < self._pool:
            # Where others listen in some rows do not count: look further down, and at the first of those that do.
            r, cosine = self._ask_both("chunks", weighed, self._pool * _WIDER)
            rows = self._rows([*{*r, *cosine}, *self._visible()])
        ids = list(rows)
        texts = {number: row[5] for number, row in rows.items()}
        r |= keywords.score(self._db, self._tables.words, weighed, [n for n in ids if n not in r], read=lambda _: texts)
        cosine |= self._cosines("chunks", [n for n in ids if n not in cosine])
        said = self._user_lines(turns, rows)
        candidates = [
            Candidate(
                id=number,
                path=row[1],
                source=row[2],
                start_line=row[3],
                end_line=row[4],
                text=row[5],
                text_r=r.get(number, 0.0),
                cosine=cosine.get(number),
                time=row[6],
                user_lines=said.get(number),
            )
            for number, row in rows.items()
        ]
        return Gathered(candidates, weighed, self._engine_reason)

    def _ask_both(self, kind: Kind, weighed: Weighed, limit: int) -> tuple[dict[int, float], dict[int, float]]:
        """The best rows of each leg: BM25 by id, and cosine by id."""
        words = self._tables.words if kind == "chunks" else self._tables.turn_words
        r: dict[int, float] = {}
        if self._with_words or self._query_vector is None:
            read = self._read if kind == "chunks" else None
            r = dict(keywords.search(self._db, words, weighed, limit, read=read).hits)
        return r, self._nearest(kind, limit)

    def _nearest(self, kind: Kind, limit: int) -> dict[int, float]:
        generation = self._generation
        if self._query_vector is None or not (generation.vectors if kind == "chunks" else generation.turn_vectors):
            return {}
        engine, self._engine_reason = self._vectors.for_reading(self._db, generation, kind)
        return dict(engine.search(self._db, self._query_vector, limit, state=state_of(generation, kind)))

    def _cosines(self, kind: Kind, ids: Sequence[int]) -> dict[int, float]:
        if self._query_vector is None or not ids or not self._generation.identity.get("dims"):
            return {}
        return cosines(self._db, table_of(self._generation, kind), self._query_vector, ids)

    def _read(self, ids: Sequence[int]) -> Mapping[int, str]:
        return dict(
            self._db.execute(
                f"SELECT id, text FROM {self._tables.chunks} WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(ids)),),
            )
        )

    def _rows(self, ids: Sequence[int]) -> dict[int, Any]:
        visible = "" if self._private else "AND f.private = 0 AND f.source = 'memory'"
        rows = self._db.execute(
            "SELECT c.id, f.path, f.source, c.start_line, c.end_line, c.text, c.time, c.file_id "
            f"FROM {self._tables.chunks} c JOIN {self._tables.files} f ON f.id = c.file_id "
            f"WHERE c.id IN (SELECT value FROM json_each(?)) {visible}",
            (json.dumps(list(ids)),),
        )
        return {row[0]: row for row in rows}

    def _visible(self) -> list[int]:
        """Chunks that anybody may see: all of them, where they are few."""
        rows = self._db.execute(
            f"SELECT c.id FROM {self._tables.files} f JOIN {self._tables.chunks} c ON c.file_id = f.id "
            "WHERE f.private = 0 AND f.source = 'memory' LIMIT ?",
            (_MOST_VISIBLE,),
        )
        return [number for (number,) in rows]

    # The user's own lines

    def _ask_turns(self, limit: int) -> _Turns | None:
        """Transcripts are also searched by what the user said, line by line."""
        if not self._private or not self._generation.turns:
            return None
        weighed = keywords.weigh(self._db, self._tables.turn_words, self._terms)
        r, cosine = self._ask_both("turns", weighed, limit)
        chunks = self._db.execute(
            f"SELECT DISTINCT c.id FROM {self._tables.turns} t JOIN {self._tables.chunks} c "
            "ON c.file_id = t.file_id AND t.line BETWEEN c.start_line AND c.end_line "
            "WHERE t.id IN (SELECT value FROM json_each(?))",
            (json.dumps([*{*r, *cosine}]),),
        )
        return _Turns(weighed, [number for (number,) in chunks])

    def _user_lines(self, turns: _Turns | None, rows: Mapping[int, Any]) -> dict[int, tuple[UserLine, ...]]:
        """How well each line of the user's fits, for every chunk of a transcript; all of them scored at once."""
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
        r = keywords.score(self._db, self._tables.turn_words, turns.weighed, ids)
        cosine = self._cosines("turns", ids)
        score = {turn: UserLine(turns.weighed.text_score(r[turn]), cosine.get(turn)) for turn in ids}
        return {chunk: tuple(score[turn] for turn in listed) for chunk, listed in said.items()}


@dataclass(frozen=True)
class _Turns:
    """The weight of the query's terms among the user's lines, and the chunks that the best of these are in."""

    weighed: Weighed
    chunks: Sequence[int]
