"""Compounds: `Zahnarzttermin` is found by `Zahnarzt` and by `Termin`, and finds `Termin beim Zahnarzt`.

The only dictionary is the index's vocabulary. For languages that write compounds as one word, an index also stores long
stems reversed: words that start with a term and words that end with it are then two ranges of a sorted vocabulary. The
remainder of such a word must look like a word, not like an ending.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from memslot.retrieval.languages import bare_form, forwards, tagged

_MIN_LETTERS = 4
"""Minimum letters of a part: shorter ones occur in too many unrelated words."""
_LONG = 6
_BEFORE = "zusatz"
"""A placeholder first part: the stemmer may strip an ending from a long word only (Rechnung, Stromrechn-ung)."""
_LINKS = ("", "s", "es", "n", "en", "er", "e", "ens", "o", "u")
# Handlung is not a kind of Hand, and Unternehmen not something taken.
_ENDING = (
    r"(?:(?:l|n|r|d|st|ig|er|ier|isier|el|ler|ner|s)?"
    r"(?:ung|ing|ling|lich|isch|heit|keit|schaft|bar|sam|los|haft|chen|lein|erei|nis|tum|ier|erin|ation|ist|ismus"
    r"|lijk|elijk|heid|schap|baar|loos|achtig|erij|aar|het|hed|lig|else|skap|skab|are|ande|ende|dom|inen|minen|suus|uus|ton|asto|isto)"
    r"(?:ung|keit|heit|heid|het)?(?:s|en|er|e|a)?)"
)
_PREFIXES = frozenset({
    "unter", "uber", "gegen", "wider", "hinter", "durch", "wieder", "zuruck", "nach", "voll",
    "ver", "ent", "zer", "vor", "aus", "auf", "ein", "mit", "weg", "los", "her", "hin", "bei", "abs", "umge", "zuge",
    "ont", "aan", "uit", "bij", "toe", "for", "til", "till", "upp", "opp", "med", "mot",
    "onder", "over", "tegen", "door", "achter", "under", "efter", "etter", "mellan",
})  # fmt: skip


class Part(NamedTuple):
    """A word as part of compounds: its stem as the first part and as the last."""

    first: str
    last: str
    language: str

    @property
    def ranges(self) -> list[tuple[str, str]]:
        """Vocabulary ranges (start, end) that may contain compounds."""
        starts = [each for each in (self.first, self.last[::-1]) if len(each) >= _MIN_LETTERS]
        return [(start, f"{start}\U0010ffff") for start in starts]

    def is_in(self, form: str) -> bool:
        """Whether a vocabulary stem, or a reversed key, is a compound with this part."""
        whole, language = bare_form(form)
        if language != self.language:
            return False
        if forwards(form) == form:
            return whole.startswith(self.first) and _is_last(whole[len(self.first) :])
        return whole.endswith(self.last) and _is_first(whole[: -len(self.last)], self.last)


def part_of(word: str, language: str) -> Part:
    """Build the part for a lower-case word."""
    first, last = (bare_form(tagged(each, language).split()[0])[0] for each in (word, f"{_BEFORE}{word}"))
    return Part(first, last.removeprefix(_BEFORE), language)


def splits(word: str) -> Iterator[tuple[str, str]]:
    """Yield candidate splits of a word, longest first part first, without the linking letters."""
    for place in range(len(word) - _MIN_LETTERS, _MIN_LETTERS - 1, -1):
        first, last = word[:place], word[place:]
        if not _is_last(last):
            continue
        for link in _LINKS:
            if first.endswith(link) and len(first) - len(link) >= _MIN_LETTERS and first not in _PREFIXES:
                yield first.removesuffix(link) if link else first, last


def _is_first(rest: str, last: str) -> bool:
    least = _MIN_LETTERS if len(last) < _LONG else _MIN_LETTERS - 1
    return len(rest) >= least and rest not in _PREFIXES and _vowel().search(rest) is not None


def _is_last(rest: str) -> bool:
    return any(
        rest.startswith(link)
        and len(rest) - len(link) >= _MIN_LETTERS
        and _vowel().search(rest[len(link) :]) is not None
        and not _ending().fullmatch(rest[len(link) :])
        for link in _LINKS
    ) and not _ending().fullmatch(rest)


@cache
def _vowel() -> re.Pattern[str]:
    return re.compile("[aeiouyåäöüøæ]")


@cache
def _ending() -> re.Pattern[str]:
    return re.compile(_ENDING)
