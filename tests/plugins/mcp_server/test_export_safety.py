"""`memslot connect --export` replaces earlier exports and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from memslot_mcp_server.packages.export import export_packages


def test_an_export_replaces_an_earlier_one_and_no_other_folder(tmp_path: Path) -> None:
    export_packages(tmp_path)
    export_packages(tmp_path)
    work = tmp_path / "elsewhere" / "codex" / "work.txt"
    work.parent.mkdir(parents=True)
    work.write_text("mine")
    with pytest.raises(FileExistsError, match="is not an earlier export"):
        export_packages(tmp_path / "elsewhere")
    assert work.read_text() == "mine"
