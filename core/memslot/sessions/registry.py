"""The registry: one JSON5 file with the metadata of every session."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memslot.errors import SessionError
from memslot.sessions.versions import version_of
from memslot.storage.atomic import write_file

NAME = "sessions.json5"
VERSION = 1
MAX_BYTES = 256 * 1024 * 1024
_MAX_DEPTH = 200


@dataclass(frozen=True)
class Registry:
    """The file's content. If `fault` is set, the file is unreadable: it counts as empty and is set aside on write."""

    path: Path
    tree: dict[str, Any] = field(default_factory=dict, repr=False)
    fault: str | None = None

    @property
    def entries(self) -> Mapping[str, Mapping[str, Any]]:
        """Entries by session id; anything that is not an object is ignored."""
        sessions = self.tree.get("sessions")
        found = sessions if isinstance(sessions, dict) else {}
        return {key: entry for key, entry in found.items() if isinstance(entry, dict)}

    @property
    def is_newer(self) -> bool:
        return version_of(self.tree.get("version")) > VERSION

    def changed(self, changes: Mapping[str, Mapping[str, Any] | None]) -> Registry:
        """Return a copy with the changes merged in; None removes a key, or a whole entry."""
        sessions = self.tree.get("sessions")
        entries = dict(sessions) if isinstance(sessions, dict) else {}
        for session_id, new in changes.items():
            if new is None:
                entries.pop(session_id, None)
                continue
            old = entries.get(session_id)
            entry = {"id": session_id, **(old if isinstance(old, dict) else {}), **new}
            entries[session_id] = {key: value for key, value in entry.items() if value is not None}
        return Registry(self.path, {"version": VERSION, **self.tree, "sessions": entries}, self.fault)


def read_registry(folder: Path) -> Registry:
    """Read a folder's registry; empty if there is none. Raises SessionError if the file can't be opened."""
    path = folder / NAME
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return Registry(path)
    except OSError as error:
        raise SessionError(f"{path} cannot be read ({error.strerror or error}); check its permissions.") from None
    if len(data) > MAX_BYTES:
        raise SessionError(f"{path} is larger than {MAX_BYTES:,} bytes; is it the right file?")
    return _parse(path, data)


def _parse(path: Path, data: bytes) -> Registry:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Registry(path, fault=f"{path} is not UTF-8 text")
    try:
        tree = json.loads(text)  # fast path: we write plain JSON
    except (ValueError, RecursionError):
        tree = _parse_json5(text)
    if isinstance(tree, str):
        return Registry(path, fault=f"{path} cannot be read: {tree}")
    if not isinstance(tree, dict) or not isinstance(tree.get("sessions", {}), dict):
        return Registry(path, fault=f"{path} is not a session registry")
    return Registry(path, tree)


def _parse_json5(text: str) -> Any:
    """Return the tree, or an error message as a string."""
    import pyjson5

    try:
        tree = pyjson5.decode(text, _MAX_DEPTH)
    except pyjson5.Json5Exception as error:
        return str(error.args[0]) if error.args else "not valid JSON5"
    return {} if isinstance(tree, str) else tree


def write_registry(registry: Registry) -> None:
    """Replace the file atomically and durably. Requires the lock.

    An unreadable file is renamed first, never overwritten; one written by a newer program is refused.
    """
    if registry.is_newer:
        raise SessionError(
            f"{registry.path} was written by a newer memslot (version {registry.tree['version']}) "
            "and is left unchanged; upgrade memslot."
        )
    try:
        if registry.fault is not None:
            _set_aside(registry.path)
        text = json.dumps(registry.tree, ensure_ascii=False, indent=2, default=str) + "\n"
        write_file(registry.path, text, mode=0o600)
    except (TypeError, ValueError) as error:  # includes UnicodeEncodeError
        raise SessionError(f"The session's metadata cannot be written as JSON ({error}).") from None
    except OSError as error:
        raise SessionError(
            f"{registry.path} could not be written ({error.strerror or error}), the old content is unchanged; "
            "check the disk's space and the permissions."
        ) from None


def _set_aside(path: Path) -> None:
    number = 1
    while (aside := path.with_name(f"{path.name}.broken-{number}")).exists():
        number += 1
    path.rename(aside)
