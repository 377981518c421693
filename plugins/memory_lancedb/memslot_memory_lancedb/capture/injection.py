"""Prompt injection: whether a text tries to instruct a model that will read it later as a memory."""

from __future__ import annotations

import html
import re
import unicodedata

from memslot_memory_lancedb.capture.encoded_text import decoded_sentences, rot13
from memslot_memory_lancedb.capture.instructions import find_instruction
from memslot_memory_lancedb.capture.instructions_cjk import find_instruction_cjk
from memslot_memory_lancedb.capture.lexicon import KNOWN, TELLING
from memslot_memory_lancedb.capture.markup_injection import find_markup_injection
from memslot_memory_lancedb.capture.normalization import INVISIBLE, fold, readings, strip_invisible

# Nothing worth remembering is this long, and unchecked text is not trusted.
LONGEST = 100_000
REASONS = {
    "oversized": "It is too long to be checked.",
    "hidden-text": "It contains invisible characters that hide text.",
    "role-tag": "It impersonates another speaker in the conversation.",
    "tool-call": "It asks for a tool or a command to be run.",
    "html": "It contains HTML that runs or hides something.",
    "delimiter": "It fakes the end of its context or the start of a system message.",
    "link": "It contains a link that is misleading or exfiltrates data.",
    "override": "It asks to ignore earlier instructions.",
    "leak": "It asks for the model's instructions.",
    "persona": "It asks the model to drop its limits.",
    "exfiltration": "It asks to exfiltrate data, to deceive the user, or to give fixed answers.",
    "encoded": "It contains encoded sentences.",
    "obfuscated": "It obfuscates instructions to evade people or filters.",
}
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|#\d{1,6}|#x[0-9a-f]{1,6});", re.IGNORECASE)
_ROT13 = frozenset(rot13(word) for word in TELLING)
_BACKWARDS = frozenset(word[::-1] for word in TELLING)
_LATIN_WORD = re.compile(r"[a-z]{6,}")


def looks_like_injection(text: str) -> str | None:
    """The id of the violated rule (a key of `REASONS`), or None if the text seems harmless."""
    if len(text) > LONGEST:
        return "oversized"
    if has_hidden_text(text):
        return "hidden-text"
    shown = strip_invisible(text)
    if _ENTITY.search(shown):
        shown = html.unescape(shown)
    folded = fold(shown)
    found = find_markup_injection(shown, folded) or find_instruction(folded) or find_instruction_cjk(folded)
    if found is not None:
        return found
    if next(decoded_sentences(shown), None) is not None:
        return "encoded"
    for reading in readings(folded, KNOWN):
        if find_instruction(reading) or find_instruction_cjk(reading):
            return "obfuscated"
    return _reversed_orders(folded)


def _reversed_orders(folded: str) -> str | None:
    """Instructions in rot13 or reversed; checked only if the decoded words are words."""
    words = set(_LATIN_WORD.findall(folded))
    if words & _ROT13 and find_instruction(rot13(folded)):
        return "encoded"
    if words & _BACKWARDS and find_instruction(folded[::-1]):
        return "obfuscated"
    return None


# Only the flags of England, Scotland and Wales use tag characters.
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,6}\U000e007f")
_TAG = re.compile("[\U000e0000-\U000e007f]")
_DIRECTION_OVERRIDE = re.compile("[\u202d\u202e]")
_SELECTOR_RUN = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}")
# An ideographic variant is one such selector after a Han character.
_SELECTOR_ASTRAY = re.compile("(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af])[\U000e0100-\U000e01ef]")
_UNSEEN_RUN = re.compile("[\u115f\u1160\u180e\u200b-\u200d\u2060-\u2064\u2800\u3164\ufeff\uffa0]{3}")
_INSIDE_WORD = re.compile("(?<=[^\\W\\d_])[\u200b-\u200d\u2060-\u2064\ufeff](?=[^\\W\\d_])")
_MAX_INSIDE_WORDS = 2

# These scripts don't use joiners or zero-width spaces.
_NEEDS_NONE = ("LATIN", "CYRILLIC", "GREEK", "CJK", "HIRAGANA", "KATAKANA", "HANGUL")


def has_hidden_text(text: str) -> bool:
    """Whether a text contains characters that hide text from its reader."""
    if text.isascii() or not INVISIBLE.search(text):
        return False
    if _TAG.search(_FLAG.sub("", text)):
        return True
    if any(p.search(text) for p in (_DIRECTION_OVERRIDE, _SELECTOR_RUN, _SELECTOR_ASTRAY, _UNSEEN_RUN)):
        return True
    return _splits_words(text)


def _splits_words(text: str) -> bool:
    """Whether joiners split words of a script that doesn't use them, more often than a careless paste would."""
    count = 0
    for cut in _INSIDE_WORD.finditer(text):
        if unicodedata.name(text[cut.start() - 1], "").startswith(_NEEDS_NONE):
            count += 1
            if count > _MAX_INSIDE_WORDS:
                return True
    return False
