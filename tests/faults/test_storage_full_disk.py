"""A file system without a free byte: every writer of files says so, and what was there stays."""

from __future__ import annotations

import contextlib
import errno
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from memslot import MemslotError, atomic_file, write_file
from memslot.config.edit import set_value
from memslot_anthropic_memory.tool import MemoryTool
from memslot_memory_core.note_writer import append_note

from tests.note_folder import NoteFolder

KILOBYTES = 512
LARGE = "x" * KILOBYTES * 1024


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system with a note and a config on it, then filled to the last byte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={KILOBYTES}k", "tmpfs", str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip("no file system can be mounted here: there is no mount command")
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        (folder / "MEMORY.md").write_text("old\n")
        (folder / "memslot.json5").write_text("{}\n")
        (folder / ".memslot.json5.lock").touch()
        fill(folder / "ballast")
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def write_whole(disk: Path) -> None:
    write_file(disk / "MEMORY.md", "new\n")


def write_large(disk: Path) -> None:
    write_file(disk / "MEMORY.md", LARGE)


def write_new(disk: Path) -> None:
    write_file(disk / "NEW.md", "new\n", overwrite=False)


def write_stream(disk: Path) -> None:
    with atomic_file(disk / "MEMORY.md") as out:
        for _ in range(KILOBYTES):
            out.write(bytes(1024))


def write_note(disk: Path) -> None:
    append_note(disk, "new", "memory")


def write_config(disk: Path) -> None:
    set_value(disk / "memslot.json5", "plugins.slots.memory", "none", check=lambda tree: [])


def write_by_tool(disk: Path) -> None:
    command = {"command": "insert", "path": "/memories/MEMORY.md", "insert_line": 0, "insert_text": "new"}
    answer = MemoryTool(NoteFolder(disk)).handle(command)
    if answer.is_error:
        raise MemslotError(answer.text)


WRITERS = [write_whole, write_large, write_new, write_stream, write_note, write_config, write_by_tool]


def test_a_full_disk_costs_no_file_and_leaves_no_temporary_one(full_disk: Path) -> None:
    before = {each.name: each.read_bytes() for each in full_disk.iterdir()}
    for write in WRITERS:
        with pytest.raises((OSError, MemslotError), match=r"(?i)no space") as told:
            write(full_disk)
        if isinstance(told.value, OSError):
            assert told.value.errno == errno.ENOSPC
        assert {each.name: each.read_bytes() for each in full_disk.iterdir()} == before, write.__name__


@pytest.mark.parametrize("write", [write_whole, write_new, write_note, write_config, write_by_tool])
def test_a_writer_goes_on_when_there_is_room_again(full_disk: Path, write: Callable[[Path], None]) -> None:
    with pytest.raises((OSError, MemslotError)):
        write(full_disk)
    (full_disk / "ballast").unlink()
    write(full_disk)
    assert not list(full_disk.glob("*.tmp")) + list(full_disk.glob(".*.tmp"))
