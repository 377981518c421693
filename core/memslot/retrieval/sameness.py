"""Sameness: whether two texts say the same thing, by their words.

Vectors hardly capture word order, numbers or a "not": "tea over coffee" and "coffee over tea" have a cosine of .99. So
words decide, small ones such as on and off included, and `means_same` lets a cosine speak only where they do not
object.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from memslot.retrieval.parts import SENTENCE_END, blocks_of

_NO = re.compile(
    r"(?i)\b(?:no|not|never|without|cannot|hardly|barely|rarely|seldom|only|except|unless|until|formerly|stopped|used\s+to"
    r"|nicht|nie|kein\w*|ohne|nur|kaum|pas|jamais|sans|nunca|sin|não|nem|sem|non|mai|senza|nu|fără"
    r"|ne|není|nikdy|bez|nigdy|не|нет|нельзя|никогда|без|ні|ніколи|niet|nooit|geen|zonder|inte|ej|ikke|aldrig|aldri"
    r"|ei|eivät|älä|ilman|nincs|soha|değil|yok|tidak|bukan|tanpa|không|chưa|chẳng|δεν|μην|χωρίς|לא|אין|בלי"
    r"|لا|لم|لن|ليس|ليست|غير|بدون|نه|نیست)\b"
    r"|n['’]t\b|[不没沒无無未別别]|ない|ません|안 |않|못|नहीं|बिना|ไม่"
)
"""Words that deny or restrict a statement, of languages whose stop words they are or that may add them to one."""
_SIGN = re.compile(r"(?<!\w)[-−](?=\d)|(?<= )[-−+](?= )|[<>≤≥≠±]|[!=]=|['’]s\b")
_BEGINNING = re.compile(r"\b[a-z]{3}(?=[a-z])")
_FENCED = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n(.*?)(?:^[ \t]*(?:```|~~~)|\Z)", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"\d+")
_INSIDE = re.compile(r"(?<=[\w,;)'’\"”»-] )[^\W\d_]\w*")
"""Words that do not begin a sentence, so that a capital letter marks a name; in German, a noun."""
SAME_MEANING = 0.84
"""The cosine from which words that one text adds to another's do not change what it says."""
_LEAST_WORDS = 3
"""Fewer words inside a longer text say hardly more than its subject."""


def same_text(one: str, other: str) -> bool:
    """Whether two texts differ at most in case, spacing and the final period."""
    return folded(one) == folded(other)


def same_words(one: str, other: str) -> bool:
    """Whether two alike texts have the same words in the same order, or one contains the other's."""
    if folded(one) == folded(other):
        return True
    return _turns(one) == _turns(other) and (_repeats(one, other) or _repeats(other, one))


def says(text: str, other: str) -> bool:
    """Whether a text says all that another one does: each of its list items, paragraphs or lines, and its code."""
    if folded(other) == folded(text):
        return True
    said = _statements(other)
    # The whole text first: most texts have nothing to do with each other, and their lines need not be compared.
    if not said or not all(_is_near(text, statement) for statement in said) or not _code(other) <= _code(text):
        return False
    return all(any(_says(line, statement) for line in _lines(text)) for statement in said)


def may_mean_same(text: str, other: str) -> bool:
    """Whether a text of one statement has all words of another in their order, with others in between.

    Only then is a cosine worth asking for: it hardly tells Monday from Tuesday, or who is taller than whom.
    """
    if len(_statements(text)) != 1 or len(_statements(other)) != 1 or not _is_near(text, other):
        return False
    if _turns(text) != _turns(other) or _NUMBER.findall(text) != _NUMBER.findall(other):
        return False
    if len(content_words(other)) < _LEAST_WORDS:
        return False
    return _in_order(content_words(text), content_words(other)) and _in_order(_words(text), _words(other))


def means_same(text: str, other: str, cosine: float | None) -> bool:
    """Whether a text says what another one does, by their cosine and their words."""
    return cosine is not None and cosine >= SAME_MEANING and may_mean_same(text, other)


def shared_words(text: str, other: str) -> float:
    """The share of another text's words that a text holds, in any order; 0 where numbers, names or negations differ."""
    words, held = set(content_words(other)), set(content_words(text))
    if not words or negations(text) != negations(other):
        return 0.0
    if not set(_NUMBER.findall(other)) <= set(_NUMBER.findall(text)):
        return 0.0
    names = content_words(" ".join(name for name in _INSIDE.findall(other) if name[0].isupper()))
    return len(words & held) / len(words) if words.intersection(names) <= held else 0.0


def _says(line: str, statement: str) -> bool:
    if folded(line) == folded(statement):
        return True
    if not _is_near(line, statement) or negations(line) != negations(statement):
        return False
    if folded(statement).count(" ") >= _LEAST_WORDS and f" {folded(statement)} " in f" {folded(line)} ":
        return True
    if len(content_words(statement)) < _LEAST_WORDS or _turns(line) != _turns(statement):
        return False
    return _repeats(line, statement)


def _repeats(line: str, statement: str) -> bool:
    """Whether a line has a statement's words in their order, those that matter without another between them.

    Stop words count, too: some say on or off, before or after, mine or hers, and whether room A or room B.
    """
    return _contains(content_words(line), content_words(statement)) and _in_order(_words(line), _words(statement))


def _is_near(line: str, statement: str) -> bool:
    """Whether half of a statement's longer words begin as one of the line's: stems take a hundred times as long."""
    begins = _beginnings(statement)
    return 2 * len(begins & _beginnings(line)) >= len(begins)


def _contains(words: Sequence[str], part: Sequence[str]) -> bool:
    starts = range(len(words) - len(part) + 1)
    return bool(part) and any(words[start : start + len(part)] == part for start in starts)


def _in_order(words: Sequence[str], part: Sequence[str]) -> bool:
    """Whether words include others in their order, with any in between."""
    rest = iter(words)
    return all(word in rest for word in part)


@lru_cache(maxsize=4096)
def _statements(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(blocks_of(text))) or ((text,) if text.strip() else ())


@lru_cache(maxsize=4096)
def _lines(text: str) -> tuple[str, ...]:
    """The statements of a text, and the sentences of those that have several."""
    split = (sentence for statement in _statements(text) for sentence in SENTENCE_END.split(statement))
    return tuple(dict.fromkeys([*_statements(text), *filter(None, split)]))


@lru_cache(maxsize=4096)
def _code(text: str) -> frozenset[str]:
    """The lines of fenced code, which are no statements."""
    return frozenset(line.strip() for block in _FENCED.findall(text) for line in block.split("\n")) - {""}


@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """The text without case, spacing and final period."""
    return " ".join(text.casefold().split()).rstrip(".!。！ ")


@lru_cache(maxsize=4096)
def _beginnings(text: str) -> frozenset[str]:
    return frozenset(_BEGINNING.findall(folded(text)))


@lru_cache(maxsize=4096)
def content_words(text: str) -> tuple[str, ...]:
    """The stems of a text without stop words, in order."""
    from memslot.retrieval.terms import query_terms
    from memslot.retrieval.tokenizer import STEMMING_TOKENIZER

    return query_terms(text, STEMMING_TOKENIZER).stems


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    """The stems of a text with its stop words, in order; without scripts that do not separate words."""
    from memslot.retrieval.scripts import fold, unspaced
    from memslot.retrieval.tokenizer import STEMMING_TOKENIZER

    return tuple(STEMMING_TOKENIZER.stems(unspaced().sub(" ", fold(text))))


def _turns(text: str) -> tuple[int, Sequence[str], bool]:
    """What makes another statement of the same words: negations, signs, a genitive, and being a question."""
    return negations(text), _SIGN.findall(text), text.rstrip().endswith(("?", "？", "؟"))


@lru_cache(maxsize=4096)
def negations(text: str) -> int:
    """Number of negations in a text; most are stop words, but they invert a statement."""
    return len(_NO.findall(text))
