"""A store in a scratch folder, and samples of other programs' files."""

from __future__ import annotations

from pathlib import Path

import pytest
from memslot import SessionStore

SAMPLES = Path(__file__).parents[2] / "plugins" / "importers" / "samples"


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions", "main")


@pytest.fixture
def samples() -> Path:
    return SAMPLES
