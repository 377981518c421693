"""Stale entries: open tasks in old daily notes, and deadlines that have passed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from memslot_memory_core.audit.findings import STALE, Finding, NoteLines
from memslot_memory_core.audit.notes import Note
from memslot_memory_core.sources.dates import date_of_note

_OPEN = re.compile(r"\s*(?:>\s*)*(?:[-*+]|\d{1,9}[.)])\s+\[ \]\s+\S|(?<!\w)(?:TODO|FIXME)(?!\w)")
_DONE = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+\[[xX]\]|.*~~")
# Only words that set a deadline. "Before", "since" and "on" refer to the past as often as to the future.
_TERM = re.compile(
    r"(?:(?<!\w)(?:until|till|til|through|by|due(?:\s+(?:on|by|date))?|deadline(?:\s+is)?|expires?(?:\s+on)?|"
    r"valid\s+(?:until|to|through)|ends?(?:\s+on)?|bis(?:\s+zum)?|fällig(?:\s+am)?|läuft\s+ab(?:\s+am)?|"
    r"hasta(?:\s+el)?|vence(?:\s+el)?|até|jusqu['’]au|échéance|fino\s+al|scade(?:\s+il)?)|"
    r"截止(?:到|日期)?|有效期至|期限は?|締切は?|마감(?:일은?)?|📅)\s*[:=]?\s*[(*_`]*$",
    re.IGNORECASE,
)
_AFTER = re.compile(r"[)*_`]*\s*(?:まで|までに|為止|为止|之前|까지|截止)")
_PAST_TENSE = re.compile(
    r"(?<!\w)(?:was|were|had|lived|worked|stayed|lasted|studied|served|used|ran|went|war|waren|wohnte|arbeitete|"
    r"vivió|trabajó|a\s+vécu|habitait)(?!\w)",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<{}>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    r"(?<!\d)(?:(?P<y1>20\d\d)[-/.](?P<m1>\d\d?)[-/.](?P<d1>\d\d?)"
    r"|(?P<y2>20\d\d)\s*[年년]\s*(?P<m2>\d\d?)\s*[月월]\s*(?P<d2>\d\d?)\s*[日号號일]"
    r"|(?P<d3>\d\d?)\.\s?(?P<m3>\d\d?)\.\s?(?P<y3>20\d\d)"
    rf"|(?P<d4>\d\d?)(?:st|nd|rd|th|\.)?\s+{_MONTH.format('m4')},?\s+(?P<y4>20\d\d)"
    rf"|(?<![a-z]){_MONTH.format('m5')}\s+(?P<d5>\d\d?)(?:st|nd|rd|th)?,?\s+(?P<y5>20\d\d))(?!\d)",
    re.IGNORECASE,
)


def find_stale(note: Note, stale_days: int, today: date) -> Iterator[Finding]:
    """One finding per old daily note with open tasks, and one per expired deadline in an evergreen note."""
    written = date_of_note(note.path)
    if written is None:
        yield from _expired_terms(note, today)
    elif (today - written).days > stale_days:
        yield from _open_tasks(note)


def _open_tasks(note: Note) -> Iterator[Finding]:
    lines = [number for number, line in enumerate(note.lines, 1) if _OPEN.search(line) and not _DONE.match(line)]
    if lines:
        many = "an open task" if len(lines) == 1 else f"{len(lines)} open tasks"
        action = f"{many} in an old note: do it, move it to a current note, or tick it off"
        others = tuple(NoteLines(note.path, line, line) for line in lines[1:])
        yield Finding(STALE, NoteLines(note.path, lines[0], lines[0]), note.excerpt(lines[0], lines[0]), action, others)


def _expired_terms(note: Note, today: date) -> Iterator[Finding]:
    for number, line in enumerate(note.lines, 1):
        if "20" not in line or _DONE.match(line):
            continue
        ends = list(_terms(line))
        # A line that also names a later date has been updated.
        if ends and max(ends) < today:
            action = f"ended on {max(ends).isoformat()}: update it, or move it to a daily note"
            yield Finding(STALE, NoteLines(note.path, number, number), note.excerpt(number, number), action)


def _terms(line: str) -> Iterator[date]:
    for match in _DATE.finditer(line):
        before, after = line[: match.start()], line[match.end() :]
        if not (_TERM.search(before) or _AFTER.match(after)) or _PAST_TENSE.search(before):
            continue
        day = _day(match)
        if day is not None:
            yield day


def _day(match: re.Match[str]) -> date | None:
    form = next(form for form in "12345" if match[f"y{form}"])
    month = match[f"m{form}"]
    try:
        number = int(month) if month.isdigit() else _MONTHS.index(month.lower()) + 1
        return date(int(match[f"y{form}"]), number, int(match[f"d{form}"]))
    except ValueError:
        return None
