"""The last turn of a Claude Code conversation, from the end of its JSONL file."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from memslot import Message, message_text, strip_recalled

FIRST_BYTES = 256 * 1024
MOST_BYTES = 16 * 1024 * 1024
_NOT_SAID = ("<command-", "<local-command-", "<bash-", "[Request interrupted", "Caveat: ")
"""Prefixes of user messages that Claude Code wrote itself."""


def last_turn(file: Path) -> list[Message]:
    """The last prompt and the replies to it; empty if the file does not have them."""
    size = FIRST_BYTES
    while True:
        data, is_whole = _tail(file, size)
        turn = _turn_of(data, is_whole)
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


def _turn_of(data: bytes, is_whole: bool) -> list[Message]:
    lines = data.split(b"\n")
    turn: list[Message] = []
    for line in reversed(lines if is_whole else lines[1:]):  # the first one may be cut
        message = _message(line)
        if message is None:
            continue
        turn.append(message)
        if message["role"] == "user":
            return turn[::-1]
    return []


def _message(line: bytes) -> Message | None:
    """A line as a message; None for tool results, side chains and the program's own notes."""
    try:
        tree: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(tree, dict) or tree.get("type") not in ("user", "assistant"):
        return None
    inner = tree.get("message")
    if tree.get("isSidechain") or tree.get("isMeta") or tree.get("isCompactSummary") or not isinstance(inner, dict):
        return None
    role = tree["type"]
    text = strip_recalled(message_text(_said(inner))).strip()
    if not text or (role == "user" and text.startswith(_NOT_SAID)):
        return None
    return {"role": role, "content": text}


def _said(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if not isinstance(content, list):
        return {"content": content}
    return {"content": [part for part in content if isinstance(part, dict) and part.get("type") == "text"]}
