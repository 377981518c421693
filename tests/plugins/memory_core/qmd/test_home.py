"""QMD's folder: private, and what is remembered there is believed only as far as it can be."""

from __future__ import annotations

from pathlib import Path

import pytest
from memslot_memory_core.qmd.errors import QmdError
from memslot_memory_core.qmd.home import QmdHome, State

STATE = State({"notes": ("/notes", "**/*.md")}, 1000.0, None)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QmdHome:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = QmdHome(tmp_path / "agents" / "main" / "qmd")
    made.prepare()
    made.index_file.touch()
    return made


def test_state_comes_back_as_it_was(home: QmdHome) -> None:
    home.write_state(STATE)

    assert home.read_state() == STATE


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"collections": 3}', '{"collections": {"a": ["x"]}}', "\xff"]
)
def test_state_that_cannot_be_read_is_none(home: QmdHome, content: str) -> None:
    home.write_state(STATE)
    (home.folder / "state.json").write_text(content, encoding="latin-1")

    assert home.read_state() == State()


def test_state_without_an_index_is_none(home: QmdHome) -> None:
    home.write_state(STATE)
    home.index_file.unlink()

    assert home.read_state() == State()


def test_folders_are_private_all_the_way(home: QmdHome) -> None:
    for folder in (home.folder, home.folder.parent, home.folder.parent.parent):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_models_of_the_person_are_shared_not_fetched_again(home: QmdHome, tmp_path: Path) -> None:
    ours = home.folder / "xdg-cache" / "qmd" / "models"
    assert not ours.exists()
    theirs = tmp_path / "cache" / "qmd" / "models"
    theirs.mkdir(parents=True)

    home.prepare()
    home.prepare()

    assert ours.resolve() == theirs.resolve()


def test_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "agents").write_text("", encoding="utf-8")

    with pytest.raises(QmdError, match="cannot be created"):
        QmdHome(tmp_path / "agents" / "qmd").prepare()
