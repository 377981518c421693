"""Scores read from the index's own lists are FTS5's own scores, whatever was added and removed before."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import apsw
import pytest
from memslot_memory_core.index import keywords, posting_lists
from memslot_memory_core.index.bm25 import WeighedQuery
from memslot_memory_core.index.posting_lists import score_postings
from memslot_memory_core.index.tokenizer import query_terms

WORDS = [
    "tower",
    "keeper",
    "lamp",
    "storm",
    "harbour",
    "boat",
    "rope",
    "sail",
    "flour",
    "bread",
    "灯台",
    "会議",
    "café",
]


@pytest.fixture(params=["numpy", "plain"])
def listed(request: pytest.FixtureRequest) -> Any:
    """Both ways of adding up: all scores of a query."""

    def score(notes: Any, query: WeighedQuery) -> Any:
        lengths = posting_lists._lengths_of(notes.db, notes.table)
        lengths.read_new(notes.db, notes.table)
        if request.param == "numpy":
            return posting_lists._with_numpy(notes.db, notes.table, query, lengths)
        return posting_lists._with_python(notes.db, notes.table, query, lengths.words)

    return score


def texts(count: int, seed: int = 1) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 60))) for _ in range(count)]


def weigh(notes: Any, question: str) -> WeighedQuery:
    return keywords.weigh(notes.db, notes.table, query_terms(question))


@pytest.mark.parametrize(
    "question", ["keeper", "tower lamp storm", "灯台 bread", "the cafe in the harbour", "zeppelin boat"]
)
def test_they_are_the_scores_of_fts5(notes: Any, listed: Any, question: str) -> None:
    table = notes(texts(300))
    query = weigh(table, question)

    ranked = keywords.search(table.db, table.table, query, 40, exact=True).hits
    found = listed(table, query)

    assert [number for number, _ in found.best(40)] == [number for number, _ in ranked]
    assert dict(found.best(40)) == pytest.approx(dict(ranked))
    assert found.of([3, 70, 299]) == pytest.approx(keywords.score(table.db, table.table, query, [3, 70, 299]))


def test_what_was_removed_is_gone_and_what_came_later_is_there(notes: Any, listed: Any) -> None:
    table = notes(texts(200))
    listed(table, weigh(table, "keeper lamp"))  # the lengths are kept from here on
    with table.db:
        keywords.remove(table.db, table.table, range(1, 150))
    table.add(texts(100, seed=2))
    query = weigh(table, "keeper lamp")

    found = listed(table, query)

    assert dict(found.best(500)) == pytest.approx(dict(keywords.search(table.db, table.table, query, 500).hits))
    assert min(number for number, _ in found.best(500)) >= 150


def test_words_that_occur_nowhere_score_nothing(notes: Any, listed: Any) -> None:
    table = notes(texts(60))
    query = weigh(table, "keeper")
    with table.db:
        keywords.remove(table.db, table.table, range(1, 61))

    found = listed(table, query)

    assert found.best(10) == ()
    assert found.of([1, 1000]) == {1: 0.0, 1000: 0.0}


def test_equal_scores_are_in_the_order_of_their_ids(notes: Any, listed: Any) -> None:
    table = notes(["the keeper"] * 90)

    assert [number for number, _ in listed(table, weigh(table, "keeper")).best(30)] == list(range(1, 31))


def test_a_large_table_is_read_only_by_those_who_ask_often(notes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting_lists, "_SMALL", 100)
    table = notes(texts(200))
    query = weigh(table, "keeper")

    answers = [score_postings(table.db, table.table, query) for _ in range(4)]

    assert [answer is None for answer in answers] == [True, True, False, False]


def test_what_is_not_committed_is_not_remembered(notes: Any) -> None:
    table = notes(texts(80))
    table.db.execute("BEGIN IMMEDIATE")
    keywords.add(table.db, table.table, [(81, "the keeper of the keeper's tower")])
    query = weigh(table, "keeper")

    assert score_postings(table.db, table.table, query) is None
    assert 81 in dict(keywords.score_query(table.db, table.table, query).best(100))

    table.db.execute("ROLLBACK")
    table.add(["a boat"])
    assert 81 not in dict(keywords.score_query(table.db, table.table, weigh(table, "keeper")).best(100))
    assert 81 in dict(keywords.score_query(table.db, table.table, weigh(table, "boat")).best(100))


def test_a_connection_that_may_not_write_reads_them_too(notes: Any, tmp_path: Any) -> None:
    table = notes(texts(120))
    file = apsw.Connection(str(tmp_path / "index.sqlite"))
    with file.backup("main", table.db, "main") as backup:
        backup.step()
    file.close()
    table.db = apsw.Connection(str(tmp_path / "index.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    query = weigh(table, "storm rope")

    found = keywords.score_query(table.db, table.table, query).best(20)

    assert dict(found) == pytest.approx(dict(keywords.search(table.db, table.table, query, 20, exact=True).hits))


def test_numbers_need_no_numpy() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "import apsw\n"
        "from memslot_memory_core.index import keywords\n"
        "from memslot_memory_core.index.tokenizer import query_terms\n"
        "sys.modules.pop('numpy')\n"
        "db = apsw.Connection(':memory:'); keywords.create(db, 'fts_1')\n"
        "keywords.add(db, 'fts_1', [(1, 'the keeper'), (2, 'a boat')])\n"
        "asked = keywords.score_query(db, 'fts_1', keywords.weigh(db, 'fts_1', query_terms('keeper')))\n"
        "print([number for number, _ in asked.best(5)], 'numpy' in sys.modules)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.strip()) == (0, "[1] False"), done.stderr
