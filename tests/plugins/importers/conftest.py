"""A session store, samples of other programs' files, and the real command in a home of its own."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

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


@pytest.fixture
def memslot(tmp_path: Path) -> Any:
    """The command of tests/cli; tests have no packages of their own (import mode importlib)."""
    name = "memslot_tests_cli_conftest"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[2] / "cli" / "conftest.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name].Command(tmp_path)
