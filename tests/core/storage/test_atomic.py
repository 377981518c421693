from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from memslot.errors import FileChangedError
from memslot.storage import atomic
from memslot.storage.atomic import append_durably, atomic_file, file_stamp, write_file

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can write a file that belongs to somebody else")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_new_file_is_private_and_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        write_file(tmp_path / "f", "grüße\r\n")
    finally:
        os.umask(old)
    assert (tmp_path / "f").read_bytes() == "grüße\r\n".encode()
    assert mode_of(tmp_path / "f") == 0o600
    assert names(tmp_path) == ["f"]


def test_a_replaced_file_keeps_its_mode_unless_one_is_forced(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("old")
    file.chmod(0o664)
    write_file(file, b"new")
    assert mode_of(file) == 0o664
    write_file(file, b"newer", mode=0o600)
    assert mode_of(file) == 0o600


def test_a_read_only_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("old")
    file.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        write_file(file, "new")
    assert file.read_text() == "old"


@pytest.mark.parametrize("length", [100, 255])
def test_a_name_of_any_script_and_length_has_room_for_the_temporary_one(tmp_path: Path, length: int) -> None:
    file = tmp_path / ("記" * (length // 3) + "f" * (length % 3))
    write_file(file, "new")
    assert names(tmp_path) == [file.name]


class TestLink:
    def test_is_replaced_and_its_target_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "victim").write_text("theirs")
        (tmp_path / "f").symlink_to("victim")
        write_file(tmp_path / "f", "ours")
        assert not (tmp_path / "f").is_symlink()
        assert (tmp_path / "victim").read_text() == "theirs"

    def test_of_a_person_stays_when_followed(self, tmp_path: Path) -> None:
        (tmp_path / "dotfiles").mkdir()
        (tmp_path / "dotfiles/real").write_text("old")
        (tmp_path / "dotfiles/real").chmod(0o640)
        (tmp_path / "link").symlink_to("dotfiles/real")
        write_file(tmp_path / "link", "new", follow_links=True)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "dotfiles/real").read_text() == "new"
        assert mode_of(tmp_path / "dotfiles/real") == 0o640
        assert names(tmp_path / "dotfiles") == ["real"]

    @ROOT_ONLY
    def test_of_somebody_else_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "victim").write_text("theirs")
        (tmp_path / "link").symlink_to("victim")
        os.chown(tmp_path / "link", 65534, 65534, follow_symlinks=False)
        with pytest.raises(PermissionError, match="link of another user"):
            write_file(tmp_path / "link", "ours", follow_links=True)
        assert (tmp_path / "victim").read_text() == "theirs"

    def test_to_what_is_no_file_is_refused(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        for name, target in (("a", tmp_path), ("b", "pipe"), ("c", "c")):
            (tmp_path / name).symlink_to(target)
            with pytest.raises(OSError, match=r"directory|regular|symbolic"):
                write_file(tmp_path / name, "ours", follow_links=True)
        assert names(tmp_path) == ["a", "b", "c", "pipe"]


@ROOT_ONLY
def test_root_does_not_take_a_persons_file_away(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    os.chown(tmp_path / "f", 65534, 65533)
    write_file(tmp_path / "f", "new")
    status = (tmp_path / "f").stat()
    assert (status.st_uid, status.st_gid) == (65534, 65533)


class TestExpected:
    def test_file_that_changed_is_left_alone(self, tmp_path: Path) -> None:
        file = tmp_path / "f"
        file.write_text("read")
        stamp = file_stamp(file)
        file.write_text("changed by an editor")
        with pytest.raises(FileChangedError, match="another program"):
            write_file(file, "ours", expected=stamp)
        assert file.read_text() == "changed by an editor"
        assert names(tmp_path) == ["f"]

    def test_absence_holds_to_the_last_moment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that appears after the stamp was compared is not overwritten either."""
        file = tmp_path / "f"

        def look_and_lose(path: Path) -> None:
            file.write_text("theirs")

        monkeypatch.setattr(atomic, "file_stamp", look_and_lose)
        with pytest.raises(FileChangedError):
            write_file(file, "ours", expected=None)
        assert file.read_text() == "theirs"

    def test_the_file_that_was_read_is_replaced(self, tmp_path: Path) -> None:
        file = tmp_path / "f"
        write_file(file, "one", expected=file_stamp(file))
        write_file(file, "two", expected=file_stamp(file))
        assert file.read_text() == "two"


def test_an_existing_file_is_not_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "f", "new", overwrite=False)
    write_file(tmp_path / "g", "new", overwrite=False)
    assert (tmp_path / "f").read_text() == "old"
    assert (tmp_path / "g").stat().st_nlink == 1
    assert names(tmp_path) == ["f", "g"]


def test_without_hard_links_a_file_is_created_all_the_same_and_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")  # as on FAT

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    write_file(tmp_path / "f", "first", overwrite=False)
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "f", "second", overwrite=False)
    with pytest.raises(FileChangedError):
        write_file(tmp_path / "f", "third", expected=None)
    assert (tmp_path / "f").read_text() == "first"
    assert names(tmp_path) == ["f"]


def test_a_stream_appears_when_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "f"
    with atomic_file(file, mtime_ns=1_000_000_000) as out:
        out.write(b"one ")
        assert not file.exists()
        out.write(b"two")
    assert file.read_bytes() == b"one two"
    assert file.stat().st_mtime_ns == 1_000_000_000

    def write_half() -> None:
        with atomic_file(file) as out:
            out.write(b"half")
            raise ConnectionError("the source went away")

    with pytest.raises(ConnectionError):
        write_half()
    assert file.read_bytes() == b"one two"
    assert names(tmp_path) == ["f"]


@pytest.fixture
def small_files() -> object:
    """No file may grow beyond 4 kB: a write fails half way, as on a full disk."""
    import signal

    old, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, old[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, old)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.usefixtures("small_files")
def test_a_write_without_room_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    with pytest.raises(OSError, match="large"):
        write_file(tmp_path / "f", b"x" * 10_000)
    assert (tmp_path / "f").read_text() == "old"
    assert names(tmp_path) == ["f"]


@pytest.mark.usefixtures("small_files")
def test_an_append_without_room_is_taken_back(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old\n")
    descriptor = os.open(tmp_path / "f", os.O_RDWR | os.O_APPEND)
    with pytest.raises(OSError, match="large"):
        append_durably(descriptor, b"x" * 10_000)
    append_durably(descriptor, b"new\n")
    os.close(descriptor)
    assert (tmp_path / "f").read_text() == "old\nnew\n"


def test_leftovers_of_a_killed_writer_go_with_a_later_write(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from memslot import atomic_file\n"
        "with atomic_file(Path(sys.argv[1])) as out: out.write(b'half'); out.flush(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "f")], check=False)
    (left,) = tmp_path.iterdir()
    (tmp_path / ".g.0123456789ab.tmp").write_text("of another program")
    os.utime(tmp_path / ".g.0123456789ab.tmp", (1, 1))
    long_ago = time.time() - 3600
    os.utime(left, (long_ago, long_ago))
    write_file(tmp_path / "f", "whole")
    assert names(tmp_path) == [".g.0123456789ab.tmp", "f"]
