"""Interned words: texts become arrays of word ids, and each word is stemmed once per process.

In scripts without spaces, every letter and bigram is a word. A non-English word carries its language's code, like its
stems: the same letters may be a word in both languages.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from memslot.retrieval.languages import ENGLISH, bare_form, languages_of, mark, tagged
from memslot.retrieval.scripts import fold, spread, unspaced
from memslot.retrieval.terms import stems
from memslot.retrieval.tokenizer import UNICODE_TOKENIZER, Tokenizer

if TYPE_CHECKING:
    import re

LINE_END = 0
"""Terminates each line."""
_MAX_WORDS = 200_000
_MAX_TEXTS = 8_192  # about 1 kB each

_BLANKED = bytes(code if code == 10 or code > 127 or chr(code).isalnum() else 32 for code in range(256))
"""Blanks ASCII punctuation in UTF-8: splitting at blanks is three times as fast as a pattern."""
IN_RUN = "="
"""Marks letters of an unspaced run. Unambiguous, since punctuation is blanked."""
_MARKED = bytes([32, ord(IN_RUN), *_BLANKED[2:]])
_NO_WORDS = str.maketrans(dict.fromkeys("\1“”„‘’«»…—–·•", " "))


def cut(text: str) -> str:
    """Separate all words by blanks, and append the language's code to foreign ones; line breaks stay."""
    languages = languages_of(text)
    if text.isascii():
        text = text.encode().translate(_BLANKED).decode()
    else:
        folded = fold(text, keep_dotless="tr" in languages)
        text = unspaced().sub(_mark_run, folded.translate(_NO_WORDS))
        text = text.encode(errors="replace").translate(_MARKED).decode()
    if languages == [ENGLISH]:
        return text
    lines = text.split("\n")
    each = languages if len(languages) > 1 else [languages[0]] * len(lines)
    marked = (line if language == ENGLISH else mark(line, language) for line, language in zip(lines, each, strict=True))
    return "\n".join(marked)


def split(line: str) -> list[str]:
    """Return the words of a line as written; an unspaced run is one word."""
    return line.encode(errors="replace").translate(_BLANKED).decode().split()


def _mark_run(run: re.Match[str]) -> str:
    return "".join(f" \1{word}" for word in spread(run[0]).split()) + " "


class Vocabulary:
    """The words seen so far. Thread-safe and append-only."""

    def __init__(self, tokenizer: Tokenizer = UNICODE_TOKENIZER) -> None:
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._number = {"\0": LINE_END}
        self._holding: dict[str, list[int]] = {}
        self._texts: dict[int, bytes] = {}
        self.words = [""]
        """Words by id; lower case unless the capitals matter (`camelCase`)."""

    def __len__(self) -> int:
        return len(self.words)

    def read(self, texts: Sequence[str]) -> list[bytes]:
        """Return each text as 32-bit word ids, with `LINE_END` after each line."""
        keys = [hash(text) for text in texts]
        found = [self._texts.get(key) for key in keys]
        fresh = [place for place, each in enumerate(found) if each is None]
        if fresh:
            cuts = [f"{cut(texts[place])}\n".replace("\n", " \0 ").split() for place in fresh]
            self._learn(cuts)
            for place, words in zip(fresh, cuts, strict=True):
                found[place] = array("I", list(map(self._number.__getitem__, words))).tobytes()
            self._keep({keys[place]: found[place] or b"" for place in fresh})
        return [each or b"" for each in found]

    def holding(self, stem: str) -> Sequence[int]:
        """Return the ids of the words with this stem."""
        return self._holding.get(stem, ())

    def _keep(self, texts: Mapping[int, bytes]) -> None:
        with self._lock:
            while len(self._texts) + len(texts) > _MAX_TEXTS and self._texts:
                del self._texts[next(iter(self._texts))]
            self._texts.update(texts)

    def _learn(self, cuts: Iterable[Sequence[str]]) -> None:
        number = self._number
        met = set().union(*cuts).difference(number)
        if not met:
            return
        spelling = {word: spelled(word) for word in met}
        with self._lock:
            unknown = [each for each in dict.fromkeys(spelling.values()) if each not in number]
            for each, held in stems_of(unknown, self._tokenizer).items():
                here = len(self.words)
                self.words.append(bare_form(each)[0].lstrip(IN_RUN))  # first: other threads read its length
                for stem in held:
                    self._holding.setdefault(stem, []).append(here)
                number[each] = here
            number.update((word, number[each]) for word, each in spelling.items())


_shared: dict[Tokenizer, Vocabulary] = {}


def shared_vocabulary(tokenizer: Tokenizer) -> Vocabulary:
    """Return the process-wide vocabulary of a tokenizer, replaced when too large; running searches keep theirs."""
    known = _shared.get(tokenizer)
    if known is None or len(known) > _MAX_WORDS:
        known = _shared[tokenizer] = Vocabulary(tokenizer)
    return known


def spelled(word: str) -> str:
    """Lower-case a word unless it is camelCase, which contains several."""
    return word.lower() if word.islower() or word.istitle() or word.isupper() else word


def stems_of(words: Sequence[str], tokenizer: Tokenizer) -> dict[str, Sequence[str]]:
    """Return the stems of each word."""
    simple = [word for word in words if word.isascii() and word.isalpha() and word.islower()]
    found = tokenizer.stems(" ".join(simple))
    held: dict[str, Sequence[str]] = {}
    if len(found) == len(simple):  # one call for all is ten times as fast as one per word
        held = {word: (stem,) for word, stem in zip(simple, found, strict=True)}
    for word in words:
        if word not in held:
            held[word] = tuple(dict.fromkeys(_stems(word, tokenizer)))
    return held


def _stems(word: str, tokenizer: Tokenizer) -> list[str]:
    if word.startswith(IN_RUN):
        return tokenizer.stems(word[1:])
    bare, language = bare_form(word)
    if language != ENGLISH:
        return tokenizer.stems(tagged(bare, language))
    return stems(word, tokenizer, ENGLISH)
