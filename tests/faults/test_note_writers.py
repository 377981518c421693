"""All writers of one note at once, with two homes: what was acknowledged is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from memslot import FileBusyError, MemslotError, note_lock
from memslot_anthropic_memory.tool import MemoryTool
from memslot_memory_core.note_writer import append_note
from memslot_memory_core.transfer.placement import place_file

from tests.note_folder import NoteFolder

WORKER = Path(__file__).with_name("note_writer.py")
CREW = (
    ("memory_write", "home-a"),
    ("memory_write", "home-b"),
    ("host_tool", "home-a"),
    ("host_tool", "home-b"),
    ("standalone_insert", "none"),
    ("standalone_insert", "none-2"),
    ("standalone_replace", "none"),
    ("import_over", "none"),
)


def run_crew(folder: Path, total: int) -> tuple[list[str], str]:
    """What was acknowledged, and all that the note and its backups hold."""
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("# Notes\n(end)\n")
    crew = [
        subprocess.Popen(
            [sys.executable, str(WORKER), kind, str(folder / home), str(workspace), str(total // len(CREW))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for kind, home in CREW
    ]
    for each in crew:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in crew:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    said = [each.communicate()[0].splitlines() for each in crew]
    assert [each.returncode for each in crew] == [0] * len(crew)
    kept = "".join(each.read_text() for each in workspace.glob("MEMORY.md*"))
    left = {each.name for each in workspace.iterdir() if not each.name.startswith("MEMORY.md")}
    assert left <= {"memory"}, "neither locks nor temporary files stay beside the notes"
    return [line for lines in said for line in lines], kept


@pytest.mark.parametrize(
    "total", [400, pytest.param(5000, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])], ids=["few", "many"]
)
def test_no_acknowledged_write_is_lost(tmp_path: Path, total: int) -> None:
    acknowledged, kept = run_crew(tmp_path, total)
    lost = [text for text in acknowledged if text not in kept]
    assert lost == []
    assert len(acknowledged) >= total * 0.8


def test_a_writer_that_was_killed_with_the_lock_blocks_nobody(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("old\n")
    code = (
        "import os, sys; from pathlib import Path; from memslot import atomic_file, note_lock\n"
        "note = Path(sys.argv[1])\n"
        "with note_lock(note), atomic_file(note) as out:\n"
        "    out.write(b'half'); out.flush(); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "MEMORY.md")], check=False)
    assert done.returncode == -9
    append_note(tmp_path, "new", "memory")
    assert (tmp_path / "MEMORY.md").read_text() == "old\n\nnew\n"


def test_every_writer_that_cannot_get_the_lock_says_so_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "MEMORY.md"
    note.write_text("old\n")
    insert = {"command": "insert", "path": "/memories/MEMORY.md", "insert_line": 0, "insert_text": "x"}
    with note_lock(note):
        monkeypatch.setattr("time.monotonic", iter(range(0, 10**6, 7)).__next__)
        with pytest.raises(MemslotError, match=r"MEMORY\.md is being changed by another process .*try again"):
            append_note(tmp_path, "new", "memory")
        answer = MemoryTool(NoteFolder(tmp_path)).handle(insert)
        placed = place_file(tmp_path, "MEMORY.md", b"other\n", None, overwrite=True)
        with pytest.raises(FileBusyError), note_lock(note):
            pass
    assert answer.is_error
    assert answer.text == "Error: /memories/MEMORY.md is being changed by another process; try again"
    assert (placed.state, placed.reason) == ("refused", "keeps being changed by another process; import it again")
    assert note.read_text() == "old\n"
    assert os.listdir(tmp_path) == ["MEMORY.md"]  # noqa: PTH208
