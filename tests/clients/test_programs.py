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


def test_a_program_that_npm_does_not_finish_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "bin" / "npm"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:/usr/bin:/bin")
    monkeypatch.setattr(programs, "FOLDER", tmp_path)
    monkeypatch.setattr(programs, "SECONDS", 1)

    with pytest.raises(programs.InstallError, match=r"@openai/codex@1\.0\.0 cannot be installed: npm took more than"):
        programs.install(programs.Program("codex", "@openai/codex", "1.0.0", "codex"))
