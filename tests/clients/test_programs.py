"""A program that cannot be installed is a failure that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients import programs

pytestmark = pytest.mark.clients


def test_a_program_that_npm_does_not_have_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "FOLDER", tmp_path)
    missing = programs.Program("missing", "@openai/codex", "0.0.0-never", "codex")

    with pytest.raises(programs.InstallError, match=r"@openai/codex@0\.0\.0-never cannot be installed: "):
        programs.install(missing)
    assert not missing.is_installed
