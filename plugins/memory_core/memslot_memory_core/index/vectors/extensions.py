"""Loads SQLite extensions for vector tables, and reports why one can't be loaded."""

from __future__ import annotations

import importlib.util
import os
import sys

import apsw

_MODULES = {"sqlite-vec": "vec0", "vec1": "vec1"}
_ENTRY = "sqlite3_vec_init"
_ENDINGS = ("", ".so", ".dylib", ".dll")


def load(db: apsw.Connection, name: str, *, extension_path: str | None = None) -> str | None:
    """Load an engine on a connection; returns why that failed, or None. Never raises.

    `extension_path` overrides the sqlite-vec binary of the Python package.
    """
    if name == "numpy":
        return None if importlib.util.find_spec("numpy") else 'the package "numpy" is not installed'
    if name not in _MODULES:
        return f"unknown vector engine {name!r}"
    if sys.byteorder != "little":
        return f"{name} uses this machine's byte order, but the index uses the other"
    try:
        if is_loaded(db, name):
            return None
        reason = _load_vec1(db) if name == "vec1" else _load_sqlite_vec(db, extension_path)
        if reason is None and not is_loaded(db, name):
            return f"{extension_path or 'the file'} is an SQLite extension, but not {name}"
        return reason
    except Exception as error:  # whatever a third-party file or package does, search works without it
        return f"{name} could not be loaded: {_one_line(error)}"


def is_loaded(db: apsw.Connection, name: str) -> bool:
    """Whether the engine's module is loaded on the connection."""
    return bool(db.execute("SELECT count(*) FROM pragma_module_list WHERE name = ?", (_MODULES[name],)).get)


def engine_of(db: apsw.Connection, table: str) -> str | None:
    """The engine that created this table, or None. Needs no extension."""
    sql = db.execute("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,)).get
    if not sql:
        return None
    words = str(sql).lower().replace("(", " ").split()
    return next((name for name, module in _MODULES.items() if module in words), None)


def is_usable(db: apsw.Connection, table: str) -> bool:
    """Whether this connection can use the table: it exists, and its module is loaded."""
    if engine_of(db, table) is None:
        return False
    try:
        db.execute(f'SELECT rowid FROM "{table}" LIMIT 0').fetchall()
    except apsw.Error:
        return False
    return True


def _load_sqlite_vec(db: apsw.Connection, extension_path: str | None) -> str | None:
    path = extension_path
    if path is None:
        # Located, not imported: the package imports `numpy.typing`, which takes longer than a search and breaks a
        # concurrent import of numpy in another thread.
        package = importlib.util.find_spec("sqlite_vec")
        if package is None or package.origin is None:
            return 'the package "sqlite-vec" is not installed'
        path = os.path.join(os.path.dirname(package.origin), "vec0")  # noqa: PTH118, PTH120 (no pathlib in a cold search)
    # SQLite's message would name another suffix, which it tries last.
    if not any(os.path.isfile(f"{path}{ending}") for ending in _ENDINGS):  # noqa: PTH113
        return f"{path} does not exist"
    switch = apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION
    before = db.config(switch, -1)
    try:
        # Allowed for this call only: the SQL function load_extension() stays disabled.
        db.config(switch, 1)
        db.load_extension(path, _ENTRY)
    except apsw.Error as error:
        return f"{path} is not a sqlite-vec binary for this platform: {_one_line(error)}"
    finally:
        db.config(switch, before)
    return None


def _load_vec1(db: apsw.Connection) -> str | None:
    try:
        from apsw import sqlite_extra
    except ImportError:
        return "this version of apsw does not include vec1"
    if sqlite_extra.has("vec1") is None:
        return "this build of apsw does not include vec1"
    sqlite_extra.load(db, "vec1")
    return None


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text.removeprefix(f"{type(error).__name__}: ") or type(error).__name__
