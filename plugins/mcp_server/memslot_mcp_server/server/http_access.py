"""The address and the token of the HTTP server; without the SDK, so that a taken port is reported at once."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from memslot import MemslotError, write_file

ADDRESS = "127.0.0.1"
PATH = "/mcp"
TOKEN_FILE = "http-token"


def read_or_make_token(folder: Path, *, fresh: bool = False) -> tuple[str, bool]:
    """The token that clients must send, and whether it is new; `fresh` replaces an existing one."""
    file = folder / TOKEN_FILE
    try:
        if not fresh and (known := _read_token(file)) is not None:
            return known, False
        made = secrets.token_urlsafe(32)
        write_file(file, made + "\n", mode=0o600)
        return made, True
    except OSError as error:
        raise MemslotError(f"cannot use the token file {file}: {error.strerror or error}") from None


def _read_token(file: Path) -> str | None:
    """The token in the file; raises a MemslotError if others could have read it."""
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, encoding="ascii", errors="replace") as found:
        if os.name == "posix" and os.fstat(found.fileno()).st_mode & 0o077:
            raise MemslotError(
                f"other users can read {file}, so its token is not safe; "
                "make a new one with: memslot mcp --http --new-token"
            )
        text = found.read(1000).strip()
    return text if len(text) >= 32 and text.isascii() and text.isprintable() and " " not in text else None
