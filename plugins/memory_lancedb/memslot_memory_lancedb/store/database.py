"""The LanceDB database, in a folder or on an object store, opened on first use."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from memslot import make_private_dir

from memslot_memory_lancedb.store.lancedb_errors import is_conflict, is_missing, translate_errors

Value = TypeVar("Value")
TRIES, MISSING_TRIES = 12, 3
LONGEST_PAUSE = 0.5
_TIMEOUTS = {"timeout": "20s", "connect_timeout": "3s", "client_max_retries": "3", "client_retry_timeout": "10"}
"""Defaults: an unreachable object store should fail within seconds, not minutes."""


def is_remote(location: str) -> bool:
    return "://" in location


class Database:
    """A lazy connection. Thread-safe."""

    def __init__(self, location: str, storage_options: Mapping[str, str] | None = None) -> None:
        self.location = location
        self._options = {**_TIMEOUTS, **(storage_options or {})} if is_remote(location) else {}
        self._lock = threading.Lock()
        self._connection: Any = None

    @property
    def place(self) -> str:
        """Its name in messages."""
        return f"the memory store {self.location}"

    @property
    def exists(self) -> bool:
        """Whether there may be anything to read; always for an object store."""
        return is_remote(self.location) or Path(self.location).is_dir()

    def prepare(self) -> bool:
        """Load LanceDB, which takes a second; False if there is nothing to read yet."""
        if not self.exists:
            return False
        os.environ.setdefault("LANCEDB_LOG", "error")
        import lancedb  # noqa: F401
        import pyarrow  # type: ignore[import-untyped]  # noqa: F401

        return True

    def connection(self) -> Any:
        with self._lock, translate_errors(self.place):
            if self._connection is None:
                self._connection = self._connect()
            return self._connection

    def _connect(self) -> Any:
        from datetime import timedelta

        # It logs routine events such as commit retries to stderr.
        os.environ.setdefault("LANCEDB_LOG", "error")
        import lancedb

        if not is_remote(self.location):
            try:
                make_private_dir(Path(self.location))  # LanceDB's own files are readable by all
            except FileExistsError:
                raise NotADirectoryError(f"{self.location} is a file, but must be a folder") from None
        # Zero: every read checks for other processes' writes.
        return lancedb.connect(
            self.location, read_consistency_interval=timedelta(0), storage_options=self._options or None
        )

    def table_names(self) -> list[str]:
        """The names of all tables, including other agents'."""
        with translate_errors(self.place):
            names: list[str] = []
            page: str | None = None
            while True:
                listed = self.connection().list_tables(page_token=page)
                names += listed.tables
                page = listed.page_token
                if not page:
                    return names

    def open_table(self, name: str) -> Any | None:
        """A table's handle, or None if it doesn't exist."""
        with translate_errors(self.place):
            try:
                return self.connection().open_table(name)
            except (ValueError, FileNotFoundError) as error:
                if "was not found" in str(error):
                    return None
                raise

    def make_table(self, name: str, schema: Any) -> Any:
        """A table's handle; created if missing, safe with concurrent creation."""

        def make() -> Any:
            try:
                return self.connection().create_table(name, schema=schema, exist_ok=True)
            except (ValueError, RuntimeError):
                opened = self.open_table(name)
                if opened is None:
                    raise
                return opened

        return self.attempt(make)

    def drop_table(self, name: str) -> None:
        with translate_errors(self.place):
            self.connection().drop_table(name, ignore_missing=True)

    def attempt(self, call: Callable[[], Value], again: Callable[[], Value] | None = None) -> Value:
        """Call LanceDB, retrying on write conflicts and on versions removed during a read.

        Retries call `again` instead, if given.
        """
        with translate_errors(self.place):
            for number in range(TRIES):
                try:
                    return call()
                except Exception as error:
                    last = TRIES - 1 if is_conflict(error) else MISSING_TRIES - 1 if is_missing(error) else 0
                    if number >= last:
                        raise
                    time.sleep(min(LONGEST_PAUSE, 0.05 * 2**number) * (0.5 + random.random()))
                    call = again or call
            raise AssertionError("unreachable")

    def close(self) -> None:
        """Close the connection; the next use reopens it."""
        with self._lock:
            self._connection = None
