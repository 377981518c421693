"""Text that was deleted is gone from every file below the home."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from memslot_memory_core.index.connection import damaged_copy

from .index_worker import DigestProvider
from .index_world import World

SECRET = "The quagswagger password of Zyxobel is plumtartan."
WORDS = [b"quagswagg", b"zyxobel", b"plumtartan", b"Zyxobel"]


def traces(folder: Path) -> dict[str, list[bytes]]:
    """Which words of the secret are in which file."""
    found = {}
    for file in folder.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            if words := [word for word in WORDS if word in data]:
                found[str(file.relative_to(folder))] = words
    return found


@pytest.mark.parametrize("engine", ["sqlite-vec", "vec1", "numpy"])
@pytest.mark.parametrize("way", ["deleted", "edited"])
def test_a_note_that_was_deleted_and_synced_leaves_no_word_on_the_disk(tmp_path: Path, engine: str, way: str) -> None:
    world = World(tmp_path / "world", seed=4, files=8)
    note = world.location.workspace / "memory" / "secret.md"
    note.write_text(f"{SECRET}\n")
    manager = world.manager(DigestProvider(), engine=engine)
    manager.sync()
    assert manager.search("quagswagger").hits
    assert len(traces(tmp_path)) >= 2
    if way == "deleted":
        note.unlink()
    else:
        note.write_text("Nothing to see here.\n")
    manager.sync()
    assert not traces(tmp_path)
    manager.close()
    assert not traces(tmp_path)


def test_a_transcript_that_was_deleted_leaves_no_word_on_the_disk(tmp_path: Path) -> None:
    world = World(tmp_path / "world", seed=4, files=8)
    talk = world.location.sessions_dir / "secret.jsonl"
    said = {"type": "message", "message": {"role": "user", "content": SECRET}}
    talk.write_text(json.dumps(said) + "\n")
    manager = world.manager(DigestProvider())
    manager.sync()
    assert len(traces(tmp_path)) >= 2
    talk.unlink()
    manager.sync()
    assert not traces(tmp_path)
    manager.close()


def test_a_forced_index_erases_what_an_older_version_left(tmp_path: Path) -> None:
    world = World(tmp_path / "world", seed=4, files=8)
    manager = world.manager(DigestProvider())
    manager.sync()
    manager.close()
    _leave_free_pages(world.location.index_file)
    assert traces(tmp_path)
    again = world.manager(DigestProvider())
    again.sync(force=True)
    assert not traces(tmp_path)
    again.close()


def test_a_damaged_copy_goes_with_the_text_that_is_deleted(tmp_path: Path) -> None:
    world = World(tmp_path / "world", seed=4, files=8)
    manager = world.manager(DigestProvider())
    manager.sync()
    damaged_copy(world.location.index_file).write_text(SECRET)
    world.notes[0].unlink()
    manager.sync()
    assert not traces(tmp_path)
    manager.close()


def _leave_free_pages(file: Path) -> None:
    db: Any = apsw.Connection(str(file))
    db.execute("PRAGMA secure_delete = OFF")
    db.execute("CREATE TABLE old (text TEXT)")
    db.executemany("INSERT INTO old VALUES (?)", [(SECRET * 50,) for _ in range(60)])
    db.execute("DROP TABLE old")
    db.close()
