"""QMD's own folder for one agent and workspace, and the state kept there between runs."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memslot import FileBusyError, file_lock, make_private_dir, write_file

from memslot_memory_core.qmd.errors import QmdError


@dataclass(frozen=True)
class State:
    """QMD's registered collections (name to root and pattern) and the times of its last updates."""

    collections: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    updated_at: float | None = None
    embedded_at: float | None = None


class QmdHome:
    """`<home>/agents/<id>/qmd`, or `qmd-<workspace key>`: QMD's config, index and models; private."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def index_file(self) -> Path:
        return self.folder / "xdg-cache" / "qmd" / "index.sqlite"

    @property
    def sessions_dir(self) -> Path:
        """The default folder for exported transcripts."""
        return self.folder / "sessions"

    def prepare(self) -> None:
        """Create the folders; raises QmdError if that fails."""
        try:
            for part in ("", "xdg-config", "xdg-cache", "xdg-cache/qmd"):
                make_private_dir(self.folder / part)
        except OSError as error:
            raise QmdError(f"QMD's folder {self.folder} cannot be created: {error.strerror or error}") from None
        self._share_models()

    def read_state(self) -> State:
        """The stored state; empty if QMD's index is gone, since everything has to be redone then."""
        try:
            if not self.index_file.exists():
                return State()
            raw = json.loads(self._state_file.read_text(encoding="utf-8"))
            collections = {str(name): (str(root), str(pattern)) for name, (root, pattern) in raw["collections"].items()}
            return State(collections, _time(raw.get("updatedAt")), _time(raw.get("embeddedAt")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return State()

    def write_state(self, state: State) -> None:
        """Write the state atomically; raises QmdError if the folder can't be written."""
        content = {
            "collections": {name: list(value) for name, value in state.collections.items()},
            "updatedAt": state.updated_at,
            "embeddedAt": state.embedded_at,
        }
        try:
            write_file(self._state_file, json.dumps(content, indent=2) + "\n", mode=0o600)
        except OSError as error:
            raise QmdError(f"QMD's folder {self.folder} cannot be written: {error.strerror or error}") from None

    @contextlib.contextmanager
    def update_lock(self) -> Iterator[bool]:
        """Try to take the update lock; yields whether that worked. Never waits."""
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(file_lock(self.folder / "update.lock", seconds=0))
                is_ours = True
            except FileBusyError:
                is_ours = False
            except OSError as error:
                raise QmdError(f"QMD's folder {self.folder} cannot be written: {error.strerror or error}") from None
            yield is_ours

    @property
    def _state_file(self) -> Path:
        return self.folder / "state.json"

    def _share_models(self) -> None:
        """Share the models of the user's own QMD: they take gigabytes, and every agent has its own folder."""
        theirs = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "qmd" / "models"
        ours = self.folder / "xdg-cache" / "qmd" / "models"
        if theirs.is_dir() and not os.path.lexists(ours):
            with contextlib.suppress(OSError):
                ours.symlink_to(theirs, target_is_directory=True)


def _time(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
