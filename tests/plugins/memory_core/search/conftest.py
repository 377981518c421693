from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

import apsw
import pytest
from memslot_memory_core.index import keywords
from memslot_memory_core.index.tokenizer import query_terms
from memslot_memory_core.search.candidate import Candidate, RankingQuery, ranking_query

MakeSearch = Callable[..., tuple[RankingQuery, list[Candidate]]]
TODAY = date(2024, 3, 14)


@pytest.fixture
def make_search() -> MakeSearch:
    """A query and its candidates, scored as the two legs score them."""

    def make(
        query: str,
        texts: Sequence[str],
        *,
        zs: Sequence[float | None] | None = None,
        times: Sequence[float | None] | None = None,
        others: Sequence[str] = (),
    ) -> tuple[RankingQuery, list[Candidate]]:
        db = apsw.Connection(":memory:")
        keywords.create(db, "words")
        keywords.add(db, "words", enumerate([*texts, *others]))
        weighed = keywords.weigh(db, "words", query_terms(query))
        r = keywords.score(db, "words", weighed, range(len(texts)))
        candidates = [
            Candidate(
                id=number,
                path=f"memory/{number}.md",
                source="memory",
                start_line=1,
                end_line=text.count("\n") + 1,
                text=text,
                text_r=r[number],
                z=zs[number] if zs else None,
                time=times[number] if times else None,
            )
            for number, text in enumerate(texts)
        ]
        return ranking_query(query, weighed, TODAY), candidates

    return make
