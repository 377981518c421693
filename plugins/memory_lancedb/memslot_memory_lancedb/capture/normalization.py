"""Text normalization: undoes disguises such as accents, homoglyphs, digits for letters, and gaps."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_MARKS = re.compile("[\u0300-\u036f\u20d0-\u20f0]+")
# Invisible characters; `has_hidden_text` decides which uses are legitimate.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'"})

# Cyrillic, Greek and a few other letters that look Latin, after folding: lower case, no accents.
_HOMOGLYPHS = str.maketrans(
    dict(zip("аеорсухіјѕԁһӏкмтвнԛԝɡɩαεοιρκντυχγωɑ", "aeopcyxijsdhlkmtbhqwgiaeoipkvtuxywa", strict=True))
)
_TWO_SCRIPTS = re.compile("[a-z][\u0370-\u052f\u0250-\u02af]|[\u0370-\u052f\u0250-\u02af][a-z]|(?<=[a-z] )[аоα] ")
_DIGIT_LETTER = str.maketrans("013457@$!", "oieastasi")
_LEET = re.compile(r"[a-z][013457@$]|[013457@$][a-z]")
_SPACED = re.compile(r"(?<![^\W_])([^\W\d_])([ .\-_*·|/]{1,3})(?:[^\W\d_]\2)+[^\W\d_](?![^\W_])")
_GAP_IN_WORD = re.compile(r"(?<=[^\W\d_])[_\-.*·|](?=[^\W\d_])")

_URL = re.compile(r"(?:https?://|www\.)\S+")
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
_HOST = re.compile(
    r"(?<![\w-])(?:[\w-]{1,63}\.){1,3}(?:com|net|org|io|dev|app|xyz|ru|cn|info|co|me|ai|site|online|top|example|test)\b"
)
ADDRESS = "\x00"


def fold(text: str) -> str:
    """Fold a text: lower case, no compatibility forms or accents, composed Hangul and kana."""
    if text.isascii():
        return text.lower().translate(_APOSTROPHES)
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", plain).casefold().translate(_APOSTROPHES)


def strip_invisible(text: str) -> str:
    """The text without its invisible characters."""
    return text if text.isascii() else INVISIBLE.sub("", text)


def without_addresses(folded: str) -> str:
    """The folded text with a placeholder for each URL, e-mail address and host name."""
    folded = folded.replace(ADDRESS, " ")
    if "://" in folded or "www." in folded:
        folded = _URL.sub(ADDRESS, folded)
    if "@" in folded:
        folded = _MAIL.sub(ADDRESS, folded)
    return _HOST.sub(ADDRESS, folded) if "." in folded else folded


def readings(folded: str, words: frozenset[str]) -> Iterator[str]:
    """Alternative readings of a folded text, if they differ; `words` help to split run-together letters."""
    latin = folded
    if not folded.isascii() and _TWO_SCRIPTS.search(folded):
        latin = folded.translate(_HOMOGLYPHS)
    if _LEET.search(latin):
        latin = latin.translate(_DIGIT_LETTER)
    if latin != folded:
        yield latin
    joined = _SPACED.sub(lambda run: _cut(run[0].replace(run[2], ""), words), latin)
    joined = _GAP_IN_WORD.sub("", joined)
    if joined != latin:
        yield joined


def _cut(letters: str, words: frozenset[str]) -> str:
    """Split run-together letters into known words, longest first; unknown letters stay together."""
    if letters in words or len(letters) < 9:
        return letters
    found: list[str] = []
    unknown, place = "", 0
    while place < len(letters):
        for length in range(min(16, len(letters) - place), 2, -1):
            if letters[place : place + length] in words:
                found += [unknown] if unknown else []
                found.append(letters[place : place + length])
                unknown, place = "", place + length
                break
        else:
            unknown += letters[place]
            place += 1
    return " ".join([*found, unknown] if unknown else found)
