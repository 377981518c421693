"""Reads a Markdown file into lines, whatever its encoding and line ends, and reports repairs."""

from __future__ import annotations

import codecs
import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from typing import BinaryIO

from memslot_memory_core.sources.files import SourceFile, make_stamp

MAX_BYTES = 64 * 1024 * 1024
_BLOCK_BYTES = 1024 * 1024
_READS = 3
"""Retries for a file that changes while it is read."""
_GONE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR}
"""errno values of open() for a missing file, a link (ELOOP, on BSD EMLINK) or a socket."""
_FLAGS = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):
    _FLAGS |= getattr(os, _flag, 0)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # starts with the UTF-16 BOM, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Document:
    """A file's lines, and the state of the file as read.

    `hash` is the SHA-256 of the bytes read. `replaced` counts undecodable sequences, replaced by U+FFFD. If
    `truncated`, the file is longer than what was read; the last line is complete unless it is the only one.
    """

    lines: tuple[str, ...]
    hash: str
    stamp: str
    replaced: int = 0
    truncated: bool = False


def read_text_file(source: SourceFile, max_bytes: int = MAX_BYTES) -> Document | None:
    """Read a file's lines; None if it is gone or was replaced.

    Other failures, such as missing permissions, raise OSError. A file that changes while it is read is read again; if
    it keeps changing, it gets the earlier stamp, so that it counts as changed.
    """
    file = open_source(source)
    if file is None:
        return None
    with file:
        for _ in range(_READS):
            file.seek(0)
            status = os.fstat(file.fileno())
            stamp = make_stamp(status)
            data = _read(file, max_bytes + 1, status.st_size)
            if make_stamp(os.fstat(file.fileno())) == stamp:
                break
    truncated = len(data) > max_bytes
    data = data[:max_bytes]
    text, replaced = _decode(data, truncated)
    lines = split_lines(text)
    if truncated and len(lines) > 1 and not text.endswith(("\n", "\r")):
        lines.pop()
    return Document(tuple(lines), hashlib.sha256(data).hexdigest(), stamp, replaced, truncated)


def _read(file: BinaryIO, most: int, size: int) -> bytes:
    """Read at most `most` bytes; the buffer is allocated for the expected size."""
    blocks = [file.read(min(most, size + 1))]
    left = most - len(blocks[0])
    while left > 0 and (block := file.read(min(left, _BLOCK_BYTES))):
        blocks.append(block)
        left -= len(block)
    return b"".join(blocks)


def open_source(source: SourceFile) -> BinaryIO | None:
    """Open the file if it is still the regular file found earlier, without following links or blocking on pipes."""
    try:
        descriptor = os.open(source.location, _FLAGS)
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or not _is_same(source, status):
        os.close(descriptor)
        return None
    return os.fdopen(descriptor, "rb")


def _is_same(source: SourceFile, status: os.stat_result) -> bool:
    """Whether it is the file found earlier; its folder may have become a link since.

    Some network file systems report a new inode number each time; there, size and mtime must suffice.
    """
    size, mtime_ns, _, inode = source.stamp.split(":")
    return int(inode) == status.st_ino or (int(size), int(mtime_ns)) == (status.st_size, status.st_mtime_ns)


def split_lines(text: str) -> list[str]:
    """Split at LF, CRLF and CR, like editors; other separators are part of a line.

    `str.splitlines` would also split at a form feed or U+2028 and shift all line numbers after it.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()  # after a final line end, or in an empty text
    return lines


def encoding_of(data: bytes) -> tuple[bytes, str]:
    """Return the BOM of a text, if any, and its encoding."""
    for mark, name in _MARKS:
        if data.startswith(mark) and (name != "utf-32-le" or _is_utf_32(data[len(mark) :])):
            return mark, name
    return b"", "utf-8"


def _is_utf_32(data: bytes) -> bool:
    """Whether it is UTF-32, not UTF-16 that starts with a NUL and so has the same BOM."""
    whole = data[: len(data) // 4 * 4]
    return len(data) % 4 == 0 and all(
        whole[at + 2] <= 0x10 and whole[at + 3] == 0 for at in range(0, min(len(whole), 4096), 4)
    )


def _decode(data: bytes, truncated: bool) -> tuple[str, int]:
    mark, encoding = encoding_of(data)
    data = data[len(mark) :]
    try:
        return codecs.getincrementaldecoder(encoding)("strict").decode(data, not truncated), 0
    except UnicodeDecodeError:
        decoder = codecs.getincrementaldecoder(encoding)
        text = decoder("replace").decode(data, not truncated)
        # The file may itself contain U+FFFD.
        own = decoder("ignore").decode(data, not truncated).count("\ufffd")
        return text, text.count("\ufffd") - own
