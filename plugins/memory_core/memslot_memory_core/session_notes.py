"""Notes for the start of a conversation: the last two days' and, in direct chats, MEMORY.md."""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from memslot import redact, strip_recalled, visible, without_starter
from memslot.retrieval import GAP

from memslot_memory_core.sources.lookup import find
from memslot_memory_core.sources.text import read_text_file

MAX_CHARS = 4000
MAX_LINE_CHARS = 600
_WRAPPED_FROM = 60
_MAX_FILE_BYTES = 1024 * 1024
_MARKER = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+")
_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_MAX_CONVERSATIONS = 10_000
_AROUND_LINE = 3
"""Characters the fence adds per line."""


@dataclass(frozen=True)
class _Note:
    """A file to read: the end of daily notes matters, the beginning of evergreen ones."""

    path: str
    lines: tuple[str, ...]
    keeps_end: bool


class SessionNotes:
    """Provides each conversation's initial notes, once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: dict[str, None] = {}

    def first_time(self, session_id: str) -> bool:
        """Whether this is the first call for this conversation in this process."""
        with self._lock:
            is_new = session_id not in self._told
            self._told[session_id] = None
            if len(self._told) > _MAX_CONVERSATIONS:  # for programs that never end a session
                del self._told[next(iter(self._told))]
            return is_new

    def forget(self, session_id: str) -> None:
        """Forget a conversation, so that its name can be used again."""
        with self._lock:
            self._told.pop(session_id, None)


def read_session_notes(
    workspace: Path, *, private: bool, today: date | None = None, max_chars: int = MAX_CHARS
) -> tuple[list[str], int]:
    """Lines for the fence, newest last, and the characters they use, at most `max_chars`.

    A line states what was omitted. Secrets and recalled text are removed.
    """
    day = today or date.today()
    dailies = [_read(workspace, f"memory/{each.isoformat()}.md", keeps_end=True) for each in (day - timedelta(1), day)]
    lasting = _memory_note(workspace) if private else None
    # Each file has a guaranteed share; unused space goes to the others in this order.
    wanted = [(note, share) for note, share in ((dailies[1], 2), (lasting, 2), (dailies[0], 1)) if note is not None]
    parts = sum(share for _, share in wanted)
    needs = [_cost([f"From {note.path}:", *map(_shortened, note.lines)]) for note, _ in wanted]
    rooms = [min(need, max_chars * share // parts) for need, (_, share) in zip(needs, wanted, strict=True)]
    chosen: dict[str, list[str]] = {}
    for place, (note, _) in enumerate(wanted):
        rooms[place] += max_chars - sum(rooms)
        chosen[note.path] = _choose(note, rooms[place])
        rooms[place] = _cost(chosen[note.path])
    lines = [line for note in (lasting, *dailies) if note is not None for line in chosen[note.path]]
    return lines, _cost(lines)


def is_repeated(snippet: str, lines: Sequence[str]) -> bool:
    """Whether these lines already contain the whole passage."""
    shown = {_plain(line) for line in _unwrapped(snippet.split("\n"))} - {"", GAP}
    return {line for line in shown if not _HEADING.match(line)} <= set(lines)


def _memory_note(workspace: Path) -> _Note | None:
    for name in ("MEMORY.md", "memory.md"):
        note = _read(workspace, name, keeps_end=False)
        if note is not None:
            return note
    return None


def _read(workspace: Path, path: str, *, keeps_end: bool) -> _Note | None:
    """A note's non-empty lines; None if it is missing or unreadable."""
    try:
        source = find(workspace, path)
        document = read_text_file(source, _MAX_FILE_BYTES) if source is not None else None
    except OSError:
        return None
    if document is None:
        return None
    text = redact(strip_recalled("\n".join(without_starter(document.lines)))).replace("\0", "")
    lines = _without_empty_sections([_plain(line) for line in _unwrapped(text.split("\n"))])
    return _Note(path, tuple(lines), keeps_end) if lines else None


def _plain(line: str) -> str:
    return " ".join(_MARKER.sub("", visible(line), count=1).split())


def _unwrapped(lines: Sequence[str]) -> list[str]:
    """The lines, with sentences and list items that are wrapped to several put back together."""
    kept: list[str] = []
    before = ""
    in_item = in_code = False
    for line in lines:
        text = line.strip()
        is_item = _MARKER.match(line) is not None
        is_special = is_item or text.startswith(("```", "~~~", "|", "#", ">"))
        in_code ^= text.startswith(("```", "~~~"))
        continues = bool(text) and not (is_special or in_code)
        continues = continues and ((in_item and line[0].isspace()) or (_is_cut(before) and text[0].islower()))
        if continues:
            kept[-1] += f" {text}"
        else:
            kept.append(line)
        in_item = is_item or (in_item and continues)
        before = "" if in_code or text.startswith(("|", "#")) else text
    return kept


def _is_cut(line: str) -> bool:
    """Whether a line ends where an editor wraps, in the middle of a sentence."""
    return len(line) >= _WRAPPED_FROM and line[-1] not in ".!?:;…"


def _without_empty_sections(lines: Sequence[str]) -> list[str]:
    """The lines without blank ones and headings of empty sections."""
    kept: list[str] = []
    below: int | None = None  # the level of the heading below a line, 0 for text, None at the end
    for line in reversed([line for line in lines if line]):
        level = len(line) - len(line.lstrip("#")) if _HEADING.match(line) else 0
        if level and (below is None or 0 < below <= level):
            continue
        kept.append(line)
        below = level
    return kept[::-1]


def _choose(note: _Note, room: int) -> list[str]:
    """As many lines as fit, below the note's name, and a line with the number left out."""
    head = f"From {note.path}:"
    short = [_shortened(line) for line in note.lines]
    if _cost([head, *short]) <= room:
        return [head, *short]
    room -= _cost([head, _left_out(note, len(short))])
    kept: list[str] = []
    for line in reversed(short) if note.keeps_end else short:
        room -= _cost([line])
        if room < 0:
            break
        kept.append(line)
    gone = _left_out(note, len(short) - len(kept))
    if not kept:
        return [gone] if room + _cost([head, line]) >= 0 else []
    return [head, gone, *kept[::-1]] if note.keeps_end else [head, *kept, gone]


def _left_out(note: _Note, count: int) -> str:
    return f"({count} lines of {note.path} omitted; read them with memory_get)"


def _shortened(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 1] + "…"


def _cost(lines: Sequence[str]) -> int:
    return sum(len(html.escape(line, quote=True)) + _AROUND_LINE for line in lines)
