"""File names of transcripts."""

from __future__ import annotations

import hashlib
import re

from memslot.errors import SessionError

SUFFIX = ".jsonl"
LONGEST_ID = 512
# Lower case only: some file systems are case-insensitive.
_PLAIN = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9_-])?")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")


def transcript_name(session_id: str) -> str:
    """Return the id if it is a portable file name, else a readable slug plus a hash."""
    if not session_id or len(session_id) > LONGEST_ID:
        raise SessionError(f"A session id must have 1 to {LONGEST_ID} characters; this one has {len(session_id)}.")
    if is_plain(session_id):
        return session_id + SUFFIX
    readable = re.sub(r"[^a-z0-9_-]+", "-", session_id.lower())[:60].strip("-_")
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{readable or 'session'}-{digest}{SUFFIX}"


def is_plain(session_id: str) -> bool:
    """Whether an id can be used as its file name."""
    return bool(_PLAIN.fullmatch(session_id)) and not _DEVICE.fullmatch(session_id)
