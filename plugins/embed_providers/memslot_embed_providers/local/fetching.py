"""Downloads in the background: a model of hundreds of megabytes takes longer than a search may wait."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path

from memslot import ProviderBusyError, ProviderError

from memslot_embed_providers.local.download import download
from memslot_embed_providers.local.source import HubFile

_PATIENCE_SECONDS = 15.0
"""The host gives a provider 30 seconds to be there; a small model on a quick line makes it."""

_lock = threading.Lock()
_running: dict[Path, _Fetch] = {}


def fetch(source: HubFile, folder: Path, *, env: Mapping[str, str], logger: logging.Logger) -> Path:
    """The file's place; while it is still on its way, an error that says how far it is."""
    target = source.place_in(folder)
    if target.is_file():
        with _lock:
            _running.pop(target, None)
        return download(source, folder, env=env, logger=logger)  # which looks at its digest
    with _lock:
        running = _running.get(target)
        is_new = running is None
        if running is None:
            running = _running[target] = _Fetch(source, folder, dict(env), logger)
    # Whoever asks again gets the answer at once: searches go on by keywords meanwhile.
    if not running.finished.wait(_PATIENCE_SECONDS if is_new else 0.1):
        raise ProviderBusyError(f"{source} is being downloaded ({running.progress}) and is used once it is here")
    with _lock:
        if _running.get(target) is running:
            del _running[target]
    if running.path is None:
        raise running.error or ProviderError(f"{source} could not be downloaded")
    return running.path


class _Fetch:
    """One download and its thread. The thread ends with the process; the next one resumes."""

    def __init__(self, source: HubFile, folder: Path, env: Mapping[str, str], logger: logging.Logger) -> None:
        self.finished = threading.Event()
        self.path: Path | None = None
        self.error: ProviderError | None = None
        self.progress = "just begun"
        self._arguments = (source, folder, env, logger)
        threading.Thread(target=self._run, name=f"download {source.name}", daemon=True).start()

    def _run(self) -> None:
        source, folder, env, logger = self._arguments
        try:
            self.path = download(source, folder, env=env, logger=logger, progress=self._note)
        except ProviderError as error:
            self.error = error
        except Exception as error:
            self.error = ProviderError(f"{source} could not be downloaded: {type(error).__name__}: {error}")
        finally:
            self.finished.set()

    def _note(self, done: int, total: int | None) -> None:
        self.progress = f"{done / 1e6:.0f} of {total / 1e6:.0f} MB" if total else f"{done / 1e6:.0f} MB"
