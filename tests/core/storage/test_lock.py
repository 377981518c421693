from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from memslot import FileBusyError, file_lock, note_lock
from memslot.storage import lock as lock_module

HOLD = """
import os, sys, time
from pathlib import Path
from memslot import note_lock
with note_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(note: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, with another home, has the lock of a note."""
    env = {**os.environ, "MEMSLOT_HOME": str(note.parent / "other-home")}
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(note)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def is_free(*notes: Path) -> bool:
    try:
        with note_lock(*notes, seconds=0):
            return True
    except FileBusyError:
        return False


def test_every_path_to_a_note_leads_to_one_lock(tmp_path: Path) -> None:
    real = tmp_path / "notes"
    real.mkdir()
    (tmp_path / "folder-link").symlink_to(real)
    (real / "a.md").write_text("")
    (tmp_path / "note-link.md").symlink_to(real / "a.md")
    with held_elsewhere(real / "a.md"):
        assert not is_free(real / "a.md")
        assert not is_free(tmp_path / "folder-link" / "a.md")
        assert not is_free(tmp_path / "note-link.md")
        assert not is_free(real / ".." / "notes" / "a.md")
        assert is_free(tmp_path / "elsewhere.md")
    assert sorted(each.name for each in real.iterdir()) == ["a.md"], "a lock leaves nothing beside the notes"


def test_a_killed_holder_blocks_nobody(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path / "a.md") as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert is_free(tmp_path / "a.md")


def test_who_waits_in_vain_is_told_in_a_sentence(tmp_path: Path) -> None:
    with (
        held_elsewhere(tmp_path / "a.md"),
        pytest.raises(FileBusyError) as told,
        note_lock(tmp_path / "a.md", seconds=0.05),
    ):
        pass
    assert str(told.value) == f"{tmp_path / 'a.md'} is being changed by another process (waited 0.05 s); try again."


def test_threads_exclude_each_other(tmp_path: Path) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with note_lock(tmp_path / "a.md"):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_several_notes_are_locked_at_once_without_deadlock(tmp_path: Path) -> None:
    one, other = tmp_path / "x/a.md", tmp_path / "y/b.md"
    done = []

    def work(*notes: Path) -> None:
        for _ in range(50):
            with note_lock(*notes):
                done.append(1)

    threads = [threading.Thread(target=work, args=notes) for notes in ((one, other), (other, one), (one, one))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 150
    with note_lock(one, other):
        assert not is_free(one)
        assert not is_free(other)


def test_a_folder_that_is_replaced_while_waiting_is_locked_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, got, is_waiting, sleep = tmp_path / "notes", threading.Event(), threading.Event(), time.sleep

    def pause(seconds: float) -> None:
        is_waiting.set()
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", pause)

    def wait() -> None:
        with note_lock(folder / "a.md"):
            assert not is_free(folder / "a.md")
            got.set()

    with held_elsewhere(folder / "a.md") as process:
        waiting = threading.Thread(target=wait)
        waiting.start()
        is_waiting.wait()
        folder.rename(tmp_path / "gone")
        folder.mkdir()
        process.kill()
        waiting.join()
    assert got.is_set()


def test_a_read_only_folder_can_be_locked(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    assert is_free(tmp_path / "a.md")
    tmp_path.chmod(0o755)


def refuse_folders(descriptor: int, operation: int, flock: Callable[[int, int], None] = fcntl.flock) -> None:
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    flock(descriptor, operation)


class TestWhereFoldersCannotBeLocked:
    @pytest.fixture(params=["no flock", "network"])
    def place(self, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        if request.param == "no flock":
            monkeypatch.setattr(fcntl, "flock", refuse_folders)
        else:
            monkeypatch.setattr(lock_module, "_is_on_network", lambda _: True)
        return tmp_path

    def test_a_file_is_locked_that_others_honour(self, place: Path) -> None:
        with note_lock(place / "a.md"):
            assert (place / ".memslot.lock").exists()
            assert not is_free(place / "a.md")
        assert is_free(place / "a.md")

    def test_who_may_write_the_folder_may_take_the_lock(self, place: Path) -> None:
        place.chmod(0o770)
        assert is_free(place / "a.md")
        assert (place / ".memslot.lock").stat().st_mode & 0o777 == 0o660


def test_a_lock_file_that_is_there_is_taken_too(tmp_path: Path) -> None:
    """Another machine made it, and holds that alone."""
    with file_lock(tmp_path / ".memslot.lock"):
        assert not is_free(tmp_path / "a.md")


def test_a_lock_file_names_what_it_guards(tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    told = pytest.raises(FileBusyError, match=r"^the index is being changed by another process")
    with file_lock(file), told, file_lock(file, seconds=0, what="the index"):
        pass


def test_waiting_can_be_cancelled(tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    with file_lock(file), pytest.raises(FileBusyError), file_lock(file, seconds=3600, cancelled=lambda: True):
        pass
