"""Closes hosts left open at interpreter exit, so that no queued work is lost."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from memslot.threads import are_threads_busy, wait_for_threads

_PATIENCE_SECONDS = 5.0
"""On a busy machine, the import of an embedder that a thread is in takes seconds."""
_closers: dict[int, Callable[[], Any]] = {}
_lock = threading.Lock()
_installed = False


def close_at_exit(owner: object, close: Callable[[], Any]) -> None:
    """Call `close` when Python exits, unless `forget` is called first."""
    global _installed
    with _lock:
        _closers[id(owner)] = close
        if _installed:
            return
        _installed = True
    # From Python 3.12 on no thread can be started in atexit, and plugins run in threads. The threading
    # module has an earlier moment for this, without a public name.
    register = getattr(threading, "_register_atexit", atexit.register)
    register(close_all)


def forget(owner: object) -> None:
    with _lock:
        _closers.pop(id(owner), None)


def close_all() -> None:
    """Close the hosts that are open, and wait briefly for threads."""
    with _lock:
        closers = list(_closers.values())
    for close in closers:
        with contextlib.suppress(Exception):  # an error in strict mode must not keep the other hosts open
            close()
    wait_for_threads(_PATIENCE_SECONDS)


def exit_past_threads(code: int) -> None:
    """Close all hosts; if a thread still hangs then, end the process at once.

    Python ends daemon threads when they next need the interpreter; one in C++ code aborts the process, and a command
    that has done its work would fail.
    """
    close_all()
    if are_threads_busy():
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)
