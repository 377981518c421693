"""Terms: what the keyword index is given of a text, and what it is asked for a query. One path for both.

FTS5's own tokenizer (`TOKENIZER`) splits, folds case, drops diacritics and stems. Before it, `index_text` does what it
cannot: one spelling for full-width and half-width letters, vowel points and ligatures; scripts without spaces as
letters and pairs of letters, so that a word of one or two of them is found, and the forms of a Japanese verb by each
other; and the parts of `camelCase` and
`word15` beside the whole, so that they are found by either.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from memslot_memory_core.index.keyword_scripts import fold, respell, script_of, spread, unspaced
from memslot_memory_core.index.stop_words import OTHER, latin_stop_words
from memslot_memory_core.index.stretches import Stretch, cut_runs, whole

if TYPE_CHECKING:
    import apsw

# Marks (Mn, Mc) belong to words: without them Hindi falls apart at each vowel sign.
_UNICODE = ("remove_diacritics", "2", "categories", "L* N* Co Mn Mc")
TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
VERSION = 3  # of what the index is given; a change of it makes an index stale
MAX_TERMS = 1000  # of a query; the search keeps the rarest of them

_SHAPE = bytes(
    ord("a") if chr(code).islower() and code < 128
    else ord("A") if chr(code).isupper() and code < 128
    else ord("0") if chr(code).isdigit() and code < 128
    else ord(" ")
    for code in range(256)
)  # fmt: skip
_BEFORE_DIGITS = (b"aa0", b"Aa0", b"AA0")
# What may be a letter to FTS5, so that a part put beside it would grow together with it: all but ASCII marks, spaces,
# and the punctuation of texts and of East Asia.
_LETTER = r"[A-Za-z0-9\x80-\xaa\xac-\xba\xbc-\u1fff\u2070-\u2fff\u3005-\u3007\u3021-\U0010ffff]"
_JOINED = rf"(?<!{_LETTER})(?=[A-Za-z0-9]*?(?:[a-z][A-Z]|[A-Za-z]{{2}}[0-9]))[A-Za-z0-9]{{3,40}}(?!{_LETTER})"
_PART = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_MAX_PARTS = 6
# don't, we'll, Anna's; l'eau, dell'arte. The short half says nothing.
_CONTRACTED = r"(?i)(?<!\w)(?:\w+n't|(\w+)'(?:s|d|m|ll|re|ve))(?!\w)"
_ELIDED = r"(?i)(?<!\w)(?:[cdjlmnst]|qu|dell|all|nell|sull|un)'(?=\w)"
_BREAK = r"[,;:!?()\[\]{}\"\n]|\.\s"


@dataclass(frozen=True)
class Term:
    """A word of a query: as the index holds it (`stem`), before stemming, and what kind it is.

    FTS5 is asked for `word`: it stems what it is asked for, and the stem of a stem may be another one.
    """

    stem: str
    word: str
    script: str = "latin"
    number: bool = False
    name: bool = False


@dataclass(frozen=True)
class Compound:
    """Terms that were one word or one unspaced stretch; `instead` is asked for when the index holds none of them."""

    stems: tuple[str, ...]
    instead: tuple[Term, ...]


@dataclass(frozen=True)
class QueryTerms:
    """What a query asks the keyword index for: distinct terms in their order, without stop words.

    `phrases` are the stems of neighbouring words, for those who reward their standing together in a text. Pairs of
    an unspaced script are terms already and not repeated there.
    """

    terms: tuple[Term, ...] = ()
    phrases: tuple[tuple[str, str], ...] = ()
    compounds: tuple[Compound, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    only_stop_words: bool = False
    scripts: frozenset[str] = field(default=frozenset())

    @property
    def stems(self) -> tuple[str, ...]:
        return tuple(term.stem for term in self.terms)


def index_text(text: str) -> str:
    """What FTS5 is given for a text."""
    if not text.isascii():
        text = unspaced().sub(lambda run: spread(run[0]), fold(text))
    return _compiled(_JOINED).sub(_with_parts, text) if _may_be_joined(text) else text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, once a text needs it: to compile them all takes as long as a search."""
    return re.compile(pattern)


def _may_be_joined(text: str) -> bool:
    shape = text.encode("latin-1", "replace").translate(_SHAPE)
    return b"aA" in shape or (b"0" in shape and any(join in shape for join in _BEFORE_DIGITS))


def stems(text: str) -> list[str]:
    """The tokens that the index holds of a text, in their order."""
    return tokens(index_text(text))


def query_terms(query: str) -> QueryTerms:
    """The terms of a query. Anything may be asked: what holds no letter or digit has no terms."""
    words, runs = _read(fold(query))
    latin = latin_stop_words([word.plain for word in words if word.script == "latin"])
    found = _Found()
    mixed_case = any(word.written[:1].islower() for word in words)
    for number, word in enumerate(words):
        listed = word.plain in (latin if word.script == "latin" else OTHER)
        word.stop = listed and not (number and mixed_case and _is_proper(word.written))
    stretches = cut_runs(runs)
    only_stop_words = bool(words or runs) and not stretches and all(word.stop for word in words)
    if only_stop_words:
        for word in words:
            word.stop = False
        stretches = [whole(run) for run in runs]
    for word in words:
        if not word.stop:
            found.add_word(word)
    for before, after in pairwise(words):
        if not (before.stop or after.stop or after.breaks):
            found.phrases.setdefault((before.stem, after.stem))
    for stretch in stretches:
        found.add_stretch(stretch)
    return found.freeze(only_stop_words)


def _is_proper(written: str) -> bool:
    """May, Will, US: written as a name where the other words are not."""
    return (written.istitle() and len(written) > 1) or written in ("US", "IT")


@dataclass
class _Word:
    written: str
    plain: str
    stem: str
    script: str
    breaks: bool
    stop: bool = False


class _Found:
    """Gathers the terms of a query, each once."""

    def __init__(self) -> None:
        self.terms: dict[str, Term] = {}
        self.phrases: dict[tuple[str, str], None] = {}
        self.compounds: list[Compound] = []
        self.stretches: list[Stretch] = []

    def add_word(self, word: _Word) -> None:
        number = any(character.isdigit() for character in word.plain)
        term = Term(word.stem, word.plain, word.script, number, word.written[:1].isupper())
        self.terms.setdefault(term.stem, term)
        parts = [part.lower() for part in _parts(word.written)]
        instead = tuple(Term(tokens(part)[0], part, script_of(part)) for part in parts)
        if instead:
            self.compounds.append(Compound((term.stem,), instead))

    def add_stretch(self, stretch: Stretch) -> None:
        for stem in stretch.stems:
            self.terms.setdefault(stem, Term(stem, stem, script_of(stem)))
        # A lone Chinese character is a word at times; a lone kana or Hangul syllable out of a longer word is none.
        instead = tuple(Term(each, each, "han") for each in stretch.alone)
        self.compounds.append(Compound(stretch.stems, instead))
        self.stretches.append(stretch)

    def freeze(self, only_stop_words: bool) -> QueryTerms:
        terms = tuple(self.terms.values())[:MAX_TERMS]
        scripts = frozenset(term.script for term in terms) - {"number"}
        return QueryTerms(
            terms, tuple(self.phrases), tuple(self.compounds), tuple(self.stretches), only_stop_words, scripts
        )


def _read(query: str) -> tuple[list[_Word], list[str]]:
    """The words of a query with what FTS5 makes of them, and its unspaced runs."""
    runs: list[str] = []
    if not query.isascii():
        runs = [respell(run) for run in unspaced().findall(query)]
        query = unspaced().sub(" ; ", query)  # words on either side are no neighbours
    text = query
    if "'" in query:
        text = _compiled(_ELIDED).sub(" ", _compiled(_CONTRACTED).sub(r" \1 ", query))
    plain = _offset_tokens(text, stemmed=False)
    if not plain:  # `don't` is the whole question
        text = query
        plain = _offset_tokens(text, stemmed=False)
    stemmed = _offset_tokens(text, stemmed=True)
    encoded = text.encode()
    words = []
    end = 0
    for (start, stop, bare), (_, _, stem) in zip(plain, stemmed, strict=True):
        between = encoded[end:start].decode(errors="replace")
        breaks = between not in ("", " ") and _compiled(_BREAK).search(between) is not None
        words.append(_Word(encoded[start:stop].decode(), bare, stem, script_of(bare), breaks))
        end = stop
    return words, runs


def _parts(word: str) -> list[str]:
    """The words inside `camelCase` or `word15`; none for what looks like a code or a hash."""
    if not _may_be_joined(word) or not _compiled(_JOINED).fullmatch(word):
        return []
    parts: list[str] = _compiled(_PART).findall(word)
    numbers = sum(part.isdigit() for part in parts)
    if not 2 <= len(parts) <= _MAX_PARTS or numbers > 1:
        return []
    letters = word.rstrip("0123456789")
    if letters not in (word, *parts):
        parts.insert(0, letters)  # iPhone15 is found by `iphone`, too
    return [part for part in parts if len(part) > 1 or part.isdigit()]


def _with_parts(found: re.Match[str]) -> str:
    return " ".join([found[0], *dict.fromkeys(_parts(found[0]))])


class _Tokenizers(threading.local):
    """FTS5's tokenizers, called without a table; each thread has its own, as each has a connection inside."""

    def __init__(self) -> None:
        import apsw

        db = apsw.Connection(":memory:")
        self.plain: apsw.FTS5Tokenizer = db.fts5_tokenizer("unicode61", list(_UNICODE))
        self.stemmed: apsw.FTS5Tokenizer = db.fts5_tokenizer("porter", ["unicode61", *_UNICODE])
        self.reason: int = apsw.FTS5_TOKENIZE_DOCUMENT


_tokenizers: _Tokenizers | None = None


def _ready() -> _Tokenizers:
    global _tokenizers
    if _tokenizers is None:
        _tokenizers = _Tokenizers()
    return _tokenizers


def tokens(text: str) -> list[str]:
    ready = _ready()
    found = ready.stemmed(text.encode(errors="replace"), ready.reason, None, include_offsets=False)
    return [token for (token,) in found]  # type: ignore[misc, str-unpack]


def _offset_tokens(text: str, *, stemmed: bool) -> list[tuple[int, int, str]]:
    ready = _ready()
    tokenizer = ready.stemmed if stemmed else ready.plain
    return tokenizer(text.encode(), ready.reason, None)  # type: ignore[return-value]
