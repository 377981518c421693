"""These tests need llama.cpp: run them with `make test-local`, which brings it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .bert import Bert, mini_lm, tiny_bert


@pytest.fixture(scope="session")
def tiny_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert().write(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture(scope="session")
def real_model() -> Bert:
    return mini_lm()


@pytest.fixture(scope="session")
def real_file(real_model: Bert, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return real_model.write(tmp_path_factory.mktemp("real") / "all-MiniLM-L6-v2-f16.gguf")
