"""Dates in a query ("on 9 December 2023", "in May", "last week"), and a day's closeness to them.

Most queries contain no date; a cheap test decides which patterns are worth compiling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

_MONTH_NAMES = """
januar februar märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
jan feb mar apr may jun jul aug sep oct nov dec
january february march april may june july august september october november december
"""
_MONTHS = {name: number for names in _MONTH_NAMES.strip().splitlines() for number, name in enumerate(names.split(), 1)}
_MONTHS["sept"] = 9
_ENGLISH = _MONTH_NAMES.strip().rpartition("\n")[2].replace(" ", "|")
_DAYS_BACK = {
    "today": 0, "今天": 0, "今日": 0, "오늘": 0, "yesterday": 1, "昨天": 1, "昨日": 1, "어제": 1,
    "the day before yesterday": 2, "前天": 2, "一昨日": 2, "그저께": 2,
}  # fmt: skip
_LAST_WEEK = ("上周", "上週", "先週", "지난주")
_LAST_MONTH = ("上个月", "上個月", "先月", "지난달")
_FROM_TODAY = ("ago", "last", "this", "past", "today", "yesterday")
_FROM_TODAY_UNSPACED = (*(word for word in _DAYS_BACK if not word.isascii()), *_LAST_WEEK, *_LAST_MONTH)
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

_NAME = "(?P<name>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
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
    # "may" and "march" are also plain words: a bare month needs a preposition.
    rf"(?<!\w)(?:in|during|since|until|by|early|late|mid)[ -](?P<name>{_ENGLISH})(?!\w)",
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
"""Notes are written after the fact; each week of delay halves the likelihood."""

_ISO_DATE = r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)"


@dataclass(frozen=True, slots=True)
class DateRange:
    """The days a query asks for; of any year if it names none."""

    first: date
    last: date
    every_year: bool = False

    def closeness(self, day: date) -> float:
        """Return 1 within the range, decaying after it, 0 before it."""
        if not self.every_year:
            return _closeness(self.first, self.last, day)
        years = (day.year, day.year - 1)
        return max(_closeness(_in_year(self.first, year), _in_year(self.last, year), day) for year in years)


def _closeness(first: date, last: date, day: date) -> float:
    if day < first:
        return 0.0
    return float(0.5 ** (max(0, (day - last).days) / _HALF_LIFE_DAYS))


def _fold_case(text: str) -> str:
    """Fold case as `re.IGNORECASE` does: "ſ" matches s, "ı" and "İ" match i."""
    return text.casefold().replace("ı", "i").replace("\u0307", "")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _possible(query: str) -> tuple[list[re.Pattern[str]], list[re.Pattern[str]]]:
    """Return the absolute and relative patterns that can match, judged by required substrings."""
    folded = _fold_case(query)
    words = set("".join([each if each.isalnum() or each == "_" else " " for each in folded]).split())
    digit = any(map(str.isdecimal, query))
    year = digit and ("19" in folded or "20" in folded)
    month = not words.isdisjoint(_MONTHS)
    unspaced = digit and any(sign in folded for sign in "年년月월")
    needs = (year, unspaced, unspaced, digit and month, digit and month, year and month, month, year)
    absolute = [_compiled(each) for each, need in zip(_ABSOLUTE, needs, strict=True) if need]
    relative = not words.isdisjoint(_FROM_TODAY) or any(word in folded for word in _FROM_TODAY_UNSPACED)
    return absolute, [_compiled(_RELATIVE)] if relative else []


def find_dates(query: str, today: date) -> tuple[tuple[DateRange, ...], str]:
    """Return the dates in a query, and the query without them.

    Relative dates ("last week") are ignored next to an absolute one: in "what happened last week, as told on
    6 November" they are relative to that day.
    """
    found: list[DateRange] = []
    rest = query
    absolute, relative = _possible(query)
    for pattern in absolute:
        for match in pattern.finditer(rest):
            asked = _absolute(match)
            if asked is not None:
                found.append(asked)
                rest = _without(rest, match)
    if not found:
        for match in (match for pattern in relative for match in pattern.finditer(rest)):
            asked = _relative(today, match)
            if asked is not None:
                found.append(asked)
                rest = _without(rest, match)
    return tuple(found), rest


def _without(text: str, match: re.Match[str]) -> str:
    """Blank out a match, keeping the offsets of the others."""
    return text[: match.start()] + " " * (match.end() - match.start()) + text[match.end() :]


def _absolute(match: re.Match[str]) -> DateRange | None:
    parts = match.groupdict()
    name, year = parts.get("name"), parts.get("year")
    month = _MONTHS[_fold_case(name)] if name else int(parts.get("month") or 0)
    day = int(parts.get("day") or 0)
    try:
        if year is None:
            # 2000 was a leap year.
            first, last = _month(2000, month) if not day else (date(2000, month, day), date(2000, month, day))
            return DateRange(first, last, every_year=True)
        if not month:
            return DateRange(date(int(year), 1, 1), date(int(year), 12, 31))
        if not day:
            return DateRange(*_month(int(year), month))
        return DateRange(date(int(year), month, day), date(int(year), month, day))
    except ValueError:  # 31 June
        return None


def _relative(today: date, match: re.Match[str]) -> DateRange | None:
    """Resolve a relative date; None if it is out of range."""
    try:
        return _relative_to(today, match)
    except (OverflowError, ValueError):
        return None


def _relative_to(today: date, match: re.Match[str]) -> DateRange | None:
    near = _fold_case(match["near"] or match["other"] or "")
    if near in _DAYS_BACK:
        day = today - timedelta(days=_DAYS_BACK[near])
        return DateRange(day, day)
    if match["ago"]:
        return _ago(today, _NUMBERS.get(_fold_case(match["ago"])) or int(match["ago"]), _fold_case(match["unit"]))
    span = _fold_case(match["span"] or ("week" if near in _LAST_WEEK else "month"))
    back = 0 if _fold_case(match["which"] or "last") == "this" else 1
    if span in _WEEKDAYS:
        day = today - timedelta(days=(today.weekday() - _WEEKDAYS.index(span)) % 7 or 7 * back)
        return DateRange(day, day)
    if span == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return DateRange(monday, monday + timedelta(days=6))
    if span == "weekend":
        saturday = today - timedelta(days=(today.weekday() - 5) % 7)
        return DateRange(saturday, saturday + timedelta(days=1))
    if span == "month":
        months = today.year * 12 + today.month - 1 - back
        return DateRange(*_month(months // 12, months % 12 + 1))
    return DateRange(date(today.year - back, 1, 1), date(today.year - back, 12, 31))


def _ago(today: date, count: int, unit: str) -> DateRange | None:
    """Approximate: "two weeks ago" is some day around then."""
    length = {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
    if count * length >= today.toordinal() - length:
        return None
    day = today - timedelta(days=count * length)
    slack = timedelta(days=length // 2)
    return DateRange(day - slack, day + slack)


def _month(year: int, month: int) -> tuple[date, date]:
    first = date(year, month, 1)
    return first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def _in_year(day: date, year: int) -> date:
    try:
        return day.replace(year=year)
    except ValueError:  # 29 February
        return day.replace(year=year, day=28)


def closeness_to_dates(asked: Sequence[DateRange], day: date | None, text: str) -> float:
    """Return a text's closeness to any of the dates, 0 to 1, by its `day`.

    A text without a day is judged by the ISO dates in it, such as log entries.
    """
    if day is not None:
        return max((each.closeness(day) for each in asked), default=0.0)
    inside = (each.closeness(day) == 1.0 for day in _dates_in(text) for each in asked)
    return 1.0 if any(inside) else 0.0


def _dates_in(text: str) -> Iterator[date]:
    for year, month, day in _compiled(_ISO_DATE).findall(text):
        try:
            yield date(int(year), int(month), int(day))
        except ValueError:
            continue
