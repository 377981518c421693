"""Lines of a transcript, compressed with Zstandard or not; Codex compresses old ones."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memslot import SessionError, extra_install_command, read_jsonl

PACKED = ".zst"
Line = tuple[int, bytes, dict[str, Any] | None]
"""Its number, its bytes, and its record, or None if it is not a JSON object."""
_LIBRARY = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def read_lines(path: Path) -> Iterator[Line]:
    """All lines of a file; raises OSError, or a SessionError if it cannot be decompressed."""
    if not path.name.endswith(PACKED):
        yield from read_jsonl(path)
        return
    try:
        zstd = importlib.import_module(_LIBRARY)
    except ImportError:
        raise SessionError(
            f"{path} is compressed, and {_LIBRARY} is not installed; "
            f"run `{extra_install_command('codex')}`, or decompress the file with `zstd -d`."
        ) from None
    try:
        with zstd.open(path) as file:
            yield from read_jsonl(file)
    except (zstd.ZstdError, EOFError) as error:
        raise SessionError(f"{path} cannot be decompressed ({error}).") from None
