"""Which writing systems a text is in: a model that never saw one gives vectors that say nothing."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from functools import lru_cache

_NAMES = {"CJK": "HAN", "FULLWIDTH": "LATIN", "HALFWIDTH": "KATAKANA", "MATHEMATICAL": "LATIN"}
"""First words of Unicode names that are no names of scripts."""
_LOOKED_AT = 2000


@lru_cache(maxsize=4096)
def script_of(character: str) -> str:
    """The script of a letter, as Unicode names it: LATIN, HAN, HIRAGANA, CYRILLIC, …"""
    first = unicodedata.name(character, "").split(" ")[0]
    return _NAMES.get(first, first)


def is_foreign(text: str, known: Collection[str] | None) -> bool:
    """Whether most letters are of scripts that are not known; None knows all."""
    if known is None:
        return False
    letters = [character for character in text[:_LOOKED_AT] if character.isalpha()]
    return sum(script_of(letter) in known for letter in letters) * 2 < len(letters)
