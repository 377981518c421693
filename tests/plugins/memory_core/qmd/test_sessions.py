"""Transcripts become Markdown files, and only such files are ever replaced or removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from memslot_memory_core.qmd.sessions import Export, export_sessions

DAY = 86_400
NOW = 1_800_000_000.0


@pytest.fixture
def transcripts(tmp_path: Path) -> Path:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for number in (1, 2):
        write(folder / f"s{number}.jsonl", f"said {number}", days_ago=number)
    return folder


def write(file: Path, text: str, *, days_ago: float = 0) -> None:
    file.write_text(text, encoding="utf-8")
    os.utime(file, (NOW - days_ago * DAY,) * 2)


def render(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    if text == "broken":
        raise ValueError("cannot be read")
    return text


def export(transcripts: Path, retention_days: int | None = None) -> Export:
    return export_sessions(transcripts, transcripts.parent / "export", render, retention_days=retention_days, now=NOW)


def exported(transcripts: Path) -> dict[str, str]:
    folder = transcripts.parent / "export"
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.md"))}


def test_each_transcript_becomes_a_file_for_the_owner_only(transcripts: Path) -> None:
    assert export(transcripts) == Export(written=2)

    assert exported(transcripts) == {
        "s1.md": "# Session s1\n\nsaid 1\n",
        "s2.md": "# Session s2\n\nsaid 2\n",
    }
    folder = transcripts.parent / "export"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_only_what_changed_is_written_again(transcripts: Path) -> None:
    export(transcripts)
    assert export(transcripts) == Export()

    write(transcripts / "s1.jsonl", "said more")

    assert export(transcripts) == Export(written=1)
    assert "said more" in exported(transcripts)["s1.md"]


def test_what_is_gone_or_too_old_is_removed(transcripts: Path) -> None:
    write(transcripts / "s3.jsonl", "said 3", days_ago=10)
    export(transcripts)

    (transcripts / "s1.jsonl").unlink()

    assert export(transcripts, retention_days=5) == Export(removed=2)
    assert list(exported(transcripts)) == ["s2.md"]


def test_too_old_is_never_exported(transcripts: Path) -> None:
    assert export(transcripts, retention_days=1) == Export(written=1)


def test_files_of_the_person_are_neither_replaced_nor_removed(transcripts: Path) -> None:
    folder = transcripts.parent / "export"
    folder.mkdir()
    (folder / "s1.md").write_text("my own", encoding="utf-8")
    (folder / "other.md").write_text("mine, too", encoding="utf-8")

    report = export(transcripts)
    (transcripts / "s1.jsonl").unlink()
    export(transcripts)

    assert report.written == 1
    assert "s1.md" in report.skipped[0]
    assert exported(transcripts) == {"other.md": "mine, too", "s1.md": "my own", "s2.md": "# Session s2\n\nsaid 2\n"}


def test_list_of_exports_that_was_lost_is_made_again(transcripts: Path) -> None:
    export(transcripts)
    (transcripts.parent / "export" / ".memslot-export.json").write_text("{torn", encoding="utf-8")

    assert export(transcripts) == Export(written=2)
    (transcripts / "s1.jsonl").unlink()
    assert export(transcripts) == Export(removed=1)


def test_what_an_interrupted_export_wrote_is_removed_with_its_transcript(transcripts: Path) -> None:
    def interrupted(file: Path) -> str:
        if file.stem == "s2":
            raise KeyboardInterrupt
        return render(file)

    with pytest.raises(KeyboardInterrupt):
        export_sessions(transcripts, transcripts.parent / "export", interrupted, retention_days=None, now=NOW)
    assert list(exported(transcripts)) == ["s1.md"]

    (transcripts / "s1.jsonl").unlink()
    export(transcripts)
    assert list(exported(transcripts)) == ["s2.md"]


def test_list_of_exports_cannot_name_files_elsewhere(transcripts: Path) -> None:
    folder = transcripts.parent / "export"
    folder.mkdir()
    precious = transcripts.parent / "precious.md"
    precious.write_text("x", encoding="utf-8")
    (folder / ".memslot-export.json").write_text('{"../precious.md": "1:1"}', encoding="utf-8")

    export(transcripts)

    assert precious.exists()


def test_one_bad_transcript_does_not_stop_the_others_and_keeps_its_last_export(transcripts: Path) -> None:
    export(transcripts)
    write(transcripts / "s1.jsonl", "broken")
    write(transcripts / "s2.jsonl", "said again")

    report = export(transcripts)

    assert report.written == 1
    assert report.skipped == ("s1.jsonl: cannot be read",)
    assert "said 1" in exported(transcripts)["s1.md"]


def test_secrets_links_and_empty_transcripts_stay_out(transcripts: Path) -> None:
    write(transcripts / "s1.jsonl", "the key is sk-abcdefghij0123456789xyz")
    write(transcripts / "s2.jsonl", "  \n")
    (transcripts / "link.jsonl").symlink_to(transcripts / "s1.jsonl")

    export(transcripts)

    assert exported(transcripts) == {"s1.md": "# Session s1\n\nthe key is [redacted]\n"}
