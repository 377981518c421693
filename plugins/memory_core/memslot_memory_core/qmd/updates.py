"""Updates QMD's index at the start and periodically, one update at a time."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memslot_memory_core.qmd.collections import Collection, sync_collections
from memslot_memory_core.qmd.errors import QmdError
from memslot_memory_core.qmd.home import QmdHome
from memslot_memory_core.qmd.program import QmdProgram
from memslot_memory_core.qmd.sessions import export_sessions
from memslot_memory_core.qmd.settings import QmdSettings

COLLECTION_SECONDS = 600.0
UPDATE_SECONDS = 600.0
EMBED_SECONDS = 35 * 60.0
"""QMD stops embedding after 30 minutes by itself and continues the next time."""

_COUNTS = re.compile(r"^Indexed: (\d+) new, (\d+) updated, (\d+) unchanged, (\d+) removed", re.MULTILINE)
_logger = logging.getLogger("memslot.plugin.memory-core")


@dataclass(frozen=True)
class UpdateReport:
    """How many files QMD indexed, removed and left unchanged."""

    indexed: int = 0
    removed: int = 0
    unchanged: int = 0
    seconds: float = 0.0
    problems: tuple[str, ...] = ()

    @classmethod
    def from_output(cls, stdout: str, seconds: float, problems: Sequence[str]) -> UpdateReport:
        found = [[int(number) for number in match.groups()] for match in _COUNTS.finditer(stdout)]
        new, updated, unchanged, removed = (sum(column) for column in zip(*found, strict=True)) if found else (0,) * 4
        return cls(new + updated, removed, unchanged, seconds, tuple(problems))


class Updater:
    """Exports transcripts, registers collections, and runs `qmd update` and `qmd embed`."""

    def __init__(
        self,
        settings: QmdSettings,
        program: QmdProgram,
        home: QmdHome,
        *,
        collections: Callable[[], list[Collection]],
        transcripts: Path | None = None,
        export_dir: Path | None = None,
        render: Callable[[Path], str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._program, self._home = settings, program, home
        self._collections = collections
        self._transcripts, self._export_dir, self._render = transcripts, export_dir, render
        self._clock = clock
        self.problem: str | None = None
        """Why the last update failed, if it did."""
        self.action: str | None = None
        self.embed_problem: str | None = None
        self._embedding: threading.Thread | None = None
        self.skipped_sessions: Sequence[str] = ()

    def try_update(self) -> float | None:
        """Update in the background; a failure is kept for the status and retried in the next round.

        Returns the seconds until the next update is due, if the last was less than `debounceMs` ago.
        """
        pause = self._pause_left()
        try:
            self._update(force=False)
        except QmdError as error:
            _logger.warning("QMD's index was not updated: %s", error)
        except Exception as error:
            self.problem = f"QMD's index was not updated: {type(error).__name__}: {error}"
            _logger.exception("QMD's index was not updated")
        if self._needs_vectors() and (self._embedding is None or not self._embedding.is_alive()):
            # In its own thread: it may take half an hour, and updates go on meanwhile.
            self._embedding = threading.Thread(target=self._embed, name="qmd-embed", daemon=True)
            self._embedding.start()
        return pause

    def update(self, *, force: bool) -> UpdateReport | None:
        """Update; None if another process is updating, or did less than `debounceMs` ago."""
        report = self._update(force=force)
        if report is not None and self._needs_vectors():
            self._embed()
            if self.embed_problem:
                report = replace(report, problems=(*report.problems, self.embed_problem))
        return report

    def _update(self, *, force: bool) -> UpdateReport | None:
        try:
            self._home.prepare()
            with self._home.update_lock() as is_ours:
                if not is_ours or (not force and self._pause_left()):
                    return None
                report = self._run()
        except QmdError as error:
            self.problem, self.action = str(error), error.action
            raise
        self.problem = self.action = None
        return report

    def _pause_left(self) -> float | None:
        """Seconds until the next update is due; None if it is due now."""
        last, pause, now = self._home.read_state().updated_at, self._settings.debounce, self._clock()
        return None if last is None or _is_due(last, pause, now) else last + pause - now

    def _run(self) -> UpdateReport:
        began = time.monotonic()
        self._export()
        state, desired = self._home.read_state(), self._collections()
        wanted = {collection.name: collection.key for collection in desired}
        new = sync_collections(self._program, desired, state.collections, timeout=COLLECTION_SECONDS)
        # Without collections QMD only complains.
        output = self._program.run("update", timeout=UPDATE_SECONDS).stdout if wanted else ""
        self._home.write_state(replace(state, collections=wanted, updated_at=self._clock()))
        report = UpdateReport.from_output(output, time.monotonic() - began, self.skipped_sessions)
        # Files of a new collection were indexed when it was added, so they count as unchanged here.
        fresh = min(UpdateReport.from_output(new, 0.0, ()).indexed, report.unchanged)
        return replace(report, indexed=report.indexed + fresh, unchanged=report.unchanged - fresh)

    def _needs_vectors(self) -> bool:
        if self._settings.mode == "search":
            return False
        state = self._home.read_state()
        pause = self._settings.embed_interval or 0.0
        return bool(state.collections) and _is_due(state.embedded_at, pause, self._clock())

    def _embed(self) -> None:
        """Run `qmd embed`, which ensures by itself that only one process embeds."""
        try:
            self._program.run("embed", timeout=EMBED_SECONDS)
            self._home.write_state(replace(self._home.read_state(), embedded_at=self._clock()))
            self.embed_problem = None
        except QmdError as error:
            self.embed_problem = f"QMD's vectors were not updated: {error}"

    def _export(self) -> None:
        if self._export_dir is None or self._render is None or self._transcripts is None:
            return
        try:
            done = export_sessions(
                self._transcripts,
                self._export_dir,
                self._render,
                retention_days=self._settings.retention_days,
                now=self._clock(),
            )
        except OSError as error:
            raise QmdError(f"transcripts cannot be exported to {self._export_dir}: {error.strerror or error}") from None
        self.skipped_sessions = done.skipped


class UpdateLoop:
    """A thread that calls `update` periodically.

    `update` returns the seconds until it wants to be called again, if it was too early.
    """

    def __init__(self, update: Callable[[], float | None], *, interval: float, at_once: bool) -> None:
        self._update, self._interval = update, interval
        self._is_stopped = False
        self._woken = threading.Event()
        self._updated = threading.Condition()
        self._count = 0
        self._thread = threading.Thread(target=self._run, args=(at_once,), name="qmd-update", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Update now; if an update is running, once more after it."""
        self._woken.set()

    def wait_for_update(self, timeout: float) -> bool:
        """Wait for the current or next update to finish."""
        with self._updated:
            before = self._count
            return self._updated.wait_for(lambda: self._count > before, timeout)

    def stop(self) -> None:
        self._is_stopped = True
        self._woken.set()

    def join(self, timeout: float = 2.0) -> None:
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _run(self, at_once: bool) -> None:
        if at_once:
            self._woken.set()
        again: float | None = None
        while True:
            self._woken.wait(again or self._interval or None)  # "0s": only at the start and when woken
            self._woken.clear()
            if self._is_stopped:
                return
            again = self._update()
            with self._updated:
                self._count += 1
                self._updated.notify_all()


def _is_due(last: float | None, pause: float, now: float) -> bool:
    """Whether the pause is over; a time in the future means the clock was set back."""
    return last is None or last > now or now - last >= pause
