"""Text that people cannot see and models can: told apart from the invisible characters that scripts and emoji need."""

from __future__ import annotations

import re
import unicodedata

from memslot_memory_lancedb.capture.reading import INVISIBLE

# The flags of England, Scotland and Wales are spelled with tag characters, and nothing else is.
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f")
_TAG = re.compile("[\U000e0000-\U000e007f]")
_DIRECTION_OVERRIDE = re.compile("[\u202d\u202e]")
_SELECTOR_RUN = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}")
# A variant of an ideograph is one such selector after a Han character.
_SELECTOR_ASTRAY = re.compile("(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af])[\U000e0100-\U000e01ef]")
_UNSEEN_RUN = re.compile("[\u115f\u1160\u180e\u200b-\u200d\u2060-\u2064\u2800\u3164\ufeff\uffa0]{3}")
_INSIDE_WORD = re.compile("(?<=[^\\W\\d_])[\u200b-\u200d\u2060-\u2064\ufeff](?=[^\\W\\d_])")
_MOST_INSIDE_WORDS = 2

# These scripts have no use for joiners or for spaces of no width.
_NEEDS_NONE = ("LATIN", "CYRILLIC", "GREEK", "CJK", "HIRAGANA", "KATAKANA", "HANGUL")


def hidden_text(text: str) -> bool:
    """Whether a text carries characters that hide something from its reader."""
    if text.isascii() or not INVISIBLE.search(text):
        return False
    if _TAG.search(_FLAG.sub("", text)):
        return True
    if any(p.search(text) for p in (_DIRECTION_OVERRIDE, _SELECTOR_RUN, _SELECTOR_ASTRAY, _UNSEEN_RUN)):
        return True
    return _splits_words(text)


def _splits_words(text: str) -> bool:
    """Whether words of a script that needs no joiners are cut by them more often than a careless paste would."""
    count = 0
    for cut in _INSIDE_WORD.finditer(text):
        if unicodedata.name(text[cut.start() - 1], "").startswith(_NEEDS_NONE):
            count += 1
            if count > _MOST_INSIDE_WORDS:
                return True
    return False
