"""memory_write appends to notes: whole texts, in the right place, whoever else writes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot import Host, MemslotError
from memslot_memory_core.note_writer import append_note, insert
from memslot_memory_core.sources.files import make_source_file
from memslot_memory_core.sources.text import read_text_file, split_lines

DAY = date(2026, 3, 4)


def write(folder: Path, text: str, target: str = "daily", section: str | None = None) -> str:
    return append_note(folder, text, target, section, today=DAY)  # type: ignore[arg-type]


def test_a_note_goes_to_the_day_or_to_memory(tmp_path: Path) -> None:
    assert write(tmp_path, "The gate is green.") == "memory/2026-03-04.md"
    assert write(tmp_path, "Ines keeps the key.", "memory") == "MEMORY.md"
    assert (tmp_path / "memory" / "2026-03-04.md").read_text() == "The gate is green.\n"
    assert (tmp_path / "MEMORY.md").read_text() == "Ines keeps the key.\n"


def test_a_second_note_follows_the_first(tmp_path: Path) -> None:
    write(tmp_path, "One.")
    write(tmp_path, "Two.")
    assert (tmp_path / "memory" / "2026-03-04.md").read_text() == "One.\n\nTwo.\n"


def test_a_section_is_found_or_made(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("# M\n\n## People\n\nAna.\n\n### Family\n\nTio.\n\n## Places\n\nLisbon.\n")
    write(tmp_path, "Ines.", "memory", "people")
    write(tmp_path, "A cat.", "memory", "Animals")
    text = (tmp_path / "MEMORY.md").read_text()
    expected = (
        "# M\n\n## People\n\nAna.\n\n### Family\n\nTio.\n\nInes.\n\n## Places\n\nLisbon.\n\n## Animals\n\nA cat.\n"
    )
    assert text == expected


def test_a_heading_inside_a_code_block_is_no_section(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("```\n## People\n```\n")
    write(tmp_path, "Ines.", "memory", "People")
    assert (tmp_path / "MEMORY.md").read_text() == "```\n## People\n```\n\n## People\n\nInes.\n"


_lines = st.text("ab #`\u2028\f\r\n", max_size=60)


@given(_lines, st.text("xy\r\n", min_size=1, max_size=20).filter(lambda text: text.strip()))
def test_what_was_there_stays_there_to_the_byte(content: str, text: str) -> None:
    result = insert(content, text.strip(), None)
    kept = content.rstrip(" \r\n\f\u2028")
    assert result.startswith(kept)
    assert split_lines(result)[-len(split_lines(text.strip())) :] == split_lines(text.strip())


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_around_a_section_keep_their_ends(end: str) -> None:
    before, after = f"# M{end}{end}mixed\nmixed\r\n## People{end}{end}Ana.{end}{end}", "## Places\r\n\nLisbon."
    result = insert(before + after, "Ines.\nTio.", "People")
    assert result == f"{before}Ines.{end}Tio.{end}{end}{after}"


def test_secrets_and_recalled_blocks_are_not_written(tmp_path: Path) -> None:
    text = "<relevant-memories>\nold\n</relevant-memories>\nThe key is sk-abcdefghijklmnop12345678."
    write(tmp_path, text)
    assert (tmp_path / "memory" / "2026-03-04.md").read_text() == "The key is [redacted].\n"
    with pytest.raises(MemslotError, match="nothing to write"):
        write(tmp_path, "<relevant-memories>only that</relevant-memories>")


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("mine")
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "MEMORY.md").symlink_to(outside)
    with pytest.raises(MemslotError, match="is a symbolic link"):
        write(workspace, "text", "memory")
    assert outside.read_text() == "mine"


def test_odd_bytes_and_windows_lines_survive(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_bytes(b"caf\xe9\r\nsecond\r\n")
    write(tmp_path, "third", "memory")
    assert (tmp_path / "MEMORY.md").read_bytes() == b"caf\xe9\r\nsecond\r\n\r\nthird\r\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_note_keeps_its_encoding_and_its_mark(tmp_path: Path, encoding: str) -> None:
    mark = "" if encoding == "utf-8-sig" else "\ufeff"
    note = tmp_path / "MEMORY.md"
    note.write_bytes(f"{mark}# Gate\r\n\r\nblüht 漢 👩\r\n".encode(encoding))
    write(tmp_path, "grün", "memory", "gate")
    assert note.read_bytes() == f"{mark}# Gate\r\n\r\nblüht 漢 👩\r\n\r\ngrün\r\n".encode(encoding)
    source = make_source_file("memory", "MEMORY.md", str(note), note.stat())
    document = read_text_file(source)
    assert document is not None
    assert document.lines == ("# Gate", "", "blüht 漢 👩", "", "grün")


def test_a_note_that_is_not_what_its_mark_says_is_left_alone(tmp_path: Path) -> None:
    note = tmp_path / "MEMORY.md"
    note.write_bytes(b"\xff\xfea\x00b")
    with pytest.raises(MemslotError, match="UTF-16"):
        write(tmp_path, "more", "memory")
    assert note.read_bytes() == b"\xff\xfea\x00b"


def test_the_mode_of_a_note_is_kept(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("x\n")
    (tmp_path / "MEMORY.md").chmod(0o640)
    write(tmp_path, "y", "memory")
    assert (tmp_path / "MEMORY.md").stat().st_mode & 0o777 == 0o640


def test_eight_threads_and_two_processes_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from datetime import date; from pathlib import Path\n"
        "from memslot_memory_core.note_writer import append_note\n"
        "folder = Path(sys.argv[1])\n"
        "for n in range(25):\n"
        "    append_note(folder, f'{sys.argv[2]}-{n}.', 'daily', today=date(2026, 3, 4))"
    )
    others = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), f"process{n}"]) for n in range(2)]
    threads = [
        threading.Thread(target=lambda name=name: [write(tmp_path, f"thread{name}-{n}.") for n in range(10)])
        for name in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [other.wait(60) for other in others] == [0, 0]
    lines = (tmp_path / "memory" / "2026-03-04.md").read_text().split("\n\n")
    assert len({line.strip() for line in lines}) == 8 * 10 + 2 * 25
    assert not list((tmp_path / "memory").glob(".*.tmp"))


def test_the_tool_writes_and_the_note_is_found(tmp_path: Path) -> None:
    with Host.load({}, home=tmp_path, env={"MEMSLOT_LOAD_PLUGINS": "memory-core"}) as host:
        answer = json.loads(host.call_tool("memory_write", {"text": "The gate is green.", "target": "memory"}).text)
        assert answer == {"path": "MEMORY.md", "written": True}
        found = json.loads(host.call_tool("memory_search", {"query": "gate"}).text)
        assert [each["path"] for each in found["results"]] == ["MEMORY.md"]


def test_a_group_cannot_write(tmp_path: Path) -> None:
    env = {"MEMSLOT_LOAD_PLUGINS": "memory-core"}
    with Host.load({}, home=tmp_path, env=env) as host, host.run("hi there", chat_type="group") as run:
        assert "memory_write" not in {tool.name for tool in run.tools}
        assert run.call_tool("memory_write", {"text": "x"}).is_error
    assert not (tmp_path / "workspace" / "MEMORY.md").exists()
