"""A store in a scratch folder, and samples of other programs' files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from memslot import SessionStore

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions", "main")


@pytest.fixture
def samples() -> Path:
    return SAMPLES


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """The samples in a folder in which a test may change them."""
    return Path(shutil.copytree(SAMPLES, tmp_path / "samples"))
