"""A thread that a plugin started and that dies: one diagnostic line, not a stack trace on the terminal."""

from __future__ import annotations

import threading
import traceback
import weakref
from pathlib import Path

from memslot.diagnostics import Diagnostics, describe_error

_watchers: weakref.WeakSet[ThreadWatch] = weakref.WeakSet()
_lock = threading.Lock()
_installed = False
_STARTERS = {"threading.py", "thread.py"}
"""Python's own files that a thread's stack begins with."""


class ThreadWatch:
    """Recognises threads that ran a plugin's code, by the folder their stack leads to."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._roots: dict[str, str] = {}
        with _lock:
            _watchers.add(self)
        _install()

    def watch(self, plugin_id: str, root: str) -> None:
        if root:
            self._roots[str(Path(root).resolve())] = plugin_id

    def takes(self, args: threading.ExceptHookArgs) -> bool:
        """Record the death if the thread began in a plugin of this host; others are not ours to report."""
        if args.exc_type is SystemExit:  # a normal way to end a thread, which Python does not report either
            return False
        frames = traceback.extract_tb(args.exc_traceback)
        begun = next((Path(f.filename).resolve() for f in frames if Path(f.filename).name not in _STARTERS), None)
        for root, plugin_id in self._roots.items():
            if begun is not None and begun.is_relative_to(root):
                error = args.exc_value or args.exc_type()
                self._diagnostics.add(plugin_id, "thread", f"a thread it started died: {describe_error(error)}")
                return True
        return False


def _install() -> None:
    """Put our hook before the one that is there; once per process."""
    global _installed
    with _lock:
        if _installed:
            return
        _installed = True
        previous = threading.excepthook

        def hook(args: threading.ExceptHookArgs) -> None:
            with _lock:
                watchers = list(_watchers)
            if not any(watch.takes(args) for watch in watchers):
                previous(args)

        threading.excepthook = hook
