"""Writing systems: folding of equivalent characters, and n-grams for scripts without spaces.

Patterns are compiled on first use: compiling takes as long as a search, and plain English needs none of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from unicodedata import normalize

_HAN = (
    "\u2f00-\u2fd5\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f\u31a0-\u31bf\u31f0-\u31ff\U0001aff0-\U0001b16f"
_HANGUL = "\u1100-\u115f\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3"
_SOUTH_EAST = (  # Thai, Lao, Khmer, Myanmar
    "\u0e01-\u0e30\u0e32-\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2-\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"
    "\u1780-\u17b3\u17d7\u17dc\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065-\u1066\u106e-\u1070"
    "\u1075-\u1081\u108e\ua9e0-\ua9fe\uaa60-\uaa7a"
)
# Combining signs. Kana voicing marks and trailing Hangul jamo are included for what NFKC can't compose.
SIGNS = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u17b4-\u17d3\u17dd"
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d"
    "\u3099\u309a\u302a-\u302f\u1160-\u11ff\ud7b0-\ud7fb"
)

_SCRIPTS = {
    "latin": "A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02b8\u1e00-\u1eff\u2c60-\u2c7f\ua722-\ua7ff",
    "han": _HAN,
    "kana": _KANA,
    "hangul": _HANGUL,
    "cyrillic": "\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "arabic": "\u0600-\u06ff\u0750-\u077f\u0870-\u08ff\ufb50-\ufdff\ufe70-\ufeff",
    "hebrew": "\u0590-\u05ff\ufb1d-\ufb4f",
    "indic": "\u0900-\u0dff",
    "thai": "\u0e00-\u0e7f",
    "lao": "\u0e80-\u0eff",
    "khmer": "\u1780-\u17ff",
    "myanmar": "\u1000-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f",
    "armenian": "\u0530-\u058f",
    "georgian": "\u10a0-\u10ff\u1c90-\u1cbf",
    "ethiopic": "\u1200-\u139f",
}
# Equivalent to a reader, but not to NFKC, which is applied first, nor to SQLite's unicode61.
_SAME = {
    "ß": "ss", "ẞ": "ss", "æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe", "ø": "o", "Ø": "o", "ł": "l", "Ł": "l",
    "đ": "d", "Đ": "d", "ё": "е", "Ё": "Е", "ґ": "г", "Ґ": "Г",
    "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه",
    "\u200b": " ", "’": "'",
}  # fmt: skip
_DIGITS = (0x0660, 0x06F0, 0x0966, 0x09E6, 0x0E50, 0x0ED0, 0x17E0, 0x1040)  # the zeros of other scripts' digits
# Optional marks: vowel points, tatweel, joiners, bidi controls, variation selectors.
_DROPPED = (
    (0x00AD, 0x00AD), (0x0300, 0x036F), (0x0483, 0x0487), (0x0591, 0x05BD), (0x05BF, 0x05BF), (0x05C1, 0x05C2),
    (0x05C4, 0x05C5), (0x05C7, 0x05C7), (0x0610, 0x061A), (0x061C, 0x061C), (0x0640, 0x0640), (0x064B, 0x065F),
    (0x0670, 0x0670), (0x06D6, 0x06DC), (0x06DF, 0x06E8), (0x06EA, 0x06ED), (0x180B, 0x180D), (0x200C, 0x200F),
    (0x202A, 0x202E), (0x2060, 0x2060), (0x2066, 0x2069), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xE0100, 0xE01EF),
)  # fmt: skip
_GREEK = ((0x0386, 0x03CE), (0x1F00, 0x1FFC))
# Okurigana: the first kana after a kanji inflects (使う 使った, 読む 読んだ). Kana that share a form (聞いた 買いたい,
# 買った 立った 売った) are mapped to one. Kana that are particles as well (は が も) stay.
_ENDINGS = {
    letter: row[0]
    for row in ("いうえおわきくけこぎぐげごちつっらりるれろ", "むみめまんびぶべばぼぬ", "すしせそ")
    for letter in row
}
_LONE_SURROGATES = (0xD800, 0xDFFF)  # possible in argv, invalid in UTF-8


@cache
def unspaced() -> re.Pattern[str]:
    """A run of letters of a script without spaces between words, or with agglutinated particles (Korean)."""
    return re.compile(f"[{_HAN}{_KANA}{_HANGUL}{_SOUTH_EAST}{SIGNS}]+")


@cache
def _rising() -> re.Pattern[str]:
    # In a run, a letter other than kana is a kanji; a class of all kanji takes a millisecond to compile.
    return re.compile("(?<=[^ぁ-ヿ])が(?=[らりるれろっ])")


@cache
def _sign() -> re.Pattern[str]:
    return re.compile(f"[{SIGNS}]")


@cache
def _unit() -> re.Pattern[str]:
    return re.compile(f"[^{SIGNS}][{SIGNS}]*|[{SIGNS}]+")


@cache
def _script() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>[{letters}])" for name, letters in _SCRIPTS.items()))


@cache
def _folded() -> re.Pattern[str]:
    ranges = (*_DROPPED, *_GREEK, _LONE_SURROGATES, *((zero, zero + 9) for zero in _DIGITS))
    return re.compile(f"[{''.join(_SAME)}{''.join(f'{chr(first)}-{chr(last)}' for first, last in ranges)}]")


@cache
def _folds() -> dict[int, str | None]:
    folds: dict[int, str | None] = {ord(letter): other for letter, other in _SAME.items()}
    # `remove_diacritics` leaves Greek accents: map each letter to its base.
    folds |= {code: normalize("NFD", chr(code))[0] for first, last in _GREEK for code in range(first, last + 1)}
    folds |= {zero + digit: str(digit) for zero in _DIGITS for digit in range(10)}
    folds |= {code: None for first, last in _DROPPED for code in range(first, last + 1)}
    return folds | dict.fromkeys(range(_LONE_SURROGATES[0], _LONE_SURROGATES[1] + 1), " ")


def fold(text: str, *, keep_dotless: bool = False) -> str:
    """Fold equivalent characters: widths, ligatures, vowel points, digits. Case and diacritics are kept.

    A Turkish stemmer distinguishes `ı` from `i`: `keep_dotless` preserves it.
    """
    if text.isascii():
        return text
    text = normalize("NFKC", text)
    text = _folded().sub(_fold_letter, text)
    return text if keep_dotless else text.replace("ı", "i")


def _fold_letter(found: re.Match[str]) -> str:
    return _folds()[ord(found[0])] or ""


def units(run: str) -> Sequence[str]:
    """Split an unspaced run into letters, each with its combining signs."""
    return _unit().findall(run) if _sign().search(run) else run


def respell(run: str) -> str:
    """Rewrite a が that is part of a verb, not a particle: 上がる is a form of 上げる."""
    return _rising().sub("げ", run) if "が" in run else run


def pair_of(letter: str, following: str) -> str:
    """Return the bigram of two adjacent letters; a kanji with okurigana has one spelling for all verb forms."""
    if following in _ENDINGS and script_of(letter) == "han":
        return letter + _ENDINGS[following]
    return letter + following


def spread(run: str) -> str:
    """Spread an unspaced run into space-separated unigrams and bigrams."""
    letters = units(respell(run))
    words = [word for letter, following in pairwise(letters) for word in (letter, pair_of(letter, following))]
    words.append(letters[-1])
    return f" {' '.join(words)} "


def script_of(word: str) -> str:
    """Return the script of a word's first letter: `latin`, `han`, …; `number` for digits only, else `other`."""
    if word.isascii():
        return "number" if word.isdigit() else "latin" if word.isalnum() else "other"
    found = _script().search(word)
    if found is not None and found.lastgroup is not None:
        return found.lastgroup
    return "number" if any(character.isdigit() for character in word) else "other"
