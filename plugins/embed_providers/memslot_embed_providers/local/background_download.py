"""Background downloads: a model of hundreds of megabytes takes longer than a search may wait."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from memslot import ProviderBusyError, SingleFlight, StillRunningError

from memslot_embed_providers.local.download import download
from memslot_embed_providers.local.model_source import HubFile

_WAIT_SECONDS = 15.0
"""The host gives a provider 30 seconds to start; enough for a small model on a fast line."""

_running: dict[Path, _Background] = {}


class _Background:
    """Its thread ends with the process; the next download resumes."""

    def __init__(self, source: HubFile) -> None:
        self.flight: SingleFlight[Path] = SingleFlight(f"the download of {source}")
        self.progress = "just begun"

    def note(self, done: int, total: int | None) -> None:
        self.progress = f"{done / 1e6:.0f} of {total / 1e6:.0f} MB" if total else f"{done / 1e6:.0f} MB"


def download_in_background(source: HubFile, folder: Path, *, env: Mapping[str, str], logger: logging.Logger) -> Path:
    """The file's path; while it is downloading, raises an error with the progress."""
    target = source.path_in(folder)
    if target.is_file():
        _running.pop(target, None)
        return download(source, folder, env=env, logger=logger)  # compares a pinned digest
    running = _running.setdefault(target, _Background(source))
    try:
        return running.flight.call(
            _WAIT_SECONDS, lambda: download(source, folder, env=dict(env), logger=logger, progress=running.note)
        )
    except (TimeoutError, StillRunningError):
        raise ProviderBusyError(
            f"{source} is being downloaded ({running.progress}) and will be used once complete"
        ) from None
