from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from memslot.storage.folder import make_private_dir


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_private_folders_are_private_all_the_way_down(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        make_private_dir(tmp_path / "a/b/c")
    finally:
        os.umask(old)
    assert [mode_of(tmp_path / each) for each in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_an_existing_folder_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)
    make_private_dir(tmp_path / "a")
    assert mode_of(tmp_path / "a") == 0o755


def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(OSError, match="exists"):
        make_private_dir(tmp_path / "a")
