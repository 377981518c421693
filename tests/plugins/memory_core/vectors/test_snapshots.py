"""Answers belong to the snapshot they are asked in, whoever else reads or writes."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import apsw
import numpy
import pytest
from memslot_memory_core.index.vectors.numpy_engine import NumpyEngine


def begin(index: Any) -> apsw.Connection:
    """A reader whose snapshot is taken now."""
    db = index.connect()
    db.execute("BEGIN")
    index.state(db)
    return db


def test_a_reader_keeps_its_snapshot_while_the_writer_goes_on(engine: str, kit: Any) -> None:
    index = kit.index(engine, 8)
    rows = kit.some(200, 8)
    index.write(rows[:100])
    old = begin(index)
    index.write(rows[100:150], remove=range(1, 40))
    middle = begin(index)
    index.write(rows[150:], remove=range(90, 130))
    new = begin(index)

    for query in rows[::25]:
        for reader in (new, old, middle, old, new):
            index.check(query, 24, reader)


def test_a_snapshot_between_two_readings_misses_no_row_that_came_and_went(kit: Any) -> None:
    """The matrix was read before row 4 came and after it was gone; a reader in between has it."""
    index = kit.index("numpy", 4)
    near, far = kit.pack([1, 0, 0, 0]), kit.pack([0, 1, 0, 0])
    index.write([far] * 3)
    index.check(near, 2)
    index.write([near])
    between = begin(index)
    index.write([far], remove=[4])
    index.check(near, 2)

    assert index.search(near, 1, between) == [(4, 1.0)]
    index.check(near, 9, between)
    index.check(near, 9)
    index.write([near])
    index.check(near, 9, between)
    index.check(near, 9)


def test_a_snapshot_older_than_the_first_reading_is_complete(kit: Any) -> None:
    index = kit.index("numpy", 4)
    near, far = kit.pack([1, 0, 0, 0]), kit.pack([0, 1, 0, 0])
    index.write([near, far])
    old = begin(index)
    index.write([far], remove=[1])
    index.check(near, 5)

    assert index.search(near, 1, old) == [(1, 1.0)]


def test_rows_that_were_tidied_away_are_still_found_by_who_has_them(kit: Any) -> None:
    index = kit.index("numpy", 8)
    rows = kit.some(1000, 8)
    index.write(rows)
    old = begin(index)
    index.check(rows[0], 24, old)
    index.write(rows[:10], remove=range(1, 600))
    index.check(rows[0], 24)

    assert len(index.engine._matrix) == 411
    index.check(rows[0], 24, old)
    index.write(rows[10:20], remove=[700])
    index.check(rows[15], 24)
    index.check(rows[15], 24, old)


def test_a_changed_file_makes_the_engine_read_the_new_rows_only(kit: Any) -> None:
    seen = []
    index = kit.index("numpy", 8)
    rows = kit.some(3000, 8)
    ids = index.write(rows)

    def count(vector: bytes) -> bytes:
        seen.append(1)
        return vector

    index.db.create_scalar_function("seen", count, 1)
    engine = NumpyEngine(type(index.table)("vec_3", 8, index.table.rows.replace("e.vector", "seen(e.vector)")))
    index.engine = engine
    index.check(rows[5], 10)
    assert len(seen) >= 3000
    seen.clear()

    index.write(rows[:7], remove=ids[100:110])
    index.search(rows[5], 10)

    assert len(seen) < 120
    index.check(rows[5], 10)


def test_the_matrix_grows_by_doubling(kit: Any) -> None:
    index = kit.index("numpy", 8)
    rows = kit.some(2000, 8)
    index.write(rows[:100])
    index.search(rows[0], 5)
    blocks = set()
    for start in range(100, 2000, 20):
        index.write(rows[start : start + 20])
        index.search(rows[0], 5)
        blocks.add(index.engine._matrix._rows.ctypes.data)

    assert len(blocks) <= 6
    index.check(rows[1999], 24)


def test_a_row_that_breaks_the_order_of_ids_is_found_all_the_same(kit: Any) -> None:
    index = kit.index("numpy", 4)
    rows = kit.some(20, 4)
    index.write(rows)
    index.db.execute("UPDATE chunks_3 SET embedding_id = NULL WHERE id = 5")
    index.db.execute("UPDATE state SET changes = changes + 1, vectors = vectors - 1")
    index.check(rows[4], 5)
    fresh = NumpyEngine(index.table)
    index.engine = fresh
    index.check(rows[4], 5)
    index.db.execute("UPDATE chunks_3 SET embedding_id = 5 WHERE id = 5")
    index.db.execute("UPDATE state SET changes = changes + 1, vectors = vectors + 1")

    assert index.search(rows[4], 1)[0][0] == 5


def test_vectors_that_come_later_are_found_by_the_snapshots_that_have_them(engine: str, kit: Any) -> None:
    index = kit.index(engine, 8)
    rows = kit.some(60, 8)
    index.write(rows[:20])
    waiting = index.write_without_vectors(10)
    index.write(rows[30:50])
    index.check(rows[0], 24)
    old = begin(index)
    for number, rowid in enumerate(reversed(waiting)):
        # One goes as one comes, so that the count of vectors does not tell.
        index.complete(rowid, rows[20 + number], remove=[number + 1])
        index.write([rows[50 + number]])
        assert index.search(rows[20 + number], 1)[0][0] == rowid
        index.check(rows[0], 24)
        index.check(rows[20 + number], 24, old)


def test_a_row_that_waits_for_ever_does_not_make_the_others_be_read_again(kit: Any) -> None:
    seen = []
    index = kit.index("numpy", 8)
    rows = kit.some(1000, 8)
    index.write_without_vectors(1)
    index.write(rows)

    def count(vector: bytes) -> bytes:
        seen.append(1)
        return vector

    index.db.create_scalar_function("seen", count, 1)
    table = index.table
    watched = table.rows.replace("e.vector", "seen(e.vector)")
    index.engine = NumpyEngine(type(table)("vec_3", 8, watched, table.waiting))
    index.search(rows[5], 10)
    seen.clear()

    index.write(rows[:7])
    index.search(rows[5], 10)

    assert len(seen) < 120
    index.check(rows[5], 10)


def test_a_failed_first_reading_is_made_up_for(kit: Any) -> None:
    index = kit.index("numpy", 4)
    rows = kit.some(20, 4)
    index.write(rows)
    index.db.execute("UPDATE embeddings SET vector = x'00000001' WHERE id = 15")
    with pytest.raises(ValueError, match="row 15 has 1 dimensions"):
        index.search(rows[0], 3)
    index.db.execute("UPDATE embeddings SET vector = ? WHERE id = 15", (rows[14],))

    index.check(rows[14], 3)
    assert len(index.engine._matrix) == 20


WRITER = """
import sys, struct, apsw
from memslot_memory_core.index.vectors.engine_choice import make_engine
from memslot_memory_core.index.vectors.engine import VectorTable
from memslot_memory_core.index.vectors.extensions import load

file, name, rows = sys.argv[1:4]
db = apsw.Connection(file)
db.set_busy_timeout(20_000)
assert load(db, name) is None
engine = make_engine(name, VectorTable("vec_3", 4, rows))
for line in sys.stdin:
    remove, *numbers = line.split()
    vector = struct.pack("<4f", *map(float, numbers))
    db.execute("BEGIN IMMEDIATE")
    db.execute("DELETE FROM chunks_3 WHERE id = ?", (int(remove),))
    db.execute("INSERT INTO embeddings (vector) VALUES (?)", (vector,))
    db.execute("INSERT INTO chunks_3 (text, embedding_id) VALUES ('t', ?)", (db.last_insert_rowid(),))
    new = db.last_insert_rowid()
    engine.remove(db, [int(remove)])
    engine.add(db, [(new, vector)])
    db.execute("UPDATE state SET changes = changes + 1")
    db.execute("COMMIT")
    print(new, flush=True)
"""


def test_what_another_process_writes_is_found_at_once(engine: str, kit: Any, tmp_path: Path) -> None:
    index = kit.index(engine, 4)
    index.write(kit.some(50, 4))
    query = kit.pack([1, 2, 2, 4])
    index.check(query, 10)
    arguments = [sys.executable, "-c", WRITER, index.file, engine, index.table.rows]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        for number in range(1, 6):
            old = begin(index)
            print(number, 0.2, 0.4, 0.4, 0.8, file=writer.stdin, flush=True)
            assert int(writer.stdout.readline()) == 50 + number

            assert index.search(query, 3)[0] == (51, 1.0)
            index.check(query, 10)
            index.check(query, 10, old)
        writer.stdin.close()
    assert writer.returncode == 0


def test_eight_threads_get_the_answers_of_their_own_snapshots(engine: str, kit: Any) -> None:
    index = kit.index(engine, 8)
    rows = kit.some(400, 8)
    alive = index.write(rows)
    done, failures, rounds = threading.Event(), [], []

    def read(number: int) -> None:
        db = index.connect()
        random = numpy.random.default_rng(number)
        try:
            while not done.is_set() or not any(each == number for each in rounds):
                db.execute("BEGIN")
                index.state(db)
                for _ in range(2):
                    index.check(rows[int(random.integers(400))], int(random.choice([1, 24])), db)
                db.execute("COMMIT")
                rounds.append(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    random = numpy.random.default_rng(99)
    for _ in range(40):
        gone = {alive[number] for number in random.integers(0, len(alive), 20).tolist()}
        alive = [rowid for rowid in alive if rowid not in gone]
        alive += index.write([rows[number] for number in random.integers(0, 400, len(gone)).tolist()], list(gone))
    done.set()
    for thread in threads:
        thread.join()

    assert failures == []
    assert set(rounds) == set(range(8))
    index.check(rows[0], 24)
