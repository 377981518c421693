"""Remembers what was worked out, for as long as nothing it came from has changed.

An entry is a JSON file that names its key, the files it depends on with their fingerprints, and the
environment variables it depends on. Losing one, or finding it torn, only costs the work again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from memslot import __version__

_KEPT_ENTRIES = 32

Value = TypeVar("Value")
Fingerprint = tuple[int, int, int, int] | None


def fingerprint(path: str) -> Fingerprint:
    """Changes when a file or folder is written, replaced, or gets other permissions; None if it is not there."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def installed_fingerprint() -> list[Any]:
    """Changes when a distribution is installed, removed or upgraded in one of Python's folders."""
    folders = [[path, _mtime(path)] for path in search_path() if os.path.isdir(path)]  # noqa: PTH112
    return [__version__, sys.version, sys.prefix, folders]


def _mtime(path: str) -> int:
    # Only the folder's own entries matter, and only their names: an access or a chmod does not.
    return Path(path).stat().st_mtime_ns


def search_path() -> list[str]:
    """sys.path with the current folder by its name, as `python -c` and a prompt have it first."""
    return [path or os.getcwd() for path in sys.path]  # noqa: PTH109


class Cache:
    """Entries below one folder. Without the folder's parent (memslot's home) nothing is kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str, key: Any, env: Mapping[str, str], decode: Callable[[Any], Value]) -> Value | None:
        """What was kept under this name, decoded, or None where it was not or is no longer true."""
        try:
            entry = json.loads(self._file(name, key).read_bytes())
            if entry["key"] != _digest(key) or entry["env"] != _env_digests(entry["env"], env, entry["salt"]):
                return None
            if any(fingerprint(path) != _as_fingerprint(kept) for path, kept in entry["watched"]):
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
        """Keep something. `watched` carries fingerprints taken before the work began. Never raises."""
        salt = os.urandom(16).hex()
        entry = {
            "key": _digest(key),
            "salt": salt,
            "env": _env_digests(sorted(env_names), env, salt),
            "watched": list(watched),
            "data": data,
        }
        try:
            if not self._folder.parent.is_dir():
                return
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._prune()
            text = json.dumps(entry)
            handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=".tmp-")
            try:
                with os.fdopen(handle, "w") as file:
                    file.write(text)
                Path(temporary).replace(self._file(name, key))
            except OSError:
                Path(temporary).unlink(missing_ok=True)
        except (OSError, TypeError, ValueError):
            return

    def _file(self, name: str, key: Any) -> Path:
        # The name depends on the key's first part only (what is asked), so that an answer to the same
        # question replaces the old one.
        return self._folder / f"{name}-{_digest(key[0])[:16]}.json"

    def _prune(self) -> None:
        files = sorted(self._folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        for path in files[: max(0, len(files) - _KEPT_ENTRIES)]:
            path.unlink(missing_ok=True)


def _as_fingerprint(kept: Any) -> Fingerprint:
    return None if kept is None else tuple(kept)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()


def _env_digests(names: Iterable[str], env: Mapping[str, str], salt: str) -> dict[str, str]:
    return {name: hashlib.sha256(f"{salt}{env.get(name, '')}".encode()).hexdigest() for name in names}
