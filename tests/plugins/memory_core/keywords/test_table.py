"""The keyword table: rows come and go, and what is known of it stays true."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot_memory_core.index import keywords
from memslot_memory_core.index.tokenizer import query_terms, stems

from .conftest import Notes


def find(db: apsw.Connection, table: str, question: str) -> list[int]:
    query = keywords.weigh(db, table, query_terms(question))
    return [rowid for rowid, _ in keywords.search(db, table, query, 10).hits]


def is_intact(notes: Notes) -> bool:
    """What FTS5's own check says."""
    try:
        notes.db.execute("INSERT INTO fts_1 (fts_1) VALUES ('integrity-check')")
    except apsw.CorruptError:
        return False
    return True


def test_a_removed_row_is_not_found_and_an_added_one_is() -> None:
    notes = Notes(["harbour plan", "harbour walk"])
    with notes.db:
        keywords.remove(notes.db, "fts_1", [1, 77])
        keywords.add(notes.db, "fts_1", [(3, "harbour café")])
    assert set(notes.find("harbour")) == {2, 3}
    assert notes.find("plan") == []
    assert keywords.count(notes.db, "fts_1") == 2


def test_an_id_may_come_back_with_another_text() -> None:
    notes = Notes(["harbour plan"])
    with notes.db:
        keywords.remove(notes.db, "fts_1", [1])
        keywords.add(notes.db, "fts_1", [(1, "mountain plan")])
    assert notes.find("harbour") == []
    assert notes.find("mountain") == [1]


def test_two_tables_in_a_file_know_nothing_of_each_other(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / "index.sqlite"))
    for table, text in (("fts_1", "harbour"), ("turn_fts_1", "mountain")):
        keywords.create(db, table)
        keywords.add(db, table, [(1, text)])
    assert find(db, "fts_1", "harbour") == [1]
    assert find(db, "turn_fts_1", "harbour") == []
    keywords.drop(db, "fts_1")
    assert find(db, "turn_fts_1", "mountain") == [1]
    assert not db.execute("SELECT name FROM sqlite_schema WHERE name GLOB 'fts_1*'").get
    keywords.drop(db, "fts_1")


def test_no_text_is_kept(tmp_path: Path) -> None:
    db = apsw.Connection(":memory:")
    keywords.create(db, "fts_1")
    keywords.add(db, "fts_1", [(1, "harbour plan")])
    assert db.execute("SELECT text FROM fts_1").get is None


ROWS = st.integers(1, 8)
CHANGES = st.lists(
    st.tuples(ROWS, st.sampled_from(["", "alpha", "alpha bravo", "bravo bravo 東京", "café"])), max_size=25
)


@settings(max_examples=60, deadline=None)
@given(CHANGES, st.booleans())
def test_counts_follow_every_change(changes: list[tuple[int, str]], merged: bool) -> None:
    notes = Notes()
    texts: dict[int, str] = {}
    for rowid, text in changes:
        with notes.db:
            keywords.remove(notes.db, "fts_1", [rowid])
            texts.pop(rowid, None)
            if text:
                keywords.add(notes.db, "fts_1", [(rowid, text)])
                texts[rowid] = text
        held = [stems(each) for each in texts.values()]
        wanted = ["alpha", "bravo", "東京", "cafe", "nowhere"]
        found = keywords.frequencies(notes.db, "fts_1", wanted)
        assert found == {stem: sum(stem in each for each in held) for stem in wanted}
        query = keywords.weigh(notes.db, "fts_1", query_terms("alpha"))
        assert query.rows == keywords.count(notes.db, "fts_1") == len(texts)
        assert query.mean_length * len(texts) == pytest.approx(sum(map(len, held)))
    if merged:
        keywords.optimize(notes.db, "fts_1")
    assert is_intact(notes)
    assert sorted(notes.find("alpha")) == sorted(rowid for rowid, text in texts.items() if "alpha" in text)


def test_counts_follow_another_connection(tmp_path: Path) -> None:
    file = str(tmp_path / "index.sqlite")
    writer, reader = apsw.Connection(file), apsw.Connection(file)
    keywords.create(writer, "fts_1")
    for number in range(1, 5):
        with writer:
            keywords.add(writer, "fts_1", [(number, "harbour")])
        assert keywords.frequencies(reader, "fts_1", ["harbour"]) == {"harbour": number}


def test_a_writer_sees_its_own_rows_before_it_commits() -> None:
    notes = Notes(["harbour"])
    assert keywords.frequencies(notes.db, "fts_1", ["harbour"]) == {"harbour": 1}
    notes.db.execute("BEGIN IMMEDIATE")
    keywords.add(notes.db, "fts_1", [(2, "harbour harbour")])
    assert keywords.frequencies(notes.db, "fts_1", ["harbour"]) == {"harbour": 2}
    assert keywords.weigh(notes.db, "fts_1", query_terms("harbour")).rows == 2
    notes.db.execute("ROLLBACK")
    assert keywords.frequencies(notes.db, "fts_1", ["harbour"]) == {"harbour": 1}
    assert notes.find("harbour") == [1]


def test_damage_is_told() -> None:
    notes = Notes(["harbour plan"] * 100)
    notes.db.execute("UPDATE fts_1_data SET block = zeroblob(20) WHERE id > 10")
    assert not is_intact(notes)


def test_an_empty_table_answers() -> None:
    notes = Notes()
    answer = notes.score_query("harbour")
    assert answer.hits == ()
    assert answer.query.rows == 0
    assert keywords.count(notes.db, "fts_1") == 0
    assert is_intact(notes)
