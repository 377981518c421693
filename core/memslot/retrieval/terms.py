"""Terms: the words of a text for a keyword index, and the terms of a query. Both are prepared in the same way.

`index_text` prepares a text for a tokenizer: it folds equivalent characters, spreads scripts without spaces into
unigrams and bigrams (so that a word of one or two letters is found, and a Japanese verb in any form), and puts the
parts of `camelCase` and `word15` beside the whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from memslot.retrieval.cjk_query_spans import QuerySpan, query_spans, whole_span
from memslot.retrieval.scripts import fold, respell, script_of, spread, unspaced
from memslot.retrieval.stop_words import OTHER, latin_stop_words
from memslot.retrieval.tokenizer import UNICODE_TOKENIZER, Token, Tokenizer

MAX_TERMS = 1000  # of a query

_SHAPE = bytes(
    ord("a") if chr(code).islower() and code < 128
    else ord("A") if chr(code).isupper() and code < 128
    else ord("0") if chr(code).isdigit() and code < 128
    else ord(" ")
    for code in range(256)
)  # fmt: skip
_BEFORE_DIGITS = (b"aa0", b"Aa0", b"AA0")
# Possibly a letter to some tokenizer, so that a word next to it goes on: all but ASCII punctuation, spaces, general and
# CJK punctuation.
_LETTER = r"[A-Za-z0-9\x80-\xaa\xac-\xba\xbc-\u1fff\u2070-\u2fff\u3005-\u3007\u3021-\U0010ffff]"
_JOINED = rf"(?<!{_LETTER})(?=[A-Za-z0-9]*?(?:[a-z][A-Z]|[A-Za-z]{{2}}[0-9]))[A-Za-z0-9]{{3,40}}(?!{_LETTER})"
_PART = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_MAX_PARTS = 6
# don't, we'll, Anna's; l'eau, dell'arte: the short half carries no meaning.
_CONTRACTED = r"(?i)(?<!\w)(?:\w+n't|(\w+)'(?:s|d|m|ll|re|ve))(?!\w)"
_ELIDED = r"(?i)(?<!\w)(?:[cdjlmnst]|qu|dell|all|nell|sull|un)'(?=\w)"
_BREAK = r"[,;:!?()\[\]{}\"\n]|\.\s"


@dataclass(frozen=True)
class Term:
    """A term of a query: its stem, the word before stemming, and its kind.

    An index that stems its queries is asked for `word`: a stem stemmed again may differ.
    """

    stem: str
    word: str
    script: str = "latin"
    number: bool = False
    name: bool = False


@dataclass(frozen=True)
class Compound:
    """Terms of one word or one span; `instead` replaces them where the index holds none."""

    stems: tuple[str, ...]
    instead: tuple[Term, ...]


@dataclass(frozen=True)
class QueryTerms:
    """The terms of a query: distinct, in order, without stop words unless there is nothing else.

    `phrases` are the stems of adjacent words. Bigrams of an unspaced script are terms and not repeated there.
    """

    terms: tuple[Term, ...] = ()
    phrases: tuple[tuple[str, str], ...] = ()
    compounds: tuple[Compound, ...] = ()
    spans: tuple[QuerySpan, ...] = ()
    only_stop_words: bool = False
    scripts: frozenset[str] = field(default=frozenset())

    @property
    def stems(self) -> tuple[str, ...]:
        return tuple(term.stem for term in self.terms)


def index_text(text: str) -> str:
    """Prepare a text for the tokenizer of an index."""
    if not text.isascii():
        text = unspaced().sub(lambda run: spread(run[0]), fold(text))
    return _compiled(_JOINED).sub(_with_parts, text) if _may_be_joined(text) else text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile on first use: compiling all patterns takes as long as a search."""
    return re.compile(pattern)


def _may_be_joined(text: str) -> bool:
    shape = text.encode("latin-1", "replace").translate(_SHAPE)
    return b"aA" in shape or (b"0" in shape and any(join in shape for join in _BEFORE_DIGITS))


def stems(text: str, tokenizer: Tokenizer = UNICODE_TOKENIZER) -> list[str]:
    """The stems of a text as an index with this tokenizer holds them."""
    return tokenizer.stems(index_text(text))


def query_terms(query: str, tokenizer: Tokenizer = UNICODE_TOKENIZER) -> QueryTerms:
    """The terms of a query; none where it holds no letter or digit."""
    words, runs = _read(fold(query), tokenizer)
    latin = latin_stop_words([word.plain for word in words if word.script == "latin"])
    found = _Builder(tokenizer)
    mixed_case = any(word.written[:1].islower() for word in words)
    for number, word in enumerate(words):
        listed = word.plain in (latin if word.script == "latin" else OTHER)
        word.stop = listed and not (number and mixed_case and _is_proper(word.written))
    spans = query_spans(runs)
    only_stop_words = bool(words or runs) and not spans and all(word.stop for word in words)
    if only_stop_words:
        for word in words:
            word.stop = False
        spans = [whole_span(run) for run in runs]
    for word in words:
        if not word.stop:
            found.add_word(word)
    for before, after in pairwise(words):
        if not (before.stop or after.stop or after.breaks):
            found.phrases.setdefault((before.stem, after.stem))
    for span in spans:
        found.add_span(span)
    return found.freeze(only_stop_words)


def _is_proper(written: str) -> bool:
    """May, Will, US: capitalised where other words are not."""
    return (written.istitle() and len(written) > 1) or written in ("US", "IT")


@dataclass
class _Word:
    written: str
    plain: str
    stem: str
    script: str
    breaks: bool
    stop: bool = False


class _Builder:
    """Collects the terms of a query, each once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.terms: dict[str, Term] = {}
        self.phrases: dict[tuple[str, str], None] = {}
        self.compounds: list[Compound] = []
        self.spans: list[QuerySpan] = []

    def add_word(self, word: _Word) -> None:
        number = any(character.isdigit() for character in word.plain)
        term = Term(word.stem, word.plain, word.script, number, word.written[:1].isupper())
        self.terms.setdefault(term.stem, term)
        parts = [part.lower() for part in _parts(word.written)]
        instead = tuple(Term(self._tokenizer.stems(part)[0], part, script_of(part)) for part in parts)
        if instead:
            self.compounds.append(Compound((term.stem,), instead))

    def add_span(self, span: QuerySpan) -> None:
        for stem in span.stems:
            self.terms.setdefault(stem, Term(stem, stem, script_of(stem)))
        # A Han character out of a longer word may be a word; a kana or Hangul syllable is none.
        instead = tuple(Term(each, each, "han") for each in span.alone)
        self.compounds.append(Compound(span.stems, instead))
        self.spans.append(span)

    def freeze(self, only_stop_words: bool) -> QueryTerms:
        terms = tuple(self.terms.values())[:MAX_TERMS]
        scripts = frozenset(term.script for term in terms) - {"number"}
        return QueryTerms(
            terms, tuple(self.phrases), tuple(self.compounds), tuple(self.spans), only_stop_words, scripts
        )


def _read(query: str, tokenizer: Tokenizer) -> tuple[list[_Word], list[str]]:
    """The words and the unspaced runs of a query."""
    runs: list[str] = []
    if not query.isascii():
        runs = [respell(run) for run in unspaced().findall(query)]
        query = unspaced().sub(" ; ", query)  # the words on either side are not adjacent
    text = query
    if "'" in query:
        text = _compiled(_ELIDED).sub(" ", _compiled(_CONTRACTED).sub(r" \1 ", query))
    tokens = tokenizer.tokens(text)
    if not tokens:  # the whole query is `don't`
        text = query
        tokens = tokenizer.tokens(text)
    return [_word(text, token, before) for before, token in pairwise([Token(0, 0, "", ""), *tokens])], runs


def _word(text: str, token: Token, before: Token) -> _Word:
    between = text[before.end : token.start]
    breaks = between not in ("", " ") and _compiled(_BREAK).search(between) is not None
    return _Word(text[token.start : token.end], token.word, token.stem, script_of(token.word), breaks)


def _parts(word: str) -> list[str]:
    """The words inside `camelCase` or `word15`; none for a code or a hash."""
    if not _may_be_joined(word) or not _compiled(_JOINED).fullmatch(word):
        return []
    parts: list[str] = _compiled(_PART).findall(word)
    numbers = sum(part.isdigit() for part in parts)
    if not 2 <= len(parts) <= _MAX_PARTS or numbers > 1:
        return []
    letters = word.rstrip("0123456789")
    if letters not in (word, *parts):
        parts.insert(0, letters)  # iPhone15 is found by `iphone`
    return [part for part in parts if len(part) > 1 or part.isdigit()]


def _with_parts(found: re.Match[str]) -> str:
    return " ".join([found[0], *dict.fromkeys(_parts(found[0]))])
