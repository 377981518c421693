"""A cache of the latest queries' rows, so that memories side by side embed a prompt once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from memslot.embeddings.cache import CacheKey
from memslot.embeddings.cancellation import LOOK_SECONDS, StopToken
from memslot.embeddings.vectors import is_zero

if TYPE_CHECKING:
    from memslot.embeddings.vectors import Row

_KEPT = 32


class QueryRows:
    """The latest queries of one host. A caller that asks for a query in progress waits for its result."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: OrderedDict[CacheKey, _Call] = OrderedDict()

    def get(self, key: CacheKey, make: Callable[[], Row], stop: StopToken) -> Row:
        """Return a query's row, embedding it if necessary; a failed call is not cached."""
        with self._lock:
            call = self._calls.get(key)
            is_mine = call is None
            if call is None:
                call = self._calls[key] = _Call()
                while len(self._calls) > _KEPT:
                    self._calls.popitem(last=False)
            else:
                self._calls.move_to_end(key)
        if not is_mine:
            while not call.is_over.wait(LOOK_SECONDS):
                stop.ask()
            return call.row.copy() if call.row is not None else make()
        try:
            row = make()
            call.row = None if is_zero(row) else row.copy()  # a zero row may be a transient fault of the provider
            return row
        finally:
            call.is_over.set()
            if call.row is None:
                self._drop(key, call)

    def _drop(self, key: CacheKey, call: _Call) -> None:
        with self._lock:
            if self._calls.get(key) is call:
                del self._calls[key]


class _Call:
    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.row: Row | None = None
