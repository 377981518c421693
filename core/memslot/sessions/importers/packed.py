"""Transcripts that their program has packed with Zstandard, as Codex does with those of last week."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

from memslot.errors import SessionError
from memslot.sessions.transcript import Line, lines_in

PACKED = ".zst"
_LIBRARY = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


def read_packed_lines(path: Path) -> Iterator[Line]:
    """All lines of a packed file, unpacked as they are read. Raises OSError, and a SessionError for a broken one."""
    try:
        zstd = importlib.import_module(_LIBRARY)
    except ImportError:
        raise SessionError(
            f"{path} is packed, and {_LIBRARY}, which unpacks it, is missing; "
            f"install it with `pip install backports.zstd`, or unpack the file with `zstd -d`."
        ) from None
    try:
        with zstd.open(path) as file:
            yield from lines_in(file)
    except (zstd.ZstdError, EOFError) as error:
        raise SessionError(f"{path} cannot be unpacked ({error}).") from None
