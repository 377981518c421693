"""Dates in a question ("on 9 December 2023", "in May", "last week"), and how near a note is to them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from memslot_memory_core.search.date_words import DAYS_BACK, ENGLISH, LAST_WEEK, MONTHS, fold_case, signs_of_dates

_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

_NAME = "(?P<name>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|º|\.)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_OF = r"(?:\s+(?:of|de|del|di))?"
_ABSOLUTE = (
    rf"(?<!\d){_YEAR}[-/.](?P<month>\d\d?)[-/.](?P<day>\d\d?)(?!\d)",
    rf"(?<!\d){_YEAR}\s*[年년]\s*(?:(?P<month>\d\d?)\s*[月월]\s*(?:(?P<day>\d\d?)\s*[日号號일])?)?",
    r"(?<!\d)(?P<month>1?\d)\s*[月월]\s*(?:(?P<day>[0-3]?\d)\s*[日号號일])?",
    rf"(?<!\w){_DAY}{_OF}\s+{_NAME}(?:,?{_OF}\s*{_YEAR}(?!\d))?",
    rf"(?<!\w){_NAME}\s+{_DAY}(?!\w)(?:,?\s*{_YEAR}(?!\d))?",
    rf"(?<!\w){_NAME},?{_OF}\s*{_YEAR}(?!\d)",
    # "may" and "march" are words, too: a month alone needs something before it.
    rf"(?<!\w)(?:in|during|since|until|by|early|late|mid)[ -](?P<name>{ENGLISH})(?!\w)",
    rf"(?<!\w)(?:in|during|since|of|year|summer|winter|spring|autumn|fall)\s+{_YEAR}(?!\d)",
)
_RELATIVE = (
    r"(?<!\w)(?:(?P<ago>\d{1,3}|an?|two|three|four|five|six)\s+(?P<unit>day|week|month|year)s?\s+ago"
    r"|(?P<which>last|this|past)\s+(?P<span>week(?:end)?|month|year|" + "|".join(_WEEKDAYS) + ")"
    r"|(?P<near>today|yesterday|the day before yesterday))(?!\w)"
    r"|(?P<other>今天|今日|昨天|昨日|前天|一昨日|오늘|어제|그저께|上周|上週|先週|지난주|上个月|上個月|先月|지난달)"
)
_NUMBERS = {"a": 1, "an": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_HALF_LIFE_DAYS = 7.0
"""A note tells of what happened on days before it; each week later makes that half as likely."""

_WRITTEN_OUT = r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)"


@dataclass(frozen=True, slots=True)
class AskedDate:
    """The days a question asks about; without a year, those days of any year."""

    first: date
    last: date
    every_year: bool = False

    def closeness(self, day: date) -> float:
        """1 for a note of these days, less for later ones, 0 for earlier ones."""
        if not self.every_year:
            return _closeness(self.first, self.last, day)
        years = (day.year, day.year - 1)
        return max(_closeness(_in_year(self.first, year), _in_year(self.last, year), day) for year in years)


def _closeness(first: date, last: date, day: date) -> float:
    if day < first:
        return 0.0
    return float(0.5 ** (max(0, (day - last).days) / _HALF_LIFE_DAYS))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _possible(query: str) -> tuple[list[re.Pattern[str]], list[re.Pattern[str]]]:
    """The patterns of dates written out, and of those told from today, that can match at all."""
    digit, year, month, unspaced, from_today = signs_of_dates(query)
    needs = (year, unspaced, unspaced, digit and month, digit and month, year and month, month, year)
    written_out = [_compiled(each) for each, need in zip(_ABSOLUTE, needs, strict=True) if need]
    return written_out, [_compiled(_RELATIVE)] if from_today else []


def find_dates(query: str, today: date) -> tuple[tuple[AskedDate, ...], str]:
    """The dates that a question names, and the question without them.

    What is told from today ("last week") counts only where no date is written out: in "what happened last week, as
    told on 6 November" it belongs to that day.
    """
    found: list[AskedDate] = []
    rest = query
    written_out, relative = _possible(query)
    for pattern in written_out:
        for match in pattern.finditer(rest):
            asked = _written_out(match)
            if asked is not None:
                found.append(asked)
                rest = _without(rest, match)
    if not found:
        for match in (match for pattern in relative for match in pattern.finditer(rest)):
            asked = _told_from(today, match)
            if asked is not None:
                found.append(asked)
                rest = _without(rest, match)
    return tuple(found), rest


def _without(text: str, match: re.Match[str]) -> str:
    """The text with blanks in place of the match, so that other matches stay where they are."""
    return text[: match.start()] + " " * (match.end() - match.start()) + text[match.end() :]


def _written_out(match: re.Match[str]) -> AskedDate | None:
    parts = match.groupdict()
    name, year = parts.get("name"), parts.get("year")
    month = MONTHS[fold_case(name)] if name else int(parts.get("month") or 0)
    day = int(parts.get("day") or 0)
    try:
        if year is None:
            # 2000 had a 29 February.
            first, last = _month(2000, month) if not day else (date(2000, month, day), date(2000, month, day))
            return AskedDate(first, last, every_year=True)
        if not month:
            return AskedDate(date(int(year), 1, 1), date(int(year), 12, 31))
        if not day:
            return AskedDate(*_month(int(year), month))
        return AskedDate(date(int(year), month, day), date(int(year), month, day))
    except ValueError:  # 31 June
        return None


def _told_from(today: date, match: re.Match[str]) -> AskedDate | None:
    """The time meant, seen from today; None where the calendar has no such day."""
    try:
        return _seen_from(today, match)
    except (OverflowError, ValueError):
        return None


def _seen_from(today: date, match: re.Match[str]) -> AskedDate | None:
    near = fold_case(match["near"] or match["other"] or "")
    if near in DAYS_BACK:
        day = today - timedelta(days=DAYS_BACK[near])
        return AskedDate(day, day)
    if match["ago"]:
        return _ago(today, _NUMBERS.get(fold_case(match["ago"])) or int(match["ago"]), fold_case(match["unit"]))
    span = fold_case(match["span"] or ("week" if near in LAST_WEEK else "month"))
    back = 0 if fold_case(match["which"] or "last") == "this" else 1
    if span in _WEEKDAYS:
        day = today - timedelta(days=(today.weekday() - _WEEKDAYS.index(span)) % 7 or 7 * back)
        return AskedDate(day, day)
    if span == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return AskedDate(monday, monday + timedelta(days=6))
    if span == "weekend":
        saturday = today - timedelta(days=(today.weekday() - 5) % 7)
        return AskedDate(saturday, saturday + timedelta(days=1))
    if span == "month":
        months = today.year * 12 + today.month - 1 - back
        return AskedDate(*_month(months // 12, months % 12 + 1))
    return AskedDate(date(today.year - back, 1, 1), date(today.year - back, 12, 31))


def _ago(today: date, count: int, unit: str) -> AskedDate | None:
    """Rough, as people are: two weeks ago is some day around then."""
    length = {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
    if count * length >= today.toordinal() - length:
        return None
    day = today - timedelta(days=count * length)
    slack = timedelta(days=length // 2)
    return AskedDate(day - slack, day + slack)


def _month(year: int, month: int) -> tuple[date, date]:
    first = date(year, month, 1)
    return first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def _in_year(day: date, year: int) -> date:
    try:
        return day.replace(year=year)
    except ValueError:  # 29 February
        return day.replace(year=year, day=28)


def closeness_to_dates(asked: Sequence[AskedDate], day: date | None, text: str) -> float:
    """How near a chunk is to any of the dates asked for: 0 to 1.

    A chunk that has no date of its own counts by the dates in its text: entries of a log in one long file.
    """
    if day is not None:
        return max((each.closeness(day) for each in asked), default=0.0)
    inside = (each.closeness(day) == 1.0 for day in _dates_in(text) for each in asked)
    return 1.0 if any(inside) else 0.0


def _dates_in(text: str) -> Iterator[date]:
    for year, month, day in _compiled(_WRITTEN_OUT).findall(text):
        try:
            yield date(int(year), int(month), int(day))
        except ValueError:
            continue
