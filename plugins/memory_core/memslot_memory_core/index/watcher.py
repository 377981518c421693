"""Watches notes and transcripts, so that changes trigger a sync of the changed paths."""

from __future__ import annotations

import logging
import os
import stat
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from memslot_memory_core.sources.roots import MARKDOWN, TRANSCRIPT, ExtraPathLike

logger = logging.getLogger("memslot.plugin.memory-core")

_SUFFIXES = (*MARKDOWN, *TRANSCRIPT)
_STEP_MS = 250
"""Poll interval for events, short enough that a search can run pending changes before the debounce ends."""
_LONGEST_WAIT = 10
"""Multiple of the step: continuous changes are still reported."""
_RETRY_SECONDS = 5.0
_RESCAN_SECONDS = 1.0
"""How often to check for other folders to watch."""


@dataclass(frozen=True)
class WatchedFolders:
    """Folders to watch, flat and recursive."""

    flat: Sequence[Path]
    deep: Sequence[Path]

    @classmethod
    def of(
        cls, workspace: Path, extra_paths: Sequence[str | ExtraPathLike], sessions_dir: Path | None
    ) -> WatchedFolders:
        """The folders of the configured notes and transcripts."""
        flat, deep = [workspace], [workspace / "memory"]
        for extra in extra_paths:
            text = extra if isinstance(extra, str) else extra.path
            path = workspace / os.path.expanduser(text)  # noqa: PTH111 (Path raises for a user who is not there)
            # A dot doesn't tell: folders are named `vault.v2`, and even `notes.md`.
            is_note = path.name.lower().endswith(MARKDOWN) and _number(path) is None
            (flat if is_note else deep).append(path.parent if is_note else path)
        if sessions_dir is not None:
            flat.append(sessions_dir)
        return cls(flat, deep)

    def existing(self) -> WatchedFolders:
        return WatchedFolders([f for f in self.flat if _number(f)], [f for f in self.deep if _number(f)])

    def numbers(self) -> list[int | None]:
        """Inodes, to notice replaced folders."""
        return [_number(folder) for folder in (*self.flat, *self.deep)]


def _number(folder: Path) -> int | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    # Used on file systems without inode numbers.
    return (status.st_ino or 1) if stat.S_ISDIR(status.st_mode) else None


def _may_be_folder(path: Path, below: bool) -> bool:
    """Whether a path may be a folder: moved here with notes in it, `memory` itself, or deleted with its notes.

    A deleted path doesn't tell what it was. It matters where folders contain notes; elsewhere it is an editor's
    temporary file.
    """
    return not path.suffix or path.is_dir() or (below and not os.path.lexists(path))


def _must_poll() -> bool:
    """Whether to poll: on WSL, or if WATCHFILES_FORCE_POLLING says so, as in watchfiles."""
    said = os.environ.get("WATCHFILES_FORCE_POLLING", "").lower()
    if said:
        return said not in ("false", "disable", "disabled")
    return hasattr(os, "uname") and "microsoft-standard" in os.uname().release.lower()


class Watcher:
    """Calls back after each change with the paths, or with None if they are not all known.

    They are not known when a watch has just started, after an error, and while polling, which may merge two changes.
    """

    def __init__(
        self, folders: Callable[[], WatchedFolders], on_change: Callable[[Collection[str] | None], None], step_ms: int
    ) -> None:
        self._folders = folders
        self._on_change = on_change
        self._step_ms = min(max(10, step_ms), _STEP_MS)
        self._stop = threading.Event()
        self._restart = threading.Event()
        self._threads: list[threading.Thread] = []
        self._begun: set[bool] = set()
        self.is_polling = False

    @property
    def is_sure(self) -> bool:
        """Whether all changes from now on will be reported."""
        return len(self._begun) == 2 and not self.is_polling

    def start(self) -> None:
        self._threads.append(threading.Thread(target=self._run, name="memslot-watch", daemon=True))
        self._threads[0].start()

    def close(self, seconds: float = 2.0) -> None:
        """Stop; the thread ends within a moment."""
        self._stop.set()
        self._restart.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(seconds)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._restart.clear()
            if self._stop.is_set():  # close() may have run between the two lines above
                return
            wanted = self._folders()
            numbers, folders = wanted.numbers(), wanted.existing()
            self.is_polling = _must_poll()
            self._begun.clear()
            deep = threading.Thread(
                target=self._watch, args=(folders.deep, True, numbers), name="memslot-watch-below", daemon=True
            )
            deep.start()
            self._watch(folders.flat, False, numbers)
            self._restart.set()
            deep.join(2.0)

    def _watch(self, folders: Sequence[Path], below: bool, numbers: Sequence[int | None]) -> None:
        """Watch until stopped, or until the set of folders changes."""
        if not folders:
            self._begun.add(below)
            while not self._restart.wait(_RESCAN_SECONDS):
                self._check_for_other_folders(numbers)
            return
        import watchfiles

        while not self._restart.is_set():
            is_new = True
            try:
                for changes in watchfiles.watch(
                    *folders,
                    watch_filter=None,
                    step=self._step_ms,
                    debounce=self._step_ms * _LONGEST_WAIT,
                    stop_event=self._restart,
                    rust_timeout=int(_RESCAN_SECONDS * 1000),
                    yield_on_timeout=True,
                    raise_interrupt=False,
                    force_polling=self.is_polling,
                    recursive=below,
                    ignore_permission_denied=True,
                ):
                    if is_new:
                        # Changes before this watch started went unreported.
                        is_new = False
                        self._notify(None)  # first: a watch that is sure needs no other look
                        self._begun.add(below)
                    elif changes:
                        self._report([path for _, path in changes], below)
                    self._check_for_other_folders(numbers)
                return
            except (OSError, RuntimeError) as error:
                self._begun.discard(below)
                if is_new and not self.is_polling:
                    # Too many watches, a network drive, a deleted folder: polling works for all but the last.
                    logger.info("polling for changes, as native file events failed: %s", error)
                    self.is_polling = True
                if self._restart.wait(_RETRY_SECONDS if not any(f.is_dir() for f in folders) else 0.2):
                    return

    def _report(self, paths: Sequence[str], below: bool) -> None:
        told = {path for path in paths if path.lower().endswith(_SUFFIXES) or _may_be_folder(Path(path), below)}
        if told:
            self._notify(None if self.is_polling else told)

    def _check_for_other_folders(self, numbers: Sequence[int | None]) -> None:
        """Check for watched folders that were created, deleted or replaced."""
        if self._folders().numbers() != numbers:
            self._restart.set()

    def _notify(self, paths: Collection[str] | None) -> None:
        try:
            self._on_change(paths)
        except Exception:
            logger.exception("handling a change on disk failed")
