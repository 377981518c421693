"""The words that dates are written with, and a look whether a question has any: most have none.

To compile the patterns of `dates`, or only to import what they need, takes longer than a search.
"""

from __future__ import annotations

from typing import NamedTuple

_MONTH_NAMES = """
januar februar märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
jan feb mar apr may jun jul aug sep oct nov dec
january february march april may june july august september october november december
"""
MONTHS = {name: number for names in _MONTH_NAMES.strip().splitlines() for number, name in enumerate(names.split(), 1)}
MONTHS["sept"] = 9
ENGLISH = _MONTH_NAMES.strip().rpartition("\n")[2].replace(" ", "|")
DAYS_BACK = {
    "today": 0, "今天": 0, "今日": 0, "오늘": 0, "yesterday": 1, "昨天": 1, "昨日": 1, "어제": 1,
    "the day before yesterday": 2, "前天": 2, "一昨日": 2, "그저께": 2,
}  # fmt: skip
LAST_WEEK = ("上周", "上週", "先週", "지난주")
LAST_MONTH = ("上个月", "上個月", "先月", "지난달")
_FROM_TODAY = ("ago", "last", "this", "past", "today", "yesterday")
_FROM_TODAY_UNSPACED = (*(word for word in DAYS_BACK if not word.isascii()), *LAST_WEEK, *LAST_MONTH)


class Signs(NamedTuple):
    """What a question has that a date cannot do without."""

    digit: bool
    year: bool
    month: bool
    unspaced: bool
    from_today: bool

    @property
    def may_be_a_date(self) -> bool:
        return self.year or self.month or self.unspaced or self.from_today


def signs_of_dates(query: str) -> Signs:
    """Look for them."""
    folded = fold_case(query)
    digit = any(map(str.isdecimal, query))
    words = set("".join([each if each.isalnum() or each == "_" else " " for each in folded]).split())
    return Signs(
        digit,
        year=digit and ("19" in folded or "20" in folded),
        month=not words.isdisjoint(MONTHS),
        unspaced=digit and any(sign in folded for sign in "年년月월"),
        from_today=not words.isdisjoint(_FROM_TODAY) or any(word in folded for word in _FROM_TODAY_UNSPACED),
    )


def fold_case(text: str) -> str:
    """A text in lower case as patterns that ignore case see it: to them "ſ" is an s, too, and "ı" and "İ" an i."""
    return text.casefold().replace("ı", "i").replace("\u0307", "")
