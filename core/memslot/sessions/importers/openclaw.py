"""Conversations of OpenClaw, and our own: `agents/<agent>/sessions/<session>.jsonl`.

Their lines are of the kinds that ours are, so they are taken as they stand, calls of tools included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memslot.errors import SessionError
from memslot.sessions.foreign import ForeignLine, ForeignSession, Program
from memslot.sessions.lines import PROGRAM, header_of, key_of
from memslot.sessions.names import is_plain
from memslot.sessions.times import to_ms
from memslot.sessions.transcript import Line


def is_openclaw(record: Mapping[str, Any]) -> bool:
    """A header, or a message that is wrapped as theirs are."""
    if record.get("type") == "session":
        return isinstance(record.get("id"), str)
    return record.get("type") == "message" and isinstance(record.get("message"), Mapping)


def read_openclaw(name: str, lines: Iterable[Line]) -> ForeignSession:
    """One conversation; `name` is the file's name without its ending."""
    header, header_line, skipped = None, None, 0
    kept: list[ForeignLine] = []
    for number, raw, record in lines:
        if record is None:
            skipped += 1
            continue
        if number == 1 and (header := header_of(record)) is not None:
            header_line = raw.rstrip(b"\r\n") + b"\n"
            if header.is_newer:
                raise SessionError(f"It is of a newer program (version {header.version}); upgrade memslot.")
            continue
        kept.append(ForeignLine(key_of(record, raw), raw.rstrip(b"\r\n") + b"\n", to_ms(record.get("timestamp"))))
    is_ours = header is not None and header.program == PROGRAM
    program: Program = "memslot" if is_ours else "openclaw"
    their_id = header.id if header is not None and header.id else name
    facts = {"cwd": header.data["cwd"]} if header is not None and isinstance(header.data.get("cwd"), str) else {}
    return ForeignSession(
        program,
        # A topic of a group has a file of its own that repeats the id of the group's session.
        their_id if is_ours or not is_plain(name) else name,
        their_id,
        tuple(kept),
        started_at=header.started_at if header is not None else None,
        header=header_line,
        facts=facts,
        skipped=skipped,
    )
