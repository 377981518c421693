"""Zip archives: every file unchanged, and a manifest with checksums."""

from __future__ import annotations

import json
import stat
import struct
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from memslot import MemslotError

from memslot_memory_core.transfer.item import (
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_RATIO,
    MIN_BUDGET_BYTES,
    Item,
    UnusableItem,
    sha256,
    usable_mtime,
)

MANIFEST = "manifest.json"
FORMAT, VERSION = "memslot-export", 1
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OSError)
"""What zipfile raises for damaged or unsupported entries."""
_WANTED = (".md", ".markdown", ".jsonl")


def write_zip(out: BinaryIO, items: Iterable[Item], **about: Any) -> None:
    """Write an archive; `about` goes into the manifest."""
    listed: list[dict[str, Any]] = []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for item in items:
            archive.writestr(_info(item.path, item.mtime), item.data)
            listed.append({"path": item.path, "size": len(item.data), "sha256": sha256(item.data), "mtime": item.mtime})
        manifest = {"format": FORMAT, "version": VERSION, **about, "files": listed}
        archive.writestr(_info(MANIFEST, None), json.dumps(manifest, ensure_ascii=False, indent=1).encode())


def _info(name: str, mtime: float | None) -> zipfile.ZipInfo:
    # Zip supports the years 1980 to 2107; the manifest has the exact time.
    when = time.gmtime(min(max(mtime or 0.0, 315_532_800.0), 4_354_819_198.0))
    info = zipfile.ZipInfo(name, when[:6])
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    return info


def read_zip(file: Path) -> Iterator[Item | UnusableItem]:
    """The files of an archive, ours or any zip; damaged and special entries are reported and skipped.

    Raises a MemslotError if it is unreadable or a zip bomb.
    """
    try:
        archive = zipfile.ZipFile(file)
    except _DAMAGE as error:
        raise MemslotError(f"{file} is not a valid zip file ({error}); copy or download it again") from None
    with archive:
        wanted = [info for info in archive.infolist() if _is_wanted(info)]
        if len(wanted) > MAX_FILES:
            raise MemslotError(f"{file} holds {len(wanted):,} notes; at most {MAX_FILES:,} are imported at a time")
        # The declared sizes can be trusted: reading a file never exceeds its declared size.
        total, budget = sum(info.file_size for info in wanted), MIN_BUDGET_BYTES + MAX_RATIO * file.stat().st_size
        if total > budget:
            raise MemslotError(
                f"{file} would unpack to {total:,} bytes, more than notes of its size could hold ({budget:,}); "
                "nothing was imported"
            )
        manifest = _read_manifest(archive, file)
        seen: set[str] = set()
        for info in wanted:
            seen.add(info.filename)
            yield _read_one(archive, info, manifest.get(info.filename, {}))
        for path in manifest:
            if path not in seen:
                yield UnusableItem(path, "is listed in the manifest but missing from the archive")


def _is_wanted(info: zipfile.ZipInfo) -> bool:
    return info.filename.lower().endswith(_WANTED)  # a folder's name ends with a slash


def _read_one(archive: zipfile.ZipFile, info: zipfile.ZipInfo, listed: dict[str, Any]) -> Item | UnusableItem:
    path = info.filename
    kind = stat.S_IFMT(info.external_attr >> 16)
    if "\0" in info.orig_filename:
        return UnusableItem(path, "has a name with a NUL character")
    if kind not in (0, stat.S_IFREG):
        return UnusableItem(path, "is a link or a device, not a file")
    if info.flag_bits & 1:
        return UnusableItem(path, "is encrypted; unpack the archive with its password and import the folder")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return UnusableItem(path, "uses an unsupported compression; unpack the archive and import the folder")
    if info.file_size > MAX_FILE_BYTES:
        return UnusableItem(path, f"is larger than {MAX_FILE_BYTES:,} bytes")
    try:
        with archive.open(info) as packed:
            data = packed.read(MAX_FILE_BYTES + 1)
    except _DAMAGE:
        return UnusableItem(path, "is damaged in the archive")
    if len(data) != info.file_size or listed.get("sha256", sha256(data)) != sha256(data):
        return UnusableItem(path, "is damaged in the archive: its checksum doesn't match")
    return Item(path, data, usable_mtime(listed.get("mtime")))


def _read_manifest(archive: zipfile.ZipFile, file: Path) -> dict[str, dict[str, Any]]:
    """Our manifest's entries by file; a foreign zip has none."""
    if MANIFEST not in archive.namelist():
        return {}
    try:
        with archive.open(MANIFEST) as packed:
            tree = json.loads(packed.read(MAX_FILE_BYTES))
    except (*_DAMAGE, RecursionError):
        return {}
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        return {}
    if tree.get("version") != VERSION:
        raise MemslotError(f"{file} was made by a newer memslot; upgrade memslot to import it")
    files = tree.get("files")
    listed = [each for each in files if isinstance(each, dict)] if isinstance(files, list) else []
    return {each["path"]: each for each in listed if isinstance(each.get("path"), str)}
