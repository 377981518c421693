"""The last turn of a coding agent's conversation, from the end of its transcript."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

from memslot import ForeignSession, Message, SessionError, read_agent_lines, read_jsonl, read_opencode, strip_recalled

FIRST_BYTES = 256 * 1024
MOST_BYTES = 16 * 1024 * 1024


def last_turn(file: Path, client: str = "claude-code", their_id: str = "") -> list[Message]:
    """The last prompt and the replies to it; empty if the file does not have them.

    `their_id` says which conversation of opencode's it is: all of them are in one database.
    """
    if client == "opencode":
        return _turn_of_database(file, their_id)
    size = FIRST_BYTES
    while True:
        data, is_whole = _tail(file, size)
        # The first line may be cut.
        lines = data if is_whole else data.partition(b"\n")[2]
        turn = _turn_of(read_agent_lines(client, "", read_jsonl(io.BytesIO(lines))))
        if turn or is_whole or size >= MOST_BYTES:
            return turn
        size *= 8


def _tail(file: Path, size: int) -> tuple[bytes, bool]:
    try:
        # Opening a pipe would block.
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return b"", True
            start = max(0, status.st_size - size)
            os.lseek(descriptor, start, os.SEEK_SET)
            with os.fdopen(descriptor, "rb", closefd=False) as found:
                return found.read(size), start == 0
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return b"", True


def _turn_of_database(file: Path, their_id: str) -> list[Message]:
    try:
        if not file.is_file():  # opening a pipe would block
            return []
        found = next(read_opencode(file, their_id), None)
    except (OSError, SessionError):
        return []
    return _turn_of(found) if found is not None else []


def _turn_of(session: ForeignSession) -> list[Message]:
    turn: list[Message] = []
    for line in reversed(session.lines):
        message = line.message
        text = strip_recalled(str(message.get("content", ""))).strip()
        if not text:
            continue
        turn.append({"role": message["role"], "content": text})
        if message["role"] == "user":
            return turn[::-1]
    return []
