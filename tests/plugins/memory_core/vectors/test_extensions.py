from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest
from memslot_memory_core.index.vectors.extensions import engine_of, is_loaded, is_usable, load

SWITCH = apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION


@pytest.mark.parametrize("name", ["sqlite-vec", "vec1"])
def test_an_extension_is_loaded_once_and_the_door_is_closed_again(name: str) -> None:
    db = apsw.Connection(":memory:")
    assert is_loaded(db, name) is False

    assert load(db, name) is None
    assert load(db, name) is None

    assert is_loaded(db, name) is True
    assert db.config(SWITCH, -1) == 0
    with pytest.raises(apsw.SQLError, match="not authorized"):
        db.execute("SELECT load_extension('anything')")


def test_numpy_needs_no_connection_at_all() -> None:
    assert load(apsw.Connection(":memory:"), "numpy") is None


def test_an_unknown_name_is_a_reason_not_an_error() -> None:
    assert load(apsw.Connection(":memory:"), "faiss") == "unknown vector engine 'faiss'"


def reason_for(path: Path) -> str:
    db = apsw.Connection(":memory:")
    reason = load(db, "sqlite-vec", extension_path=str(path))
    assert reason is not None
    assert "\n" not in reason
    assert is_loaded(db, "sqlite-vec") is False
    assert db.config(SWITCH, -1) == 0
    return reason


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert reason_for(tmp_path / "vec0.so") == f"{tmp_path / 'vec0.so'} does not exist"


def test_a_folder_is_no_extension(tmp_path: Path) -> None:
    assert "does not exist" in reason_for(tmp_path)


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x7fELF" + bytes(200)])
def test_a_file_that_is_no_library_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "vec0.so"
    file.write_bytes(content)

    assert str(file) in reason_for(file)


@pytest.mark.skipif(sys.platform != "linux", reason="changes the header of a Linux library")
def test_a_library_for_another_processor_is_named(tmp_path: Path) -> None:
    sqlite_vec = pytest.importorskip("sqlite_vec")
    data = bytearray(Path(f"{sqlite_vec.loadable_path()}.so").read_bytes())
    data[18:20] = b"\x02\x00"  # SPARC
    file = tmp_path / "vec0.so"
    file.write_bytes(data)

    assert f"{file} is not a sqlite-vec binary for this platform" in reason_for(file)


def test_another_extension_is_not_taken_for_sqlite_vec(tmp_path: Path) -> None:
    from apsw import sqlite_extra

    file = tmp_path / "vec0.so"
    shutil.copy(sqlite_extra.path("vec1"), file)

    assert "vec0.so" in reason_for(file)


def test_sqlite_vec_is_taken_from_the_file_that_is_named(tmp_path: Path) -> None:
    sqlite_vec = pytest.importorskip("sqlite_vec")
    (source,) = Path(sqlite_vec.__file__).parent.glob("vec0.*")
    file = tmp_path / f"my own{source.suffix}"
    shutil.copy(source, file)
    db = apsw.Connection(":memory:")

    assert load(db, "sqlite-vec", extension_path=str(file)) is None
    assert is_loaded(db, "sqlite-vec")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)

    assert load(apsw.Connection(":memory:"), "sqlite-vec") == 'the package "sqlite-vec" is not installed'


def test_an_apsw_without_vec1_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from apsw import sqlite_extra

    monkeypatch.setattr(sqlite_extra, "_exts", (".none",))

    assert load(apsw.Connection(":memory:"), "vec1") == "this build of apsw does not include vec1"


def test_a_connection_that_may_not_load_extensions_says_so() -> None:
    class Strict(apsw.Connection):
        def config(self, op: int, *values: Any) -> Any:
            if op == SWITCH:
                raise apsw.AuthError("not authorized")
            return super().config(op, *values)

    for name in ("sqlite-vec", "vec1"):
        assert load(Strict(":memory:"), name) == f"{name} could not be loaded: not authorized"


def test_a_machine_with_the_other_byte_order_uses_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "byteorder", "big")

    for name in ("sqlite-vec", "vec1"):
        assert "byte order" in (load(apsw.Connection(":memory:"), name) or "")


@pytest.mark.parametrize("name", ["sqlite-vec", "vec1"])
def test_a_table_is_usable_only_where_its_extension_is_loaded(kit: Any, name: str) -> None:
    index = kit.index(name, 4)
    index.write(kit.some(3, 4))
    without = apsw.Connection(index.file)

    assert (engine_of(index.db, "vec_3"), is_usable(index.db, "vec_3")) == (name, True)
    assert (engine_of(without, "vec_3"), is_usable(without, "vec_3")) == (name, False)
    with pytest.raises(apsw.SQLError, match="no such module"):
        without.execute("DROP TABLE vec_3")
    without.close()


def test_an_ordinary_table_or_none_is_not_usable(kit: Any) -> None:
    index = kit.index("numpy", 4)

    assert (engine_of(index.db, "chunks_3"), is_usable(index.db, "chunks_3")) == (None, False)
    assert (engine_of(index.db, "vec_3"), is_usable(index.db, "vec_3")) == (None, False)
