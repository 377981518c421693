"""The language of a text, and the stems of its words under it.

Words in a script with one stemmer (Cyrillic, Greek, Arabic, Armenian, Devanagari, Tamil) are always stemmed by it.
Latin words are stemmed by the language of their text, which is detected by function words and letters; English and
undetermined texts are left to the index's tokenizer.

A foreign stem carries the language's code as superscript letters: `Häuser` in a German text is `hausᵈᵉ`. `fold`
rewrites superscripts, so no text can contain such a word itself. With the code,

- a short query needs no language: each of its words is looked up under every language the index has (`index_forms`),
  and these forms count as one term;
- the French stem of `notes` never matches the English word `not`;
- a text has one language, with few exceptions, so the forms of a term are in different texts, and the sum of their
  frequencies is the term's frequency;
- an index of English texts is unaffected.

Each text with such stems also contains the bare code (`ᵈᵉ`), which tells a search the languages of the index. A Porter
stemmer leaves words that end in a superscript unchanged.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any
from unicodedata import normalize

from memslot.retrieval.joined_words import is_joined
from memslot.retrieval.scripts import fold
from memslot.retrieval.stop_words import LATIN, MISLEADING, hints

ENGLISH = "en"
"""Fallback for undetermined texts, which the tokenizer stems."""
STEMMERS = {
    "de": "german", "es": "spanish", "fr": "french", "pt": "portuguese", "it": "italian", "nl": "dutch",
    "sv": "swedish", "da": "danish", "no": "norwegian", "fi": "finnish", "hu": "hungarian", "ro": "romanian",
    "tr": "turkish", "pl": "polish", "cs": "czech", "id": "indonesian", "ca": "catalan",
}  # fmt: skip
"""Languages in Latin letters other than English, with Snowball's name of the stemmer."""
COMPOUNDING = frozenset({"de", "nl", "sv", "da", "no", "fi"})
"""Languages that write compounds as one word."""
_SUPERSCRIPTS = str.maketrans("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
CODES = {language: language.translate(_SUPERSCRIPTS) for language in STEMMERS}
"""The marker of each language's stems."""
LANGUAGES = (ENGLISH, *STEMMERS)
"""All languages in Latin letters that have a stemmer."""
_LANGUAGE_OF = {code: language for language, code in CODES.items()}
_BACKWARDS = "ʳ"
_LONG = 8  # minimum letters of a stem that may be a compound

_SCRIPT_STEMMERS = (
    ("russian", "\u0400-\u052f"),
    ("greek", "\u0370-\u03ff"),
    ("arabic", "\u0620-\u064a\u066e-\u06d3"),
    ("armenian", "\u0531-\u0587"),
    ("hindi", "\u0900-\u0963"),
    ("tamil", "\u0b80-\u0be5"),
)
_VIETNAMESE = frozenset("ơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ")  # no stemmer; its ă and â are not Romanian
_LETTERS = {
    "ß": "de", "ä": "de sv fi", "ö": "de sv fi tr hu", "ü": "de tr hu", "ñ": "es", "¿": "es", "¡": "es",
    "ã": "pt", "õ": "pt", "ç": "fr pt tr ca", "ê": "fr pt", "è": "fr it ca", "œ": "fr", "û": "fr", "ì": "it",
    "ğ": "tr", "ş": "tr", "ı": "tr", "ő": "hu", "ű": "hu", "ă": "ro", "ș": "ro", "ț": "ro", "ţ": "ro",
    "ř": "cs", "ě": "cs", "ů": "cs", "ł": "pl", "ż": "pl", "ź": "pl", "ś": "pl", "ą": "pl", "ę": "pl", "ć": "pl",
    "é": "fr es pt hu cs ca", "á": "es pt hu cs", "í": "es pt hu cs", "ó": "es pt hu pl", "â": "fr pt ro", "î": "fr ro",
    "å": "sv da no", "æ": "da no", "ø": "da no",
}  # fmt: skip
_TELLING = frozenset(_LETTERS)
_NO_LETTERS: frozenset[str] = frozenset()
_MAX_LETTER_WEIGHT = 2  # maximum weight of letters, in function words
_MIN_CLUES = 2
_ASCII_WORDS = bytes(code if 97 <= code <= 122 else code + 32 if 65 <= code <= 90 else 32 for code in range(256))
"""Lower-cases, and blanks out everything but letters."""
_SAMPLE = 20_000


def languages_of(text: str) -> Sequence[str]:
    """Return the language of each line of a text, or one for all. English unless another is clear."""
    clues = _clues(text if len(text) <= _SAMPLE else text[:_SAMPLE])
    if clues is None:
        return [ENGLISH]
    language = clues.best()
    if "\n" not in text or not clues.is_mixed():
        return [language]
    return [_language_of_line(line, language) for line in text.split("\n")]


def _language_of_line(line: str, otherwise: str) -> str:
    clues = _clues(line)
    if clues is not None:
        return clues.best(otherwise)
    # No clue, or all of them English.
    return ENGLISH if len(LATIN[ENGLISH].intersection(line.lower().split())) >= _MIN_CLUES else otherwise


class _Clues:
    """Counts of words and letters that point to each language, excluding those shared with English."""

    def __init__(self, listed: set[str], letters: Iterable[str]) -> None:
        self._english: set[str] = set()
        self._others: dict[str, set[str]] = {}
        known = _known()
        for word in listed:
            for language in known[word]:
                if language == ENGLISH:
                    self._english.add(word)
                else:
                    self._others.setdefault(language, set()).add(word)
        self._letters: dict[str, int] = {}
        self._certain: set[str] = set()
        for letter in letters:
            languages = _LETTERS[letter].split()
            for language in languages:
                self._letters[language] = min(_MAX_LETTER_WEIGHT, self._letters.get(language, 0) + 1)
            if len(languages) == 1:
                self._certain.update(languages)

    def best(self, otherwise: str = ENGLISH) -> str:
        """Return the language with the most clues, if sufficient."""
        language = max({*self._others, *self._letters}, key=lambda each: (self._count(each), each == otherwise))
        words = self._others.get(language, set())
        own = len(words - self._english)
        if own or language in self._certain:  # Café Noir in Zürich is not Hungarian
            own += self._letters.get(language, 0)
        english = len(self._english - words)
        if own > english and own >= _MIN_CLUES:
            return language
        return ENGLISH if english > own and english >= _MIN_CLUES else otherwise

    def is_mixed(self) -> bool:
        """Whether English and another language both have clues of their own."""
        others = self._others.values()
        least = _MIN_CLUES
        return any(len(words - self._english) >= least and len(self._english - words) >= least for words in others)

    def _count(self, language: str) -> int:
        return len(self._others.get(language, ())) + self._letters.get(language, 0)


def _clues(text: str) -> _Clues | None:
    """Return the clues in a text; None if there are only English ones."""
    letters = _NO_LETTERS
    if not text.isascii():
        characters = set(normalize("NFC", text).lower())
        if not characters.isdisjoint(_VIETNAMESE):
            return None
        letters = _TELLING & characters
        if letters:
            text = plain(fold(text))
    encoded = text.encode("ascii", "replace").translate(_ASCII_WORDS).split()
    if len(letters) + len(_foreign().intersection(encoded)) < _MIN_CLUES:  # most texts return here: keep it fast
        return None
    return _Clues({word.decode() for word in encoded} & _known().keys(), sorted(letters))


@cache
def _known() -> dict[str, tuple[str, ...]]:
    """Return the languages of each function word."""
    known: dict[str, tuple[str, ...]] = {}
    for language, words in LATIN.items():
        for word in words | hints(language):
            if len(word) > 1 and (language == ENGLISH or word not in MISLEADING):
                known[word] = (*known.get(word, ()), language)
    return known


@cache
def _foreign() -> frozenset[bytes]:
    return frozenset(word.encode() for word, languages in _known().items() if ENGLISH not in languages)


def plain(text: str) -> str:
    """Remove diacritics."""
    return text if text.isascii() else _diacritics().sub("", normalize("NFD", text))


@cache
def _diacritics() -> re.Pattern[str]:
    return re.compile("[\u0300-\u036f]+")


@cache
def _latin() -> re.Pattern[str]:
    # Words with a digit or a letter of another script are codes, and left alone. Any character but ASCII and Latin-1
    # punctuation, general and CJK punctuation may be a letter to some tokenizer.
    letters = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
    other = (
        "0-9\u00aa\u00b2\u00b3\u00b5\u00b9\u00ba\u00bc-\u00be\u00c0-\u1fff\u2070-\u2fff\u3005-\u3007\u3021-\U0010ffff"
    )
    return re.compile(f"(?<![A-Za-z{other}])[{letters}]+(?![A-Za-z{other}])")


@cache
def _scripted() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{name}>[{letters}]+)" for name, letters in _SCRIPT_STEMMERS))


@cache
def _any_scripted() -> re.Pattern[str]:
    # One character class is ten times as fast as an alternation.
    return re.compile(f"[{''.join(letters for _, letters in _SCRIPT_STEMMERS)}]")


def localize(text: str, language: str) -> str:
    """Replace the words of a folded text by their stems, those in Latin letters by the stems of this language.

    Joined words (`camelCase`) stay: their parts are English as often as not.
    """
    if language != ENGLISH:
        known = _forms(language)
        text = _latin().sub(lambda word: known[word[0]], text)
    return _scripted().sub(_stem_scripted, text) if has_script_stemmer(text) else text


def mark(text: str, language: str) -> str:
    """Append the language's code to each word that `localize` would stem by it, with blanks around these words."""
    code = CODES[language]
    return _latin().sub(lambda word: word[0] if is_joined(word[0]) else f" {word[0].lower()}{code} ", text)


def tagged(word: str, language: str) -> str:
    """Return a word's stems in a language, with its code, joined by blanks."""
    return _forms(language)[word.lower()]


def has_script_stemmer(text: str) -> bool:
    """Whether a text has words whose script determines the stemmer."""
    return not text.isascii() and _any_scripted().search(text) is not None


def backwards(form: str) -> str:
    """Return the reversed key of a long stem, for suffix lookups."""
    bare, language = bare_form(form)
    return f"{bare[::-1]}{_BACKWARDS}{CODES[language]}"


def bare_form(form: str) -> tuple[str, str]:
    """Split a stem into its bare form and language (English without a code). Keys of `backwards` are reversed back."""
    code = form[-2:]
    if code not in _LANGUAGE_OF:
        return form, ENGLISH
    bare = form[:-2]
    return (bare[:-1][::-1] if bare.endswith(_BACKWARDS) else bare), _LANGUAGE_OF[code]


def forwards(form: str) -> str:
    """Return the stem of a `backwards` key; any other stem unchanged."""
    bare, language = bare_form(form)
    return form if language == ENGLISH else f"{bare}{CODES[language]}"


def _stem_scripted(word: re.Match[str]) -> str:
    return _stemmed(word.lastgroup or "", word[0].lower()) or word[0]


@cache
def _forms(language: str) -> _Forms:
    return _Forms(language)


class _Forms(dict[str, str]):
    """A cache of stems in one language, by the word as written."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language, self._code = language, CODES[language]

    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_CACHED:
            self.clear()
        forms = self[word] = word if is_joined(word) else " ".join(self._forms(word.lower()))
        return forms

    def _forms(self, word: str) -> list[str]:
        algorithm = STEMMERS[self._language]
        if self._language == "pt" and word.endswith(("ões", "ães", "oes")):
            word = f"{word[:-3]}ão"  # reuniões, which Snowball does not conflate with reunião
        # Without diacritics a word may have another stem, and many people omit them: index both.
        bare = plain(word).replace("ı", "i")
        stems = dict.fromkeys([plain(_stemmed(algorithm, word)).replace("ı", "i"), plain(_stemmed(algorithm, bare))])
        forms = [f"{stem}{self._code}" for stem in stems if stem]
        if self._language in COMPOUNDING:
            forms += [backwards(form) for form in forms[:1] if len(form) >= _LONG + len(self._code)]
        return forms


_MAX_CACHED = 100_000
_lock = threading.Lock()


def stem_words(words: list[str]) -> list[str]:
    """Stem many words as English."""
    with _lock:
        return list(_stemmer("english").stemWords(words))


def _stemmed(algorithm: str, word: str) -> str:
    with _lock:  # stemmers are stateful
        return str(_stemmer(algorithm).stemWord(word))


@cache
def _stemmer(algorithm: str) -> Any:
    import Stemmer  # type: ignore[import-not-found]  # compiled, without stubs

    return Stemmer.Stemmer(algorithm)
