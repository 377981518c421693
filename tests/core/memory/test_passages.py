"""Single paragraphs and list items of a note: found, and removed without touching the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot import Host, MemslotError
from memslot.memory.passages import Passage, passage_at, without


def lines_of(text: str, *numbers: int) -> list[Passage]:
    return [Passage("a.md", number, number, text.split("\n")[number - 1], text) for number in numbers]


@given(st.lists(st.sampled_from(["", "  ", "one", "- two", "# three"]), min_size=1), st.data())
def test_whatever_is_removed_the_other_lines_stay_in_order(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    gone = data.draw(st.sets(st.integers(1, len(lines))))
    left = without(text, lines_of(text, *gone)).split("\n")
    expected = [line for number, line in enumerate(lines, 1) if number not in gone and line.strip()]
    assert [line for line in left if line.strip()] == expected


def test_a_paragraph_goes_with_one_of_the_gaps_around_it() -> None:
    text = "one\n\ntwo\n\nthree"
    assert without(text, lines_of(text, 3)) == "one\n\nthree"
    assert without(text, lines_of(text, 1)) == "two\n\nthree"
    assert without(text, lines_of(text, 5)) == "one\n\ntwo"
    assert without(text, lines_of(text, 1, 3, 5)) == ""


def test_blank_lines_elsewhere_are_left_alone() -> None:
    text = "one\n\n\n\ntwo\nthree"
    assert without(text, lines_of(text, 6)) == "one\n\n\n\ntwo"


@pytest.fixture
def note(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    note = workspace / "MEMORY.md"
    note.write_text("Ada drinks tea.\n\nBob drinks coffee.\n")
    return note


def test_a_note_that_was_changed_since_it_was_shown_is_left_alone(note: Path) -> None:
    config = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
    with Host.load(config, home=note.parents[1], env={}) as host:
        seen = passage_at(host.memory, "MEMORY.md#L1")
        assert seen is not None
        note.write_text("Cleo drinks milk.\n\nAda drinks tea.\n\nBob drinks coffee.\n")
        with pytest.raises(MemslotError, match="changed meanwhile"):
            host.memories.remove("memory-core", [seen])
        assert note.read_text().startswith("Cleo drinks milk.\n\nAda drinks tea.")
        again = passage_at(host.memory, "MEMORY.md#L3")
        assert again is not None
        host.memories.remove("memory-core", [again])
    assert note.read_text() == "Cleo drinks milk.\n\nBob drinks coffee.\n"


def test_secrets_in_the_lines_that_stay_are_kept_as_they_are(note: Path) -> None:
    secret = "token: ghp_9fK2mQ7xLw3Rt8Vz1Bn6Yc4Hd0Jp5Sg2Ae7U"
    note.write_text(f"Ada drinks tea.\n\n{secret}\n\nBob drinks coffee.\n")
    config = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
    with Host.load(config, home=note.parents[1], env={}) as host:
        seen = passage_at(host.memory, "MEMORY.md#L5")
        assert seen is not None
        assert "9fK2mQ7x" not in seen.whole
        host.memories.remove("memory-core", [seen])
    assert note.read_text() == f"Ada drinks tea.\n\n{secret}\n"
