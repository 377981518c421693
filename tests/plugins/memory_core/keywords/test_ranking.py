"""Scores are BM25 over all words of the query, whichever way they were computed."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot_memory_core.index import keywords
from memslot_memory_core.index.bm25 import FEW_ROWS
from memslot_memory_core.index.tokenizer import query_terms, stems

from .conftest import Notes

WORDS = [
    "alpha",
    "bravo",
    "charlie",
    "delta",
    "echo",
    "foxtrot",
    "golf",
    "running",
    "東京",
    "大阪",
    "café",
    "Schlüssel",
]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), min_size=1, max_size=70)
QUERIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def bm25(texts: dict[int, str], terms: tuple[str, ...]) -> dict[int, float]:
    """BM25 by the book, with FTS5's parameters; rows that hold no term are left out."""
    held = {rowid: Counter(stems(text)) for rowid, text in texts.items()}
    mean = sum(counts.total() for counts in held.values()) / len(held)
    scores: dict[int, float] = {}
    for stem in terms:
        frequency = sum(stem in counts for counts in held.values())
        rows = max(len(held), FEW_ROWS)
        idf = max(1e-6, math.log((rows - frequency + 0.5) / (frequency + 0.5)))
        for rowid, counts in held.items():
            if count := counts[stem]:
                usual = 1.2 * (0.25 + 0.75 * counts.total() / mean)
                scores[rowid] = scores.get(rowid, 0.0) + idf * 2.2 * count / (count + usual)
    return scores


@settings(max_examples=120, deadline=None)
@given(TEXTS, QUERIES, st.integers(1, 20))
def test_hits_are_the_best_by_bm25(texts: list[str], question: str, limit: int) -> None:
    notes = Notes(texts)
    expected = bm25(notes.texts, query_terms(question).stems)
    hits = notes.score_query(question, limit).hits
    assert len(hits) == min(limit, len(expected))
    assert [r for _, r in hits] == pytest.approx(sorted(expected.values(), reverse=True)[:limit], abs=1e-9)
    assert all(r == pytest.approx(expected[rowid], abs=1e-9) for rowid, r in hits)


@settings(max_examples=80, deadline=None)
@given(TEXTS, QUERIES)
def test_rows_are_scored_alike_by_list_and_by_text(texts: list[str], question: str) -> None:
    notes = Notes(texts)
    query = keywords.weigh(notes.db, "fts_1", query_terms(question))
    expected = dict.fromkeys(notes.texts, 0.0) | bm25(notes.texts, query_terms(question).stems)
    assert keywords.score(notes.db, "fts_1", query, list(notes.texts)) == pytest.approx(expected, abs=1e-9)
    assert {rowid: query.score_text(text) for rowid, text in notes.texts.items()} == pytest.approx(expected, abs=1e-9)


def test_fts5_ranks_by_the_same_scores() -> None:
    texts = [" ".join(random.Random(seed).choices(WORDS, k=9)) for seed in range(FEW_ROWS)] + ["zulu alpha"] * 30
    notes = Notes(texts)
    ranked = dict(notes.db.execute("SELECT rowid, -rank FROM fts_1('zulu OR alpha OR running')"))
    assert dict(notes.score_query("zulu alpha running", 100).hits) == pytest.approx(ranked, abs=1e-9)


@pytest.fixture(scope="module")
def large() -> Notes:
    """8,000 short texts whose words are as unevenly used as in a language."""
    chance = random.Random(11)
    vocabulary = [f"w{number}" for number in range(4_000)]
    weights = [1 / (number + 2.7) for number in range(len(vocabulary))]
    return Notes(" ".join(chance.choices(vocabulary, weights, k=chance.randint(5, 60))) for _ in range(8_000))


def questions(count: int) -> list[str]:
    chance = random.Random(5)
    return [
        " ".join(f"w{int(4_000 ** chance.random())}" for _ in range(chance.choice((2, 4, 7, 10)))) for _ in range(count)
    ]


def score_query(large: Notes, question: str, *, exact: bool = False, by_text: bool = False) -> keywords.KeywordHits:
    query = keywords.weigh(large.db, "fts_1", query_terms(question))
    return keywords.search(large.db, "fts_1", query, 60, read=large.read if by_text else None, exact=exact)


def plain(large: Notes, question: str) -> dict[int, float]:
    words = " OR ".join(f'"{term.word}"' for term in query_terms(question).terms)
    return dict(large.db.execute("SELECT rowid, -rank FROM fts_1(?)", (words,)))


@pytest.mark.parametrize("by_text", [False, True])
def test_the_short_way_finds_what_the_plain_query_finds(large: Notes, by_text: bool) -> None:
    shortened = 0
    same = {24: 0.0, 60: 0.0}
    asked = questions(60)
    for question in asked:
        every = plain(large, question)
        wanted = sorted(every.values(), reverse=True)[:60]
        answer = score_query(large, question, by_text=by_text)
        shortened += answer.scored < len(every)
        assert all(r == pytest.approx(every[rowid], rel=1e-9) for rowid, r in answer.hits)
        if answer.exact:
            assert [r for _, r in answer.hits] == pytest.approx(wanted, rel=1e-9)
        for first in same:
            # By score, not by id: rows that score alike may stand for each other.
            good = sum(r >= wanted[:first][-1] * (1 - 1e-9) for _, r in answer.hits[:first])
            same[first] += good / len(wanted[:first]) / len(asked)
    assert shortened > 20
    assert same[24] > 0.99
    assert same[60] > 0.95


def test_the_exact_way_is_the_plain_query(large: Notes) -> None:
    for question in questions(15):
        wanted = sorted(plain(large, question).values(), reverse=True)[:60]
        answer = score_query(large, question, exact=True)
        assert answer.exact
        assert [r for _, r in answer.hits] == pytest.approx(wanted, rel=1e-9)


def test_rows_far_from_the_best_are_scored_too(large: Notes) -> None:
    question = questions(1)[0]
    every = plain(large, question)
    query = keywords.weigh(large.db, "fts_1", query_terms(question))
    rowids = list(range(1, 8_001, 97))
    expected = {rowid: every.get(rowid, 0.0) for rowid in rowids}
    assert keywords.score(large.db, "fts_1", query, rowids) == pytest.approx(expected, rel=1e-9)
    assert keywords.score(large.db, "fts_1", query, rowids, read=large.read) == pytest.approx(expected, rel=1e-9)


def test_ids_that_are_not_there_score_nothing() -> None:
    notes = Notes(["alpha"])
    query = keywords.weigh(notes.db, "fts_1", query_terms("alpha"))
    assert keywords.score(notes.db, "fts_1", query, [1, 99])[99] == 0.0


@pytest.mark.parametrize("others", [0, 1, 2, 5, 20, 60])
def test_a_full_match_scores_high_in_an_index_of_any_size(others: int) -> None:
    notes = Notes(["The gate code is kept by Ines", *(f"another note number n{n}" for n in range(others))])
    assert notes.text_score("by whom is the gate code kept?") > 0.6
    assert notes.text_score("gate code combination") > 0.35
    assert notes.text_score("quantum chromodynamics lattice gate") < 0.3


def test_the_text_score_lies_between_nothing_and_one() -> None:
    notes = Notes(["alpha " * 50, "bravo"])
    assert notes.text_score("alpha") == 1.0
    assert notes.text_score("zulu") == 0.0


def test_pairs_across_word_borders_do_not_lower_a_chinese_score() -> None:
    notes = Notes(["东京", "天气", "plain"])
    together = keywords.weigh(notes.db, "fts_1", query_terms("东京天气"))
    apart = keywords.weigh(notes.db, "fts_1", query_terms("东京 天气"))
    assert together.sum_idf == pytest.approx(apart.sum_idf, rel=0.01)
    unknown = keywords.weigh(notes.db, "fts_1", query_terms("东京量子"))
    assert unknown.sum_idf > apart.sum_idf
