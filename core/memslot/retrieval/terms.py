"""Terms: the words of a text for a keyword index and of a query, prepared in the same way.

`index_text` prepares a text for a tokenizer: it folds equivalent characters, spreads scripts without spaces into
unigrams and bigrams (to find words of one or two letters, and Japanese verbs in any form), adds the parts of
`camelCase` and `word15` next to the whole, and stems words of languages other than English (see `languages`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from memslot.retrieval.cjk_query_spans import QuerySpan, query_spans, whole_span
from memslot.retrieval.joined_words import parts_of, put_parts
from memslot.retrieval.languages import CODES, ENGLISH, forwards, has_script_stemmer, languages_of, localize, tagged
from memslot.retrieval.scripts import fold, respell, script_of, spread, unspaced
from memslot.retrieval.stop_words import OTHER, latin_stop_words
from memslot.retrieval.tokenizer import STEMMING_TOKENIZER, UNICODE_TOKENIZER, Token, Tokenizer

MAX_TERMS = 1000  # of a query

# don't, we'll, Anna's; l'eau, dell'arte: the short half carries no meaning.
_CONTRACTED = r"(?i)(?<!\w)(?:\w+n't|(\w+)'(?:s|d|m|ll|re|ve))(?!\w)"
_ELIDED = r"(?i)(?<!\w)(?:[cdjlmnst]|qu|dell|all|nell|sull|un)'(?=\w)"
_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa"})


@dataclass(frozen=True)
class Term:
    """A term of a query: its stem, the word before stemming, and its kind.

    Use `word` with an index that stems its queries: stemming a stem may change it. `written` keeps the diacritics.
    """

    stem: str
    word: str
    script: str = "latin"
    number: bool = False
    written: str = ""


@dataclass(frozen=True)
class Compound:
    """Terms of one word or one span; `instead` replaces them if none is in the index."""

    stems: tuple[str, ...]
    instead: tuple[Term, ...]


@dataclass(frozen=True)
class QueryTerms:
    """The distinct terms of a query, in order, without stop words unless there is nothing else."""

    terms: tuple[Term, ...] = ()
    compounds: tuple[Compound, ...] = ()
    spans: tuple[QuerySpan, ...] = ()

    @property
    def stems(self) -> tuple[str, ...]:
        return tuple(term.stem for term in self.terms)


def index_text(text: str, language: str | None = None) -> str:
    """Prepare a text for an index's tokenizer; the language is detected unless given."""
    languages = languages_of(text) if language is None else [language]
    if languages == [ENGLISH] and text.isascii():
        return put_parts(text)
    if not text.isascii():
        text = unspaced().sub(lambda run: spread(run[0]), fold(text, keep_dotless="tr" in languages))
    if len(languages) > 1:
        lines = zip(text.split("\n"), languages, strict=True)
        text = "\n".join(localize(line, each) for line, each in lines)
    elif languages[0] != ENGLISH or not text.isascii():
        text = localize(text, languages[0])
    if language is None:
        text += "".join(f" {CODES[each]}" for each in sorted({*languages} - {ENGLISH}))
    return put_parts(text)


def index_forms(term: Term, languages: Iterable[str], tokenizer: Tokenizer = UNICODE_TOKENIZER) -> tuple[str, ...]:
    """Return a term's possible stems in an index of these languages."""
    if term.script != "latin" or not term.word.isalpha():
        return (term.stem,)
    word = term.written or term.word
    forms = [form for each in languages if each != ENGLISH for form in tagged(word, each).split()]
    forms = [form for form in forms if forwards(form) == form]
    if not word.isascii():
        forms.append(word.translate(_SPELLED_OUT))
    return tuple(dict.fromkeys([term.stem, *tokenizer.stems(" ".join(forms))]))


def make_term(word: str, tokenizer: Tokenizer = UNICODE_TOKENIZER) -> Term:
    """Build a term from a lower-case word."""
    plain = "".join(UNICODE_TOKENIZER.stems(fold(word))) or word
    return Term(next(iter(tokenizer.stems(plain)), plain), plain, script_of(plain), written=word)


def index_stems(text: str, tokenizer: Tokenizer = STEMMING_TOKENIZER) -> str:
    """Return a text's stems as one string, for an index that splits at whitespace and does not stem.

    Search it with the forms of a query's terms under the same tokenizer: `TermForms`, or `index_forms` with the
    languages of `LANGUAGES`.
    """
    return " ".join(stems(text, tokenizer))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile on first use: compiling all patterns takes as long as a search."""
    return re.compile(pattern)


def stems(text: str, tokenizer: Tokenizer = UNICODE_TOKENIZER, language: str | None = None) -> list[str]:
    """Return the stems of a text as indexed with this tokenizer."""
    return tokenizer.stems(index_text(text, language))


def query_terms(query: str, tokenizer: Tokenizer = UNICODE_TOKENIZER) -> QueryTerms:
    """Parse a query into terms; none if it has no letter or digit."""
    words, runs = _read(fold(query, keep_dotless=True), tokenizer)
    latin = latin_stop_words([word.plain for word in words if word.script == "latin"])
    found = _Builder(tokenizer)
    mixed_case = any(word.written[:1].islower() for word in words)
    for number, word in enumerate(words):
        listed = word.plain in (latin if word.script == "latin" else OTHER)
        word.stop = listed and not (number and mixed_case and _is_proper(word.written))
    spans = query_spans(runs)
    if not spans and all(word.stop for word in words):
        for word in words:
            word.stop = False
        spans = [whole_span(run) for run in runs]
    for word in words:
        if not word.stop:
            found.add_word(word)
    for span in spans:
        found.add_span(span)
    return found.freeze()


def _is_proper(written: str) -> bool:
    """May, Will, US: capitalised where other words are not."""
    return (written.istitle() and len(written) > 1) or written in ("US", "IT")


@dataclass
class _Word:
    written: str
    plain: str
    stem: str
    script: str
    asked: str
    stop: bool = False


class _Builder:
    """Collects the terms of a query, each once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.terms: dict[str, Term] = {}
        self.compounds: list[Compound] = []
        self.spans: list[QuerySpan] = []

    def add_word(self, word: _Word) -> None:
        number = any(character.isdigit() for character in word.plain)
        term = Term(word.stem, word.asked, word.script, number, word.written.lower())
        self.terms.setdefault(term.stem, term)
        parts = [part.lower() for part in parts_of(word.written)]
        instead = tuple(Term(self._tokenizer.stems(part)[0], part, script_of(part)) for part in parts)
        if instead:
            self.compounds.append(Compound((term.stem,), instead))

    def add_span(self, span: QuerySpan) -> None:
        for stem in span.stems:
            self.terms.setdefault(stem, Term(stem, stem, script_of(stem)))
        # A Han character from a longer word may be a word; a kana or Hangul syllable is not.
        instead = tuple(Term(each, each, "han") for each in span.alone)
        self.compounds.append(Compound(span.stems, instead))
        self.spans.append(span)

    def freeze(self) -> QueryTerms:
        terms = tuple(self.terms.values())[:MAX_TERMS]
        return QueryTerms(terms, tuple(self.compounds), tuple(self.spans))


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
    return [_word(text, token, tokenizer) for token in tokens], runs


def _word(text: str, token: Token, tokenizer: Tokenizer) -> _Word:
    written, word, stem = text[token.start : token.end], token.word.replace("ı", "i"), token.stem
    asked = word
    if "ı" in stem or has_script_stemmer(word):
        stem = next(iter(tokenizer.stems(localize(fold(written), ENGLISH))), stem)
        asked = word if word.isascii() else stem
    return _Word(written, word, stem, script_of(word), asked)
