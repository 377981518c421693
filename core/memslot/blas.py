"""Runs small matrix products on one BLAS thread: more threads spin while they wait, and are slower."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from functools import cache

_SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def one_blas_thread() -> contextlib.AbstractContextManager[None]:
    """While any thread is inside, numpy's OpenBLAS uses one thread; another BLAS is not changed.

    Nothing is changed either where the environment says how many. On two busy cores a second thread makes products of
    the size of a search or a small model two to ten times slower.
    """
    return _limit()


@cache
def _limit() -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext() if any(map(os.environ.get, _SETTINGS)) else _OneThread()


class _OneThread:
    """A process-wide setting: the first thread sets it, the last restores it. threadpoolctl doesn't support that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = 1
        self._get, self._set = _openblas_threads()

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._before = self._get()
                self._set(1)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._set(self._before)


def _openblas_threads() -> tuple[Callable[[], int], Callable[[int], object]]:
    """The thread functions of numpy's OpenBLAS; no-ops without it."""
    import ctypes

    import numpy

    with contextlib.suppress(AttributeError, OSError):
        # Symbols are also searched in the dependencies of numpy's library, except on Windows.
        library = ctypes.CDLL(numpy.linalg._umath_linalg.__file__)
        for prefix, suffix in (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", "")):
            name = f"{prefix}openblas_%s_num_threads{suffix}"
            if hasattr(library, name % "set"):
                return getattr(library, name % "get"), getattr(library, name % "set")
    return lambda: 1, lambda number: None
