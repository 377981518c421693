"""Finds memories by their words: for texts without a vector, and for when there is no embedder to ask."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator

from memslot_memory_lancedb.memories import Remembered
from memslot_memory_lancedb.store.predicate import quoted
from memslot_memory_lancedb.store.table import MemoryTable

MAX_TERMS = 24
_LONGEST_TERM = 64
_LOOKED_AT = 200
"""Rows that are read and scored by whole words, after the database has looked for the terms in all of them."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f\U00020000-\U0003ffff]+")
"""Scripts that put no spaces between words, or whose words change their ends: looked at two characters at a time."""
_NEAR_ENDS = 3

_COMMON = (
    "a about an and are as at be been but by can could did do does for from had has have how i if in is it its me my "
    "of on or our she so than that the their them then there these they this to us was we were what when where which "
    "who why will with would you your what's it's i'm "
    "el la los las un una unos unas de del en y o que es por para con se su sus mi me te lo le al como más pero "
    "der die das den dem ein eine einer eines und oder ist sind war mit von zu im in am auf für nicht ich du er sie es "
    "wir ihr mein meine was wie wer wo "
    "le les des du et ou est sont dans pour pas je tu il elle nous vous mon ma mes ce cette qui quoi où au aux "
    "os as um uma do da dos das em no na e não eu ele ela meu minha seu sua para com por "
    "je jsem jsi jsou se si na v ve z ze do o od k ke s a i že co jak kdo kde můj moje to ten ta"
)
STOP_WORDS = frozenset(_COMMON.split())


def terms_of(query: str) -> list[str]:
    """What to look for, each once: words that say something, and pairs of characters where words are not spaced."""
    found: dict[str, None] = {}
    weak: dict[str, None] = {}
    for term in _terms(unicodedata.normalize("NFC", query).lower()):
        (weak if term in STOP_WORDS else found).setdefault(term[:_LONGEST_TERM])
        if len(found) >= MAX_TERMS:
            break
    return list(found or weak)[:MAX_TERMS]


def _terms(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word, position = match.group(), 0
        for run in _UNSPACED.finditer(word):
            if run.start() > position:
                yield word[position : run.start()]
            characters = run.group()
            yield from (characters[i : i + 2] for i in range(max(1, len(characters) - 1)))
            position = run.end()
        if position < len(word):
            yield word[position:]


def find_by_words(table: MemoryTable, query: str, limit: int, *conditions: str) -> list[tuple[Remembered, float]]:
    """Memories that share words with a query, best first; 1 is a memory that holds all of them.

    A rare word weighs more than a common one.
    """
    import numpy

    terms = terms_of(query)
    if not terms:
        return []
    expressions = {f"t{number}": _holds(term) for number, term in enumerate(terms)}
    rows = table.columns({"id": "`id`", **expressions}, *conditions)
    if rows.num_rows == 0:
        return []
    flags = numpy.column_stack([rows[f"t{n}"].to_numpy(zero_copy_only=False) for n in range(len(terms))])
    weights = numpy.log1p(rows.num_rows / (flags.sum(axis=0) + 0.5))
    rough = flags @ weights
    best = numpy.argsort(-rough, kind="stable")[: max(_LOOKED_AT, limit)]
    ids = [rows["id"][int(number)].as_py() for number in best if rough[number] > 0]
    weighed = dict(zip(terms, weights.tolist(), strict=True))
    scored = [(memory, score_words(memory.text, weighed)) for memory in table.get_many(ids)]
    return sorted((pair for pair in scored if pair[1] > 0), key=lambda pair: -pair[1])[:limit]


def score_words(text: str, weights: dict[str, float]) -> float:
    """The share of the terms' weight that a text holds."""
    folded = unicodedata.normalize("NFC", text).lower()
    words = {match.group() for match in _WORD.finditer(folded)}
    held = sum(weight for term, weight in weights.items() if _is_held(term, folded, words))
    return min(1.0, held / math.fsum(weights.values()))


def _is_held(term: str, text: str, words: set[str]) -> bool:
    if _UNSPACED.match(term):
        return term in text
    return term in words or any(_is_near(term, word) for word in words)


def _is_near(term: str, word: str) -> bool:
    """Whether two words differ in their ends only: lesson and lessons, Thursday and Thursday's."""
    shorter, longer = sorted((term, word), key=len)
    return len(shorter) >= 4 and len(longer) - len(shorter) <= _NEAR_ENDS and longer.startswith(shorter)


def _holds(term: str) -> str:
    """The condition in SQL; the start of a longer word is enough, and the text may be written in either form."""
    start = term if len(term) < 6 or _UNSPACED.match(term) else term[:-2]
    forms = {unicodedata.normalize(form, start) for form in ("NFC", "NFD")}
    return " OR ".join(f"contains(lower(`text`), {quoted(each)})" for each in sorted(forms))
