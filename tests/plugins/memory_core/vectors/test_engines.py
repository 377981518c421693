"""All engines against a comparison with every row: the same rows, the same numbers, the same order."""

from __future__ import annotations

import struct
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memslot_memory_core.index.vectors.cosines import cosines
from memslot_memory_core.index.vectors.engine import VectorTable, is_nonzero
from memslot_memory_core.index.vectors.engine_choice import make_engine

# Few different numbers: many rows are equal, opposite, or equally far away.
numbers = st.integers(-2, 2)
fine = st.floats(-1, 1, width=32, allow_subnormal=False)


@st.composite
def stories(draw: st.DrawFn, dims: int) -> list[tuple[Any, ...]]:
    vector = st.lists(draw(st.sampled_from([numbers, fine])), min_size=dims, max_size=dims).filter(
        lambda row: max(map(abs, row)) > 1e-3
    )
    steps = st.one_of(
        st.tuples(st.just("add"), st.lists(vector, min_size=1, max_size=40)),
        st.tuples(st.just("copy"), st.integers(0, 200), st.integers(1, 60)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 200), max_size=30)),
        st.tuples(st.just("search"), vector, st.sampled_from([1, 2, 5, 24, 500])),
    )
    return draw(st.lists(steps, min_size=1, max_size=12))


@settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_every_story_of_adding_removing_and_searching_ends_with_the_exact_answer(
    engine: str, memory_kit: Any, data: st.DataObject
) -> None:
    dims = data.draw(st.integers(2 if engine == "vec1" else 1, 8), label="dims")
    story = data.draw(stories(dims), label="story")
    index = memory_kit.Index(":memory:", engine, dims)
    alive: list[int] = []
    vectors: dict[int, bytes] = {}
    for step in story:
        if step[0] == "search":
            index.check(memory_kit.pack(step[1]), step[2])
            continue
        add, remove = [], []
        if step[0] == "add":
            add = [memory_kit.pack(row) for row in step[1]]
        elif step[0] == "copy" and alive:
            add = [vectors[alive[step[1] % len(alive)]]] * step[2]
        elif step[0] == "remove" and alive:
            remove = list({alive[number % len(alive)] for number in step[1]})
        new = index.write(add, remove)
        vectors.update(zip(new, add, strict=True))
        alive = [rowid for rowid in alive if rowid not in remove] + new
    index.check(memory_kit.pack([1.0] * dims), 7)
    assert index.engine.count(index.db) in (None, len(alive))
    index.close()


@pytest.mark.parametrize("limit", [1, 24, 400])
def test_long_vectors_are_found_in_the_exact_order(engine: str, kit: Any, limit: int) -> None:
    index = kit.index(engine, 256)
    rows = kit.some(600, 256)
    ids = index.write(rows)
    index.write(rows[:40], remove=ids[100:200])

    for query in [rows[3], rows[150], *kit.some(3, 256, seed=9)]:
        index.check(query, limit)


def test_of_many_equal_rows_those_with_the_smallest_ids_come(engine: str, kit: Any) -> None:
    """There are more equals than any engine is first asked for, so that it must be asked again."""
    index = kit.index(engine, 4)
    near, far = kit.pack([1, 2, 3, 4]), kit.pack([4, -3, 2, -1])
    index.write([far] * 30 + [near] * 300 + [far] * 30)

    found = index.search(near, 5)

    assert [rowid for rowid, _ in found] == [31, 32, 33, 34, 35]
    assert {cosine for _, cosine in found} == {1.0}


def test_more_rows_than_sqlite_vec_gives_at_once_are_all_found(engine: str, kit: Any) -> None:
    index = kit.index(engine, 3)
    index.write(kit.some(5000, 3))
    query = kit.some(1, 3, seed=5)[0]

    assert [rowid for rowid, _ in index.search(query, 4990)] == [rowid for rowid, _ in index.expected(query, 4990)]
    assert len(index.search(query, 100_000)) == 5000


def test_an_empty_table_has_no_answers(engine: str, kit: Any) -> None:
    index = kit.index(engine, 8)
    query = kit.some(1, 8)[0]

    assert index.search(query, 24) == []
    assert index.engine.count(index.db) in (None, 0)
    (rowid,) = index.write([query])
    assert index.search(query, 24) == [(rowid, 1.0)]
    index.write(remove=[rowid])
    assert index.search(query, 24) == []


@pytest.mark.parametrize("limit", [0, -1])
def test_no_rows_are_wanted_and_none_come(engine: str, kit: Any, limit: int) -> None:
    index = kit.index(engine, 4)
    index.write(kit.some(3, 4))

    assert index.search(kit.some(1, 4)[0], limit) == []


@pytest.mark.parametrize("nothing", [b"", struct.pack("<4f", *[0.0] * 4), struct.pack("<4f", *[-0.0] * 4)])
def test_a_vector_without_a_length_is_neither_kept_nor_compared(engine: str, kit: Any, nothing: bytes) -> None:
    index = kit.index(engine, 4)
    good = kit.some(2, 4)
    index.write([good[0], nothing, good[1]])

    assert [rowid for rowid, _ in index.search(kit.pack([1, 1, 1, 1]), 10)] == sorted(
        [1, 3], key=lambda rowid: dict(index.expected(kit.pack([1, 1, 1, 1]), 10))[rowid], reverse=True
    )
    assert index.engine.count(index.db) in (None, 2)
    if nothing:
        assert index.search(nothing, 10) == []


def test_a_vector_of_another_length_is_refused_with_both_lengths(engine: str, kit: Any) -> None:
    index = kit.index(engine, 4)
    index.write(kit.some(3, 4))

    with pytest.raises(ValueError, match=r"the vector of row 9 has 5 dimensions, but vec_3 has 4"):
        index.engine.add(index.db, [(9, kit.some(1, 5)[0])])
    with pytest.raises(ValueError, match=r"the vector of the query has 3 dimensions"):
        index.search(kit.some(1, 3)[0], 5)


def test_a_table_is_filled_again_from_the_canonical_rows(engine: str, kit: Any) -> None:
    index = kit.index(engine, 16)
    rows = kit.some(300, 16)
    index.write([*rows, b""], remove=[])
    index.db.execute("DROP TABLE IF EXISTS vec_3")
    index.engine.create(index.db)
    index.engine.fill(index.db)

    index.check(rows[7], 24)
    assert index.engine.count(index.db) in (None, 300)


def test_what_is_rolled_back_was_never_there(engine: str, kit: Any) -> None:
    index = kit.index(engine, 4)
    near, farther = kit.pack([1, 0, 0, 0]), kit.pack([-1, 0, 0, 0])
    # More than are looked up for one hit, and no two equally far, which would have all of them looked up.
    index.write([kit.pack([1, 2 + number, 0, 0]) for number in range(60)])
    index.search(near, 1)
    index.db.execute("BEGIN IMMEDIATE")
    assert index.change(index.db, [farther, near], remove=[1]) == [61, 62]
    assert index.search(near, 1) == [(62, 1.0)]  # the writer finds its own rows
    index.check(near, 5)
    index.db.execute("ROLLBACK")

    index.check(near, 5)
    assert index.write([near, farther]) == [61, 62]  # the ids, and the count of changes, that were rolled back
    assert index.search(near, 1) == [(61, 1.0)]
    index.check(near, 5)


def test_removing_what_is_not_there_is_no_mistake(engine: str, kit: Any) -> None:
    index = kit.index(engine, 4)
    rows = kit.some(3, 4)
    index.write(rows)

    index.write(remove=[77, 2, 2])

    index.check(rows[0], 5)


def test_churn_does_not_let_the_table_grow(engine: str, kit: Any) -> None:
    index = kit.index(engine, 64)
    rows = kit.some(500, 64)
    alive = index.write(rows)
    for number in range(100):
        old = alive[number::20]
        alive = [rowid for rowid in alive if rowid not in set(old)] + index.write(rows[: len(old)], remove=old)
        if number % 10 == 0:
            index.engine.maintain(index.db)

    index.check(rows[3], 24)
    size = index.db.execute("PRAGMA page_count").get - index.db.execute("PRAGMA freelist_count").get
    canonical = index.db.execute("SELECT sum(length(vector)) FROM embeddings").get
    assert size * 4096 - 1.6 * canonical < 2_000_000
    assert index.engine.maintain(index.db) is False


@pytest.mark.parametrize(("name", "dims"), [("sqlite-vec", 8193), ("vec1", 1), ("vec1", 4097)])
def test_a_length_the_extension_cannot_take_is_refused_at_once(name: str, dims: int) -> None:
    with pytest.raises(ValueError, match=f"not {dims}"):
        make_engine(name, VectorTable("vec_3", dims, "SELECT 1, x''"))


@pytest.mark.parametrize(("name", "dims"), [("sqlite-vec", 8192), ("vec1", 2), ("vec1", 4096), ("numpy", 9000)])
def test_the_longest_and_shortest_vectors_work(kit: Any, name: str, dims: int) -> None:
    index = kit.index(name, dims)
    rows = kit.some(5, dims)
    index.write(rows)

    index.check(rows[2], 3)


@pytest.mark.parametrize("name", ["vec 3", "vec_3; DROP TABLE x", "", "1vec"])
def test_a_table_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="valid vector table name"):
        VectorTable(name, 4, "SELECT 1, x''")


def test_there_is_no_engine_of_another_name() -> None:
    with pytest.raises(ValueError, match="unknown vector engine 'faiss'"):
        make_engine("faiss", VectorTable("vec_3", 4, "SELECT 1, x''"))


def test_the_cosines_of_named_rows_leave_out_those_that_are_gone(kit: Any) -> None:
    index = kit.index("numpy", 8)
    rows = kit.some(5, 8)
    index.write(rows, remove=[])
    index.write(remove=[2])

    found = cosines(index.db, index.table, rows[0], [1, 2, 3, 99])

    assert set(found) == {1, 3}
    assert found == {rowid: cosine for rowid, cosine in index.expected(rows[0], 9) if rowid in found}
    assert cosines(index.db, index.table, rows[0], []) == {}


def test_cosines_are_the_same_with_and_without_numpy(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    index = kit.index("numpy", 256)
    rows = kit.some(60, 256)
    index.write(rows)
    with_numpy = cosines(index.db, index.table, rows[0], range(1, 61))

    from memslot_memory_core.index.vectors import cosines as module

    monkeypatch.setattr(module, "_with_numpy", module._with_python)

    assert cosines(index.db, index.table, rows[0], range(1, 61)) == pytest.approx(with_numpy, abs=2e-9)


def test_rows_are_looked_up_by_their_key_and_never_by_going_through_the_table(kit: Any) -> None:
    index = kit.index("numpy", 4)
    index.write(kit.some(200, 4))
    for sql, value in [
        (index.table.select("id, vector", "id > ? ORDER BY id"), 3),
        (index.table.select("id, vector", "id IN (SELECT value FROM json_each(?))"), "[1]"),
    ]:
        plan = " / ".join(row[3] for row in index.db.execute(f"EXPLAIN QUERY PLAN {sql}", (value,)))

        assert "SEARCH c USING INTEGER PRIMARY KEY" in plan
        assert "SCAN c" not in plan
        assert "SCAN e" not in plan
        assert "TEMP B-TREE" not in plan


@pytest.mark.parametrize(("vector", "answer"), [(b"", False), (bytes(8), False), (b"\x00\x00\x80\x3f", True)])
def test_length_is_seen_in_the_bytes(vector: bytes, answer: bool) -> None:
    assert is_nonzero(vector) is answer


def test_numpy_wants_the_transaction_in_which_the_state_was_read(kit: Any) -> None:
    index = kit.index("numpy", 4)
    index.write(kit.some(3, 4))

    with pytest.raises(RuntimeError, match="transaction in which its state was read"):
        index.engine.search(index.db, kit.some(1, 4)[0], 2, state=(1, 3))
    assert index.db.txn_state("main") == apsw.SQLITE_TXN_NONE
