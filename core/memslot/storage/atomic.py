"""Replace a file in one step: after a crash at any moment it holds the old content or the new, never a part.

Rules for every file that memslot writes:

- The content goes to a temporary file in the same folder (random name, O_EXCL, mode 0600), which is fsynced and
  renamed; then the folder is fsynced. A failed write leaves the old file and no temporary one.
- A new file has mode 0600. A replaced one keeps its mode and group, and its owner where root writes. A file that its
  owner made read-only is not replaced.
- A symbolic link is never written through: the new file takes its place. With `follow_links` (a person's own config
  file, kept in a dotfiles folder) the link stays and its target is replaced, if the link belongs to this user or to
  the owner of its folder.
- Temporary files of killed processes are removed by a later writer in that folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from memslot.errors import FileChangedError
from memslot.storage.folder import sync_folder

FileStamp = tuple[int, int, int]
"""Inode, size and modification time: tells whether a file is still the one that was read."""
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL
for _flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
    _CREATE |= getattr(os, _flag, 0)
_SUFFIX = ".memslot.tmp"
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{12}" + re.escape(_SUFFIX))
_NAME_BYTES = 180
"""Of the file's name in the temporary one's, which may have 255 bytes."""
_ABANDONED_SECONDS = 600.0
_swept: dict[str, float] = {}


def file_stamp(path: Path) -> FileStamp | None:
    """What a file is known by now; None where there is none. Links are not followed."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


@contextlib.contextmanager
def atomic_file(
    path: Path,
    *,
    mode: int | None = None,
    overwrite: bool = True,
    expected: FileStamp | bool | None = False,
    follow_links: bool = False,
    mtime_ns: int | None = None,
    durable: bool = True,
) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name when the block ends without an error.

    `mode` is forced; without it an existing file's mode is kept. With `overwrite=False` an existing file raises
    FileExistsError. `expected` is the stamp of the file that was read (None: there was none); if another has taken its
    place, FileChangedError is raised. `durable=False` skips fsync, for caches. The file's `name` is its temporary path,
    for a library that writes to paths only. Raises OSError; then nothing changed.
    """
    target = _followed(Path(path)) if follow_links else Path(path)
    before = _replaceable(target, forced=mode is not None)
    _sweep(target.parent)
    name = target.name.encode("utf-8", "surrogateescape")[:_NAME_BYTES].decode("utf-8", "ignore")
    temporary = target.with_name(f".{name}.{os.urandom(6).hex()}{_SUFFIX}")
    out = open(temporary, "w+b", opener=_create)  # noqa: SIM115 - Path.open takes no opener
    try:
        with out:
            yield out
            out.flush()
            _make_alike(out.fileno(), before, mode)
            if durable:
                os.fsync(out.fileno())
        if mtime_ns is not None:
            os.utime(temporary, ns=(mtime_ns, mtime_ns))
        if not isinstance(expected, bool) and file_stamp(target) != expected:
            raise FileChangedError(f"{target} has been changed by another program; try again.")
        if not overwrite:
            _link(temporary, target)
        elif expected is None:
            try:
                _link(temporary, target)
            except FileExistsError:
                raise FileChangedError(f"{target} has been created by another program; try again.") from None
        else:
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    if durable:
        sync_folder(target.parent)


def write_file(
    path: Path,
    data: bytes | str,
    *,
    mode: int | None = None,
    overwrite: bool = True,
    expected: FileStamp | bool | None = False,
    follow_links: bool = False,
    mtime_ns: int | None = None,
    durable: bool = True,
) -> None:
    """Replace a file's content in one step; text is written as UTF-8. The options are those of `atomic_file`."""
    payload = data.encode("utf-8") if isinstance(data, str) else data
    with atomic_file(
        path,
        mode=mode,
        overwrite=overwrite,
        expected=expected,
        follow_links=follow_links,
        mtime_ns=mtime_ns,
        durable=durable,
    ) as out:
        out.write(payload)


def append_durably(descriptor: int, data: bytes) -> None:
    """Append to an open file and fsync it; if that fails, cut the file back to what it was. Call it with a lock."""
    size = os.lseek(descriptor, 0, os.SEEK_END)
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, size)
        raise


def _create(path: str, _flags: int) -> int:
    return os.open(path, _CREATE, 0o600)


def _followed(path: Path) -> Path:
    """Where a person's link leads; a link that somebody else put there is refused."""
    try:
        link = path.lstat()
    except FileNotFoundError:
        return path
    if not stat.S_ISLNK(link.st_mode):
        return path
    if hasattr(os, "geteuid") and link.st_uid not in (os.geteuid(), path.parent.stat().st_uid):
        raise PermissionError(errno.EPERM, "it is a link of another user", str(path))
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return target


def _replaceable(target: Path, *, forced: bool) -> os.stat_result | None:
    """The file that will be replaced, if any; raises OSError where it is not ours to replace."""
    try:
        status = target.lstat()
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(target))
    if not forced and not status.st_mode & 0o222:  # a rename would not ask
        raise PermissionError(errno.EACCES, "it is read-only", str(target))
    return status


def _make_alike(descriptor: int, before: os.stat_result | None, mode: int | None) -> None:
    if not hasattr(os, "fchmod"):
        return
    if before is not None:
        made = os.fstat(descriptor)
        if (made.st_uid, made.st_gid) != (before.st_uid, before.st_gid):
            owner = before.st_uid if os.geteuid() == 0 else -1
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, owner, before.st_gid)
        if mode is None:
            mode = before.st_mode & 0o777
    if mode is not None:
        os.fchmod(descriptor, mode)


def _link(temporary: Path, target: Path) -> None:
    """Give the file its name unless that is taken."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        temporary.replace(target)


def _sweep(folder: Path) -> None:
    """Remove temporary files of killed writers; each folder is listed once in ten minutes at most."""
    key, now = str(folder), time.monotonic()
    if now - _swept.get(key, -_ABANDONED_SECONDS) < _ABANDONED_SECONDS:
        return
    _swept[key] = now
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED_SECONDS:
                        Path(entry.path).unlink()
