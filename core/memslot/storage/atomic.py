"""Atomic file replacement: after a crash, a file has either its old or its new content, never a part.

Rules for every file that memslot writes:

- The content goes to a temporary file in the same folder (random name, O_EXCL, mode 0600), which is fsynced and
  renamed; then the folder is fsynced. A failed write leaves the old file and no temporary one.
- A new file has mode 0600. A replaced one keeps its mode and group, and its owner if root writes. A read-only file is
  not replaced.
- Symlinks are not followed: the new file replaces the link. With `follow_links` (a config file linked from a dotfiles
  folder), the link stays and its target is replaced, if the link belongs to this user or to its folder's owner.
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
"""Inode, size and mtime, to detect whether a file changed since it was read."""
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL
for _flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
    _CREATE |= getattr(os, _flag, 0)
_SUFFIX = ".memslot.tmp"
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{12}" + re.escape(_SUFFIX))
_NAME_BYTES = 180
"""Bytes of the file's name kept in the temporary name, which is limited to 255."""
_ABANDONED_SECONDS = 600.0
_swept: dict[str, float] = {}


def file_stamp(path: Path) -> FileStamp | None:
    """Return the file's current stamp, or None if it doesn't exist. Does not follow links."""
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
    """Open a temporary file that atomically replaces `path` when the block ends without an error.

    `mode` is forced; without it, an existing file keeps its mode. With `overwrite=False`, an existing file raises
    FileExistsError. `expected` is the stamp of the file as read (None: it didn't exist); if it has changed since,
    FileChangedError is raised. `durable=False` skips fsync, for caches. The file object's `name` is the temporary path,
    for libraries that only write to paths. On OSError nothing has changed.
    """
    target = _resolve_link(Path(path)) if follow_links else Path(path)
    before = _replaceable(target, forced=mode is not None)
    _sweep(target.parent)
    name = target.name.encode("utf-8", "surrogateescape")[:_NAME_BYTES].decode("utf-8", "ignore")
    temporary = target.with_name(f".{name}.{os.urandom(6).hex()}{_SUFFIX}")
    out = open(temporary, "w+b", opener=_create)  # noqa: SIM115 - Path.open takes no opener
    try:
        with out:
            yield out
            out.flush()
            _copy_metadata(out.fileno(), before, mode)
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
    """Atomically replace a file's content; text is written as UTF-8. Takes the options of `atomic_file`."""
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
    """Append to an open file and fsync it; on failure, truncate it back. Requires a lock."""
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


def _resolve_link(path: Path) -> Path:
    """Resolve a user's symlink; raise if another user created it."""
    try:
        link = path.lstat()
    except FileNotFoundError:
        return path
    if not stat.S_ISLNK(link.st_mode):
        return path
    if hasattr(os, "geteuid") and link.st_uid not in (os.geteuid(), path.parent.stat().st_uid):
        raise PermissionError(errno.EPERM, "it is a symlink of another user", str(path))
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return target


def _replaceable(target: Path, *, forced: bool) -> os.stat_result | None:
    """Return the stat of the file to replace, if any. Raises OSError if it must not be replaced."""
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
    if not forced and not status.st_mode & 0o222:  # rename ignores the file's mode
        raise PermissionError(errno.EACCES, "it is read-only", str(target))
    return status


def _copy_metadata(descriptor: int, before: os.stat_result | None, mode: int | None) -> None:
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
    """Move the file to its name unless that exists."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        temporary.replace(target)


def _sweep(folder: Path) -> None:
    """Remove temporary files of killed writers; scans a folder at most once per ten minutes."""
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
