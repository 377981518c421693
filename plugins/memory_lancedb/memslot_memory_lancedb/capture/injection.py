"""Whether a text tries to give orders to a model that will read it later as a memory."""

from __future__ import annotations

import html
import re

from memslot_memory_lancedb.capture.encoded import decoded_sentences, rot13
from memslot_memory_lancedb.capture.hidden_text import hidden_text
from memslot_memory_lancedb.capture.lexicon import KNOWN, TELLING
from memslot_memory_lancedb.capture.markup_tricks import trick_in
from memslot_memory_lancedb.capture.orders import order_in
from memslot_memory_lancedb.capture.orders_cjk import order_in_cjk
from memslot_memory_lancedb.capture.reading import fold, readings, show

# Nothing worth remembering is this long, and what is not looked through is not trusted.
LONGEST = 100_000
REASONS = {
    "oversized": "It is too long to be looked through.",
    "hidden-text": "It carries characters that hide text from people.",
    "role-tag": "It pretends to be another speaker of the conversation.",
    "tool-call": "It asks for a tool or a command to be run.",
    "html": "It carries HTML that runs or hides something.",
    "delimiter": "It pretends that its surroundings end or that a system text begins.",
    "link": "It carries a link that misleads or takes data away.",
    "override": "It asks to set earlier instructions aside.",
    "leak": "It asks for the instructions of the model.",
    "persona": "It asks the model to be something without limits.",
    "exfiltration": "It asks for data to be sent away, for secrecy from the user, or for fixed answers.",
    "encoded": "It hides sentences in a code.",
    "obfuscated": "It spells orders so that people or filters overlook them.",
}
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|#\d{1,6}|#x[0-9a-f]{1,6});", re.IGNORECASE)
_ROT13 = frozenset(rot13(word) for word in TELLING)
_BACKWARDS = frozenset(word[::-1] for word in TELLING)
_LATIN_WORD = re.compile(r"[a-z]{6,}")


def looks_like_injection(text: str) -> str | None:
    """The id of the rule that a text breaks (a key of `REASONS`), or None if it seems innocent."""
    if len(text) > LONGEST:
        return "oversized"
    if hidden_text(text):
        return "hidden-text"
    shown = show(text)
    if _ENTITY.search(shown):
        shown = html.unescape(shown)
    folded = fold(shown)
    found = trick_in(shown, folded) or order_in(folded) or order_in_cjk(folded)
    if found is not None:
        return found
    if next(decoded_sentences(shown), None) is not None:
        return "encoded"
    for reading in readings(folded, KNOWN):
        if order_in(reading) or order_in_cjk(reading):
            return "obfuscated"
    return _turned(folded)


def _turned(folded: str) -> str | None:
    """Orders in rot13 or written backwards; only looked for where turned words are words."""
    words = set(_LATIN_WORD.findall(folded))
    if words & _ROT13 and order_in(rot13(folded)):
        return "encoded"
    if words & _BACKWARDS and order_in(folded[::-1]):
        return "obfuscated"
    return None
