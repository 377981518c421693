"""What a person changes in a note by way of the memory, and what the memory shows of itself."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot import MemslotError
from memslot.testing import HashingProvider
from memslot_memory_core.note_writer import replace_note

from tests.plugins.memory_core.conftest import MakeManager

SECRET = "token: ghp_" + "A1b2C3d4E5" * 4


def shown(file: Path) -> str:
    from memslot import redact_lines

    return "\n".join(redact_lines(file.read_text(encoding="utf-8").splitlines()))


def test_a_secret_stays_in_a_line_that_was_not_edited(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    file.write_text(f"one\n{SECRET}\nthree\n", encoding="utf-8")
    seen = shown(file)
    assert "ghp_" not in seen
    replace_note(tmp_path, file, seen.replace("one", "first\nand a half").replace("three", "last"), seen)
    assert file.read_text() == f"first\nand a half\n{SECRET}\nlast\n"


def test_a_secret_in_an_edited_line_is_redacted(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    file.write_text("one\n", encoding="utf-8")
    replace_note(tmp_path, file, f"one\nmy {SECRET}\n", "one")
    assert "ghp_" not in file.read_text()


@pytest.mark.parametrize("data", [b"a\r\nb\r\n", b"\xef\xbb\xbfa\nb\n", "a\nb\n".encode("utf-16"), b"a\n\xff b\n"])
def test_a_note_keeps_its_encoding_and_line_ends(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "MEMORY.md"
    file.write_bytes(data)
    replace_note(tmp_path, file, "x\n" + "b\n" if b"\xff b" not in data else "x\n", None)
    written = file.read_bytes()
    assert written[:2] == data[:2] if data[:2] in (b"\xff\xfe", b"\xef\xbb") else b"x" in written
    assert (b"\r\n" in written) == (b"\r\n" in data)


@given(
    st.lists(st.text(alphabet="ab =:", max_size=5), max_size=8),
    st.lists(st.text(alphabet="ab =:", max_size=5), max_size=8),
)
def test_what_was_typed_is_what_is_written(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("notes")
    file = folder / "MEMORY.md"
    file.write_text("".join(f"{line}\n" for line in old), encoding="utf-8")
    replace_note(folder, file, "\n".join(new), "\n".join(old))
    assert file.read_text().rstrip() == "\n".join(new).rstrip()


def test_an_edit_of_a_note_with_many_equal_lines_matches_only_what_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memslot_memory_core import note_writer

    compared: list[int] = []

    class Matcher(SequenceMatcher[str]):
        def __init__(self, junk: None, a: Sequence[str], b: Sequence[str], *, autojunk: bool) -> None:
            compared.append(len(a) + len(b))
            super().__init__(junk, a, b, autojunk)

    monkeypatch.setattr(note_writer, "SequenceMatcher", Matcher)
    file = tmp_path / "MEMORY.md"
    old = ["- The heron nests."] * 5000 + [SECRET] + ["- The heron nests."] * 5000
    file.write_text("".join(f"{line}\n" for line in old), encoding="utf-8")
    seen = shown(file)
    new = seen.split("\n")
    new[4000:4002] = ["- It left."]
    replace_note(tmp_path, file, "\n".join(new), seen)
    assert file.read_text() == "".join(f"{line}\n" for line in [*old[:4000], "- It left.", *old[4002:]])
    assert max(compared) < 10, "its square would be minutes"


def test_two_people_who_edit_one_note_do_not_overwrite_each_other(tmp_path: Path) -> None:
    file = tmp_path / "MEMORY.md"
    file.write_text("0\n", encoding="utf-8")
    done: list[int] = []

    def add() -> None:
        while len(done) < 40:
            seen = file.read_text().strip()
            try:
                replace_note(tmp_path, file, str(int(seen) + 1), seen)
            except MemslotError:
                continue
            done.append(1)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert int(file.read_text()) == len(done)


def test_a_transcript_cannot_be_edited(make_manager: MakeManager) -> None:
    manager = make_manager(sources=["memory", "sessions"])
    folder = manager.location.sessions_dir
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.jsonl").write_text('{"type": "session", "id": "a"}\n', encoding="utf-8")
    with pytest.raises(MemslotError):
        manager.update("sessions/a.jsonl", "x")
    assert "session" in (folder / "a.jsonl").read_text()


def test_points_are_an_even_sample_with_redacted_texts(make_manager: MakeManager) -> None:
    manager = make_manager(HashingProvider())
    notes = manager.workspace / "memory"
    notes.mkdir(parents=True, exist_ok=True)
    for number in range(12):
        (notes / f"{number:02}.md").write_text(f"Note {number} {SECRET}\n", encoding="utf-8")
    manager.sync()
    points = manager.points(limit=4)
    assert len(points) == 4
    assert len({point.path for point in points}) == 4
    assert len({len(point.vector) for point in points}) == 1
    assert all(point.changed_at is not None and point.start_line == 1 for point in points)
    assert not any("ghp_" in point.excerpt for point in points)
    assert len(manager.points(limit=100)) == 12


def test_a_daily_note_says_which_day_it_is_about(make_manager: MakeManager) -> None:
    from datetime import date

    manager = make_manager()
    (manager.workspace / "memory").mkdir(parents=True, exist_ok=True)
    (manager.workspace / "memory" / "2026-03-05.md").write_text("x\n", encoding="utf-8")
    (manager.workspace / "MEMORY.md").write_text("x\n", encoding="utf-8")
    days = {item.path: item.details.get("day") for item in manager.list_items().items}
    assert days == {"MEMORY.md": None, "memory/2026-03-05.md": date(2026, 3, 5)}
