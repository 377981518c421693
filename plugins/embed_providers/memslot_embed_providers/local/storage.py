"""Downloaded models on this machine's disk."""

from __future__ import annotations

import errno
import hashlib
import os
from contextlib import suppress
from pathlib import Path

from memslot import ProviderError

from memslot_embed_providers.local.source import HubFile


def make_private_folder(folder: Path) -> None:
    """Make a folder and those above it that are not there, for nobody else to read."""
    for each in [*reversed(folder.parents), folder]:
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)  # with parents=True the others would be open to all


def checked(target: Path, source: HubFile) -> Path:
    """The file, once it is known to be the one that the person pinned."""
    if source.sha256 is None:
        return target
    beside = digest_file(target)
    with suppress(OSError):
        if beside.read_text(encoding="ascii") == source.sha256:
            return target
    digest = digest_of(target)
    if digest != source.sha256:
        raise ProviderError(
            f'"{target}" is not the file that local.modelPath asks for: its SHA-256 is {digest}; '
            "delete it to download it again"
        )
    with suppress(OSError):
        write_private(beside, digest.encode())
    return target


def digest_file(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_private(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)


def storage_error(error: OSError, folder: Path) -> ProviderError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ProviderError(
            f'the disk that holds "{folder}" is full; make room or name another folder with '
            "memorySearch.local.modelCacheDir; what was downloaded is kept, and the next try goes on from there"
        )
    return ProviderError(f'the model cannot be stored in "{folder}": {error.strerror or error}')
