"""Caches computed results for as long as none of their inputs has changed.

An entry is a JSON file that names its key, the files it depends on with their fingerprints, and the
environment variables it depends on. A lost or torn entry only costs the work again.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from memslot.plugins.fingerprints import Fingerprint, fingerprint

_KEPT_ENTRIES = 32
_CLOCK_TICK_NS = 50_000_000

Value = TypeVar("Value")


class Cache:
    """Entries below one folder. Without the folder's parent (memslot's home) nothing is cached."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str, key: Any, env: Mapping[str, str], decode: Callable[[Any], Value]) -> Value | None:
        """Return the entry of this name, decoded, or None if there is none or it is stale."""
        try:
            entry = json.loads(_read_own(self._file(name, key)))
            if entry["key"] != key or entry["env"] != _env_digests(entry["env"], env, entry["salt"]):
                return None
            if any(fingerprint(path) != _as_fingerprint(kept) for path, kept in entry["watched"]):
                return None
            if entry["checksum"] != _checksum(entry["data"]):
                return None
            return decode(entry["data"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def put(
        self,
        name: str,
        key: Any,
        data: Any,
        *,
        watched: Iterable[tuple[str, Fingerprint]] = (),
        env: Mapping[str, str],
        env_names: Iterable[str] = (),
    ) -> None:
        """Store an entry. `watched` has fingerprints taken before the work began. Never raises."""
        watched = list(watched)
        if not all(_is_settled(kept) for _, kept in watched):
            return
        salt = os.urandom(16).hex()
        entry = {
            "key": key,
            "salt": salt,
            "env": _env_digests(sorted(env_names), env, salt),
            "watched": watched,
            "data": data,
        }
        try:
            entry["checksum"] = _checksum(data)
            replace_file(self._file(name, key), json.dumps(entry))
        except (OSError, TypeError, ValueError):
            return

    def _file(self, name: str, key: Any) -> Path:
        # The name depends on the key's first part only (what is asked), so that an answer to the same
        # question replaces the old one.
        return self._folder / f"{name}-{_checksum(key[0]):08x}.json"


def replace_file(file: Path, text: str) -> None:
    """Atomically write a file into a cache's folder, and delete the oldest if there are too many. Raises OSError."""
    from memslot.storage.atomic import write_file

    folder = file.parent
    if not folder.parent.is_dir():
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    _prune(folder)
    write_file(file, text, mode=0o600, durable=False)


def _prune(folder: Path) -> None:
    files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    for path in files[: max(0, len(files) - _KEPT_ENTRIES)]:
        path.unlink(missing_ok=True)


def _as_fingerprint(kept: Any) -> Fingerprint:
    return None if kept is None else tuple(kept)


def _checksum(value: Any) -> int:
    """A checksum for detecting damage and for file names; `hashlib` would load OpenSSL at every start."""
    return zlib.crc32(json.dumps(value).encode())


def _env_digests(names: Iterable[str], env: Mapping[str, str], salt: str) -> dict[str, str | None]:
    """Digest the variables' values, so that they can be compared but not read; None for an unset one."""
    values = {name: env.get(name) for name in names}
    if not values:
        return {}
    from hashlib import sha256

    def digest(value: str) -> str:
        return sha256(f"{salt}{value}".encode("utf-8", "surrogateescape")).hexdigest()

    return {name: None if value is None else digest(value) for name, value in values.items()}


def _read_own(file: Path) -> bytes:
    """Read an entry that only this user can have written, since it may decide which plugins run. Raises OSError."""
    with file.open("rb") as opened:
        status = os.fstat(opened.fileno())
        if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
            raise PermissionError(f"{file} could have been written by another user")
        return opened.read()


def _is_settled(print_: Fingerprint) -> bool:
    """Whether a file's last change is old enough that the next one gets another mtime, however coarse the clock."""
    return print_ is None or time.time_ns() - max(print_[0], print_[1]) > _CLOCK_TICK_NS
