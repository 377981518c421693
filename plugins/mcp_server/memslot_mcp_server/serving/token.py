"""The secret that a client over HTTP must know: made once, kept in a file that only its owner can read."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from memslot import MemslotError, write_file

FILE_NAME = "http-token"


def read_or_make_token(folder: Path, *, fresh: bool = False) -> tuple[str, bool]:
    """The token, and whether it was made just now; with `fresh` an older one is replaced."""
    file = folder / FILE_NAME
    try:
        if not fresh and (known := _read(file)) is not None:
            return known, False
        made = secrets.token_urlsafe(32)
        write_file(file, made + "\n", mode=0o600)
        return made, True
    except OSError as error:
        raise MemslotError(f"the token file {file} cannot be used: {error.strerror or error}") from None


def _read(file: Path) -> str | None:
    """The token in the file, if it is one that nobody else could have seen."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, encoding="ascii", errors="replace") as found:
        if os.name == "posix" and os.fstat(found.fileno()).st_mode & 0o077:
            raise MemslotError(
                f"{file} can be read by others, so its token is not safe; "
                "make another with: memslot mcp --http --new-token"
            )
        text = found.read(1000).strip()
    return text if len(text) >= 32 and text.isascii() and text.isprintable() and " " not in text else None
