"""The index file: private, one writer, snapshots for readers, and no harm to it from opening or closing."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import apsw
import pytest
from memslot_memory_core.index import generation as generations
from memslot_memory_core.index import schema
from memslot_memory_core.index.connection import IndexBusyError, IndexFault, IndexTooNewError, move_aside, open_index
from memslot_memory_core.index.store import IndexFile

IDENTITY = {"provider": None, "model": None, "key": None, "dims": None, "tokens": 1, "overlap": 0, "sources": []}


@pytest.fixture
def index(tmp_path: Path) -> IndexFile:
    return IndexFile(tmp_path / "folder" / "main.sqlite")


def make_live(index: IndexFile) -> None:
    with index.writer() as db, schema.transaction(db):
        generations.create(db, "live", IDENTITY)


def test_reading_makes_no_file(index: IndexFile) -> None:
    with index.snapshot() as snapshot:
        assert snapshot is None
    assert not index.file.parent.exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_only_the_owner_can_read_it(index: IndexFile) -> None:
    make_live(index)
    with index.writer() as db:
        db.execute("CREATE TABLE t (x)")
        files = [index.file, Path(f"{index.file}-wal"), Path(f"{index.file}-shm")]
        assert [file.stat().st_mode & 0o077 for file in files] == [0, 0, 0]
    assert index.file.parent.stat().st_mode & 0o077 == 0


def test_a_snapshot_stays_as_it_was(index: IndexFile) -> None:
    make_live(index)
    with index.snapshot() as snapshot:
        assert snapshot is not None
        make = "INSERT INTO facts VALUES ('answer', '42')"
        with index.writer() as db:
            db.execute(make)
        count = "SELECT count(*) FROM facts WHERE name = 'answer'"
        assert snapshot.db.execute(count).get == 0
        with index.snapshot() as later:
            assert later is not None
            assert later.db.execute(count).get == 1


def test_there_is_one_writer(index: IndexFile) -> None:
    other = IndexFile(index.file)
    with index.writer(), pytest.raises(IndexBusyError), other.writer(wait_seconds=0.1):
        pass
    with other.writer():
        pass


def test_waiting_for_the_other_writer_ends_when_told_to(index: IndexFile) -> None:
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    other = IndexFile(index.file)
    with index.writer(), pytest.raises(IndexBusyError), other.writer(wait_seconds=60, cancelled=stop.is_set):
        pass


def test_connections_are_used_again_but_not_after_an_error(index: IndexFile) -> None:
    make_live(index)
    with index.snapshot() as first:
        assert first is not None
        used = first.db
    with pytest.raises(apsw.SQLError), index.snapshot() as second:
        assert second is not None and second.db is used and second.db.execute("nonsense")  # noqa: PT018
    with index.snapshot() as third:
        assert third is not None
        assert third.db is not used


def test_a_file_that_was_replaced_is_opened_anew(index: IndexFile, tmp_path: Path) -> None:
    make_live(index)
    with index.snapshot() as snapshot:
        assert snapshot is not None
    other = IndexFile(tmp_path / "other" / "main.sqlite")
    with other.writer() as db:
        assert db.execute("SELECT count(*) FROM generations").get == 0
    other.file.replace(index.file)
    with index.snapshot() as snapshot:
        assert snapshot is None, "the other one has no generation"


def test_closing_readers_of_a_file_taken_away_does_not_touch_the_new_one(index: IndexFile) -> None:
    make_live(index)
    late = IndexFile(index.file)
    with late.snapshot() as snapshot:
        assert snapshot is not None
    move_aside(index.file)
    with index.writer() as db:
        db.execute("INSERT INTO facts VALUES ('answer', '42')")
        late.drop_readers()  # SQLite deletes the log when the last connection to a database is closed
        assert Path(f"{index.file}-wal").exists()
        check = open_index(index.file)
        assert check.execute("SELECT value FROM facts WHERE name = 'answer'").get == "42"
        check.close()


def test_a_file_cut_to_nothing_while_others_have_it_open_is_replaced(index: IndexFile) -> None:
    make_live(index)
    late = IndexFile(index.file)
    with late.snapshot() as snapshot:
        assert snapshot is not None
    os.truncate(index.file, 0)
    make_live(index)
    with late.snapshot() as snapshot:
        assert snapshot is not None
        assert snapshot.db.execute("PRAGMA integrity_check").get == "ok"
    assert not index.file.with_name("main.sqlite.damaged").exists(), "there was nothing in it to keep"


def test_damage_found_by_the_writer_takes_the_file_away(index: IndexFile) -> None:
    make_live(index)
    with pytest.raises(apsw.CorruptError), index.writer():
        raise apsw.CorruptError("found half-way")
    assert not index.file.exists()
    assert index.file.with_name("main.sqlite.damaged").exists()


def test_a_newer_schema_is_refused_by_readers_and_writers(index: IndexFile) -> None:
    with index.writer() as db:
        db.pragma("user_version", 77)
    with pytest.raises(IndexTooNewError, match="77"), index.snapshot():
        pass
    with pytest.raises(IndexTooNewError, match="77"), index.writer():
        pass


def test_a_closed_index_is_neither_read_nor_written(index: IndexFile) -> None:
    make_live(index)
    index.close()
    with pytest.raises(IndexFault, match="closed"), index.snapshot():
        pass
    with pytest.raises(IndexFault, match="closed"), index.writer():
        pass


def test_a_failed_transaction_leaves_nothing(index: IndexFile) -> None:
    with index.writer() as db:
        with pytest.raises(apsw.SQLError), schema.transaction(db):
            db.execute("INSERT INTO facts VALUES ('answer', '42'); nonsense")
        assert db.execute("SELECT count(*) FROM facts").get == 0
        assert not db.in_transaction


def test_a_schema_that_failed_half_way_is_made_whole(index: IndexFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(db: apsw.Connection) -> None:
        db.execute("CREATE TABLE half (x)")
        raise apsw.FullError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, fails))
        with pytest.raises(IndexFault, match="no room"), index.writer():
            pass
    make_live(index)
    with index.snapshot() as snapshot:
        assert snapshot is not None
        assert snapshot.db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").get == 0
