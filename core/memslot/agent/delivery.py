"""Delivers `agent_end` to plugins, also for runs that a killed host left in the spool."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Sequence

from memslot.agent.spool import Spool, SpoolEntry, SpoolError
from memslot.diagnostics import Diagnostics
from memslot.errors import HookError
from memslot.events import Message, RunInfo
from memslot.plugins.hooks import HookRunner
from memslot.threads import start_thread

HOOK = "agent_end"
_POLL_SECONDS = 0.2
DURABLE_SECONDS = 30.0
"""How long `deliver` waits for plugins if a run cannot be spooled."""


class RunEndDelivery:
    """Calls `agent_end`; durable runs are spooled until every plugin is done.

    Runs that a killed host left behind are delivered in the background, once: after this host's first run, or when it
    closes. Not before, since recall before the first prompt must not wait for them.
    """

    def __init__(self, runner: HookRunner, spool: Spool, diagnostics: Diagnostics) -> None:
        self._runner = runner
        self._spool = spool
        self._diagnostics = diagnostics
        self._lock = threading.Lock()
        self._has_begun = False
        self._is_closed = False
        self._idle = threading.Event()

    def deliver(
        self, run: RunInfo, messages: Sequence[Message], success: bool, error: str | None, *, durable: bool
    ) -> None:
        """Call plugins in the background. A durable run is on disk, or plugins are done with it, when this returns."""
        plugins = self._runner.implementers(HOOK)
        if durable and plugins and messages:
            self._deliver_durably(run, messages, success, error, plugins)
        else:
            self._runner.call(HOOK, run=run, messages=messages, success=success, error=error)
        self.begin()

    def _deliver_durably(
        self, run: RunInfo, messages: Sequence[Message], success: bool, error: str | None, plugins: Sequence[str]
    ) -> None:
        try:
            entry = self._spool.add(run, messages, success, error, plugins)
        except SpoolError as problem:
            self._diagnostics.add("host", "spool", f"{problem}; waiting for the plugins instead", level="warning")
            outcome = _Outcome(plugins)
            self._runner.call(HOOK, ended=outcome.add, run=run, messages=messages, success=success, error=error)
            outcome.known.wait(DURABLE_SECONDS)
            return
        self._call(entry)

    def _call(self, entry: SpoolEntry) -> _Outcome:
        """Queue a run for the plugins that have not processed it; update or remove its entry when they are done."""
        running = [plugin for plugin in self._runner.implementers(HOOK) if plugin in entry.plugins]
        outcome = _Outcome(running, functools.partial(self._end, entry))
        errors = []
        for plugin in running:
            try:
                self._runner.call(
                    HOOK,
                    only=plugin,
                    ended=outcome.add,
                    run=entry.run,
                    messages=entry.messages,
                    success=entry.success,
                    error=entry.error,
                )
            except HookError as error:  # in strict mode
                errors.append(error)
        if errors:
            raise errors[0]
        return outcome

    def _end(self, entry: SpoolEntry, failed: frozenset[str]) -> None:
        missing = set(entry.plugins) - set(self._runner.implementers(HOOK))
        try:
            ended = self._spool.end(entry, failed | missing, failed)
            if ended is not None and (reason := ended.exhausted) is not None:
                self._set_aside(ended, reason)
        except (OSError, SpoolError) as error:
            self._diagnostics.add("host", "spool", f"{entry.file} cannot be changed: {error}", level="warning")

    def _set_aside(self, entry: SpoolEntry, reason: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            kept = self._spool.set_aside(entry.file)
            self._diagnostics.add("host", "spool", f"a finished run was set aside: {reason}; it is in {kept}")

    # Runs of killed hosts

    def begin(self) -> None:
        """Start delivering the runs of killed hosts in a thread, unless already started."""
        with self._lock:
            if self._has_begun:
                return
            self._has_begun = True
        if not self._spool.has_orphans():
            self._idle.set()
            return
        try:
            start_thread(self._take_over, "memslot spool")
        except RuntimeError:  # no more threads; the next host does it
            self._idle.set()

    def finish(self, seconds: float) -> None:
        """Start if necessary, and wait until all are delivered."""
        self.begin()
        self._idle.wait(seconds)

    def close(self) -> None:
        """Release undelivered runs to the next host."""
        self._is_closed = True
        self._spool.close()

    def _take_over(self) -> None:
        try:
            for files in self._spool.claims():
                for file in files:
                    if self._is_closed:
                        return
                    try:
                        self._redeliver(self._spool.read(file))
                    except SpoolError as error:
                        kept = self._spool.set_aside(file)
                        self._diagnostics.add("host", "spool", f"{file.name} was set aside as {kept}: {error}")
        except OSError as error:
            self._diagnostics.add("host", "spool", f"{self._spool.folder} cannot be used: {error}", level="warning")
        finally:
            self._idle.set()

    def _redeliver(self, entry: SpoolEntry) -> None:
        if (reason := entry.exhausted) is not None:
            self._set_aside(entry, reason)
            return
        if not set(entry.plugins) & set(self._runner.implementers(HOOK)):
            return  # its plugins don't run in this host
        with contextlib.suppress(HookError):  # strict mode raises it, after all have ended
            outcome = self._call(self._spool.begin(entry))
            while not self._is_closed and not outcome.known.wait(_POLL_SECONDS):
                pass


class _Outcome:
    """Collects plugins' outcomes; `done` gets the ids of those that failed."""

    def __init__(self, plugins: Sequence[str], done: Callable[[frozenset[str]], None] | None = None) -> None:
        self.known = threading.Event()
        self._awaited = set(plugins)
        self._failed: set[str] = set()
        self._done = done
        self._lock = threading.Lock()

    def add(self, plugin_id: str, has_succeeded: bool) -> None:
        with self._lock:
            if not has_succeeded:
                self._failed.add(plugin_id)
            self._awaited.discard(plugin_id)
            done, self._done = (self._done, None) if not self._awaited else (None, self._done)
            is_last = not self._awaited
        if done is not None:
            done(frozenset(self._failed))
        if is_last:
            self.known.set()
