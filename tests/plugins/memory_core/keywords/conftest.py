"""A keyword table in memory, and what it takes to ask it something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import apsw
import pytest
from memslot_memory_core.index import keywords
from memslot_memory_core.index.tokenizer import query_terms


class Notes:
    """Texts in a keyword table."""

    def __init__(self, texts: Iterable[str] = (), table: str = "fts_1") -> None:
        self.db = apsw.Connection(":memory:")
        self.table = table
        self.texts: dict[int, str] = {}
        keywords.create(self.db, table)
        self.add(texts)

    def add(self, texts: Iterable[str]) -> None:
        rows = {len(self.texts) + number: text for number, text in enumerate(texts, start=1)}
        with self.db:
            keywords.add(self.db, self.table, rows.items())
        self.texts |= rows

    def read(self, rowids: Iterable[int]) -> Mapping[int, str]:
        return {rowid: self.texts[rowid] for rowid in rowids if rowid in self.texts}

    def score_query(self, question: str, limit: int = 10, *, exact: bool = False) -> keywords.KeywordHits:
        query = keywords.weigh(self.db, self.table, query_terms(question))
        return keywords.search(self.db, self.table, query, limit, exact=exact)

    def find(self, question: str) -> list[int]:
        return [rowid for rowid, _ in self.score_query(question).hits]

    def text_score(self, question: str) -> float:
        """Of the best hit; 0 without one."""
        answer = self.score_query(question)
        return answer.query.text_score(answer.hits[0][1]) if answer.hits else 0.0


@pytest.fixture
def notes() -> type[Notes]:
    return Notes
