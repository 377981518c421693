"""Keeps finished runs on disk until every plugin has processed them, so that a killed process loses none.

    <home>/agents/<agent>/spool/<workspace>/<owner>/lock        held by the host that wrote the entries
    <home>/agents/<agent>/spool/<workspace>/<owner>/*.json      one finished run each
    <home>/agents/<agent>/spool/<workspace>/set-aside/*.json    runs that were given up

The system releases the lock of a killed process; then another host of the same agent and workspace may claim its
entries. Delivery is at least once: a plugin recognizes a repeated run by `run.id` or by its messages.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import Any

from memslot.config.paths import Places
from memslot.errors import FileBusyError, MemslotError
from memslot.events import CHAT_TYPES, Message, RunInfo, Session
from memslot.redaction.redact import redact
from memslot.storage.folder import make_private_dir

VERSION = 1
MAX_BYTES = 16 * 1024 * 1024
MAX_ENTRIES = 1000
MAX_SET_ASIDE = 100
MAX_FAILURES = 3
MAX_STARTS = 50
"""Unfinished deliveries before an entry is set aside: it may be what kills the process."""
MAX_AGE_SECONDS = 30 * 24 * 3600.0
_LOCK = "lock"
_SET_ASIDE = "set-aside"


class SpoolError(MemslotError):
    """A run cannot be spooled; the message says why."""


@dataclass(frozen=True)
class SpoolEntry:
    """A finished run and the plugins that have not processed it."""

    file: Path
    run: RunInfo
    messages: tuple[Message, ...]
    success: bool
    error: str | None
    plugins: tuple[str, ...]
    written_at: float
    failures: int = 0
    starts: int = 0

    @property
    def exhausted(self) -> str | None:
        """Return why it is not delivered again, or None."""
        if self.failures >= MAX_FAILURES:
            return f"{', '.join(self.plugins)} failed {self.failures} times"
        if self.starts >= MAX_STARTS:
            return f"the process ended {self.starts} times while {', '.join(self.plugins)} worked on it"
        if time.time() - self.written_at > MAX_AGE_SECONDS:
            return f"it is older than {MAX_AGE_SECONDS / 86400:.0f} days"
        return None


class Spool:
    """The entries of one agent in one workspace; this host's own are in a folder that it keeps locked."""

    def __init__(self, places: Places, agent_id: str, workspace: Path) -> None:
        self._agent_id = agent_id
        self._workspace = os.path.realpath(workspace)
        digest = hashlib.sha256(self._workspace.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self.folder = places.agent_dir(agent_id) / "spool" / digest
        self._own = self.folder / os.urandom(16).hex()
        self._held = contextlib.ExitStack()
        self._lock = threading.Lock()
        self._count = 0
        self._is_open = False

    def add(
        self, run: RunInfo, messages: Sequence[Message], success: bool, error: str | None, plugins: Sequence[str]
    ) -> SpoolEntry:
        """Durably write a finished run, secrets redacted. Raises a SpoolError if it cannot be written."""
        try:
            cleaned = tuple(json.loads(json.dumps(_redacted(messages), default=str)))
        except (TypeError, ValueError, RecursionError) as problem:
            raise SpoolError(f"the run's messages cannot be written as JSON: {problem}") from None
        said = None if error is None else redact(error)
        try:
            self._open()
            with self._lock:
                self._count += 1
                file = self._own / f"{self._count:06}.json"
            entry = SpoolEntry(file, run, cleaned, success, said, tuple(plugins), time.time())
            self._write(entry, durable=True)
        except OSError as problem:
            raise SpoolError(f"{self.folder} cannot be written: {problem.strerror or problem}") from None
        return entry

    def _open(self) -> None:
        """Make and lock this host's folder, once."""
        from memslot.storage.lock import file_lock

        with self._lock:
            # Not Path.glob, which fails in Python 3.11 when another host removes its folder meanwhile.
            if len(glob("*/*.json", root_dir=self.folder)) >= MAX_ENTRIES:  # noqa: PTH207
                raise SpoolError(f"{self.folder} has {MAX_ENTRIES} entries already; see: memslot doctor")
            while not self._is_open:
                make_private_dir(self._own)
                with contextlib.ExitStack() as held, contextlib.suppress(FileBusyError, FileNotFoundError):
                    held.enter_context(file_lock(self._own / _LOCK, seconds=0))
                    # Another host may have taken the new folder for an orphan, and removed it.
                    if (self._own / _LOCK).exists():
                        self._held = held.pop_all()
                        self._is_open = True

    def _write(self, entry: SpoolEntry, *, durable: bool) -> None:
        from memslot.storage.atomic import write_file

        session = entry.run.session
        tree = {
            "version": VERSION,
            "agent": self._agent_id,
            "workspace": self._workspace,
            "run": {"id": entry.run.id, "prompt": redact(entry.run.prompt)},
            "session": {"id": session.id, "chatType": session.chat_type},
            "messages": entry.messages,
            "success": entry.success,
            "error": entry.error,
            "plugins": entry.plugins,
            "writtenAt": entry.written_at,
            "failures": entry.failures,
            "starts": entry.starts,
        }
        data = json.dumps(tree).encode("ascii")
        if len(data) > MAX_BYTES:
            raise SpoolError(f"the run's messages take more than {MAX_BYTES // 1024**2} MB")
        write_file(entry.file, data, mode=0o600, durable=durable)

    def begin(self, entry: SpoolEntry) -> SpoolEntry:
        """Record the start of a delivery."""
        begun = replace(entry, starts=entry.starts + 1)
        self._write(begun, durable=False)
        return begun

    def end(self, entry: SpoolEntry, left: Collection[str], failed: Collection[str]) -> SpoolEntry | None:
        """Record a delivery's outcome; return None if no plugin is left and the entry is removed."""
        waiting = tuple(plugin for plugin in entry.plugins if plugin in left)
        if not waiting:
            entry.file.unlink(missing_ok=True)
            return None
        ended = replace(entry, plugins=waiting, failures=entry.failures + bool(failed), starts=0)
        self._write(ended, durable=True)
        return ended

    def set_aside(self, file: Path) -> Path:
        """Move an entry to where it is not delivered; only the newest of these are kept."""
        folder = make_private_dir(self.folder / _SET_ASIDE)
        target = folder / f"{file.parent.name}-{file.name}"
        file.replace(target)
        for old in sorted(self.given_up(), key=_age, reverse=True)[MAX_SET_ASIDE:]:
            old.unlink(missing_ok=True)
        return target

    def given_up(self) -> list[Path]:
        """The entries that were set aside."""
        return sorted(self.folder.glob(f"{_SET_ASIDE}/*.json"))

    def has_orphans(self) -> bool:
        """Whether there is a folder of another host, which may be in use."""
        return any(self._others())

    def _others(self) -> Iterator[Path]:
        with contextlib.suppress(OSError), os.scandir(self.folder) as found:
            for each in sorted(found, key=lambda entry: entry.name):
                if each.name not in (self._own.name, _SET_ASIDE) and each.is_dir(follow_symlinks=False):
                    yield Path(each.path)

    def claims(self) -> Iterator[Iterator[Path]]:
        """Yield each dead host's entry files, oldest first; they are locked during that iteration."""
        from memslot.storage.lock import file_lock

        for folder in self._others():
            with contextlib.ExitStack() as held:
                try:
                    held.enter_context(file_lock(folder / _LOCK, seconds=0))
                except (OSError, MemslotError):  # its host is alive, another has claimed it, or it is gone
                    continue
                yield iter(sorted(folder.glob("*.json")))
                _remove(folder)

    def read(self, file: Path) -> SpoolEntry:
        """Read an entry. Raises OSError, or a SpoolError if it is damaged or of another agent or workspace."""
        with file.open("rb") as found:
            data = found.read(MAX_BYTES + 1)
        try:
            return self._parse(file, json.loads(data))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SpoolError(f"it cannot be read: {type(error).__name__}: {error}") from None

    def _parse(self, file: Path, tree: Mapping[str, Any]) -> SpoolEntry:
        if tree["version"] != VERSION:
            raise SpoolError(f"it has version {tree['version']}, and this memslot reads version {VERSION}")
        if (tree["agent"], tree["workspace"]) != (self._agent_id, self._workspace):
            raise SpoolError("it belongs to another agent or workspace")
        chat_type = tree["session"]["chatType"]
        if chat_type not in CHAT_TYPES:
            raise ValueError(f"chatType {chat_type!r}")
        session = Session(self._agent_id, str(tree["session"]["id"]), chat_type)
        return SpoolEntry(
            file,
            RunInfo(str(tree["run"]["prompt"]), session, str(tree["run"]["id"])),
            tuple(dict(message) for message in tree["messages"]),
            bool(tree["success"]),
            None if tree["error"] is None else str(tree["error"]),
            tuple(str(plugin) for plugin in tree["plugins"]),
            float(tree["writtenAt"]),
            int(tree["failures"]),
            int(tree["starts"]),
        )

    def close(self) -> None:
        """Let other hosts claim the remaining entries."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                _remove(self._own)
                self._held.close()


def _remove(folder: Path) -> None:
    """Remove a folder without entries. Requires its lock."""
    if next(folder.glob("*.json"), None) is None:
        with contextlib.suppress(OSError):
            for each in folder.iterdir():
                each.unlink()
            folder.rmdir()


def _age(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {str(key): _redacted(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(each) for each in value]
    return value
