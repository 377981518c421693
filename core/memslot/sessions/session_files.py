"""Session files in memslot's own formats, read for import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from memslot.errors import SessionError
from memslot.sessions.imports import ForeignLine, ForeignSession, RawLine
from memslot.sessions.lines import PROGRAM, header_of, key_of
from memslot.sessions.names import is_plain
from memslot.sessions.times import to_ms
from memslot.sessions.transcript import read_jsonl

_MAX_DEPTH = 250


def read_session_file(path: Path, lines: Iterable[RawLine] | None = None) -> ForeignSession:
    """Read a session from a transcript or an export of `memslot sessions export`. Raises SessionError and OSError.

    OpenClaw transcripts use the same line types, so they work too; their `program` is empty. Pass `lines` if the
    caller had to decompress the file.
    """
    if path.suffix.lower() == ".json5":
        return _read_export(path)
    name = path.name.removesuffix(".zst").removesuffix(".jsonl")
    return _read_transcript(name, read_jsonl(path) if lines is None else lines)


def _read_transcript(name: str, lines: Iterable[RawLine]) -> ForeignSession:
    header, header_line, skipped = None, None, 0
    kept: list[ForeignLine] = []
    for number, raw, record in lines:
        if record is None:
            skipped += 1
            continue
        if number == 1 and (header := header_of(record)) is not None:
            header_line = raw.rstrip(b"\r\n") + b"\n"
            if header.is_newer:
                raise SessionError(f"It was written by a newer program (version {header.version}); upgrade memslot.")
            continue
        kept.append(ForeignLine(key_of(record, raw), raw.rstrip(b"\r\n") + b"\n", to_ms(record.get("timestamp"))))
    is_ours = header is not None and header.program == PROGRAM
    their_id = header.id if header is not None and header.id else name
    facts = {"cwd": header.data["cwd"]} if header is not None and isinstance(header.data.get("cwd"), str) else {}
    return ForeignSession(
        PROGRAM if is_ours else "",
        # A group topic has its own file, whose header repeats the group session's id.
        their_id if is_ours or not is_plain(name) else name,
        their_id,
        tuple(kept),
        started_at=header.started_at if header is not None else None,
        header=header_line,
        facts=facts,
        skipped=skipped,
    )


def _read_export(path: Path) -> ForeignSession:
    import pyjson5

    try:
        tree = pyjson5.decode(path.read_bytes().decode("utf-8-sig"), _MAX_DEPTH)
    except pyjson5.Json5Exception as error:
        reason = error.args[0] if error.args else "it cannot be read"  # other args quote the input, maybe private
        raise SessionError(f"{path} is not JSON5 ({reason}).") from None
    except UnicodeDecodeError:
        raise SessionError(f"{path} is not UTF-8 text.") from None
    session = tree.get("session") if isinstance(tree, dict) else None
    messages = tree.get("messages") if isinstance(tree, dict) else None
    if not isinstance(session, dict) or not isinstance(session.get("id"), str) or not isinstance(messages, list):
        raise SessionError(f"{path} is not a memslot session export: it has no session and messages.")
    lines = [_line(place, each) for place, each in enumerate(messages) if isinstance(each, Mapping)]
    return ForeignSession(
        PROGRAM,
        session["id"],
        session["id"],
        tuple(lines),
        title=session["title"] if isinstance(session.get("title"), str) else "",
        started_at=to_ms(session.get("createdAt")),
        facts={key: value for key, value in session.items() if key != "id"},
    )


def _line(place: int, entry: Mapping[str, Any]) -> ForeignLine:
    message = entry.get("message")
    content = message if isinstance(message, Mapping) else {}
    found = entry.get("id")
    key = found if isinstance(found, str) and found else ForeignLine.make_key(PROGRAM, place, content)
    return ForeignLine.of_message(key, to_ms(entry.get("timestamp")), content)
