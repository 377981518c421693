"""Words as numbers: what a search reads of a text is read once, and then looked for in rows of numbers.

Every word that was met has a number, the same in all searches of this process, and its stems, as the keyword index
holds them. Where a script has no spaces, each letter and each pair of letters is a word.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from memslot_memory_core.index.keyword_scripts import fold, spread, unspaced
from memslot_memory_core.index.terms import stems, tokens

if TYPE_CHECKING:
    import re

LINE_END = 0
"""Stands behind the words of each line."""
_MOST_WORDS = 200_000
_MOST_TEXTS = 8_192  # about 1 kB each

_BLANKED = bytes(code if code == 10 or code > 127 or chr(code).isalnum() else 32 for code in range(256))
"""UTF-8 with ASCII punctuation as blanks: cutting at these is three times as fast as a pattern."""
IN_RUN = "="
"""Marks a letter or a pair out of a run without spaces. No other word has it, since punctuation is blanked."""
_MARKED = bytes([32, ord(IN_RUN), *_BLANKED[2:]])
_NO_WORDS = str.maketrans(dict.fromkeys("\1“”„‘’«»…—–·•", " "))


def cut(text: str) -> str:
    """The text with a blank between any two words, and its lines as they are."""
    if text.isascii():
        return text.encode().translate(_BLANKED).decode()
    text = unspaced().sub(_mark_run, fold(text).translate(_NO_WORDS))
    return text.encode(errors="replace").translate(_MARKED).decode()


def split(line: str) -> list[str]:
    """The words of a line as they stand in it; a run without spaces is one."""
    return line.encode(errors="replace").translate(_BLANKED).decode().split()


def _mark_run(run: re.Match[str]) -> str:
    return "".join(f" \1{word}" for word in spread(run[0]).split()) + " "


class Vocabulary:
    """The words met so far. Threads may share it: words are only ever added."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = {"\0": LINE_END}
        self._holding: dict[str, list[int]] = {}
        self._texts: dict[int, bytes] = {}
        self.words = [""]
        """By number, in lower case where capitals make no difference."""

    def __len__(self) -> int:
        return len(self.words)

    def read(self, texts: Sequence[str]) -> list[bytes]:
        """The words of each text as numbers of 32 bits, `LINE_END` behind each line."""
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
        """The words that have this stem."""
        return self._holding.get(stem, ())

    def _keep(self, texts: Mapping[int, bytes]) -> None:
        with self._lock:
            while len(self._texts) + len(texts) > _MOST_TEXTS and self._texts:
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
            for each, held in stems_of(unknown).items():
                here = len(self.words)
                self.words.append(each.lstrip(IN_RUN))  # first: other threads count them
                for stem in held:
                    self._holding.setdefault(stem, []).append(here)
                number[each] = here
            number.update((word, number[each]) for word, each in spelling.items())


_vocabulary = Vocabulary()


def vocabulary() -> Vocabulary:
    """This process's; a new one when the old one has become too large. A search keeps the one it began with."""
    global _vocabulary
    if len(_vocabulary) > _MOST_WORDS:
        _vocabulary = Vocabulary()
    return _vocabulary


def spelled(word: str) -> str:
    """A word in lower case where capitals make no difference: a word writtenLikeThis holds several."""
    return word.lower() if word.islower() or word.istitle() or word.isupper() else word


def stems_of(words: Sequence[str]) -> dict[str, Sequence[str]]:
    """What the keyword index holds of each word."""
    simple = [word for word in words if word.isascii() and word.isalpha() and word.islower()]
    found = tokens(" ".join(simple))
    held: dict[str, Sequence[str]] = {}
    if len(found) == len(simple):  # one call for all is ten times as fast as one for each
        held = {word: (stem,) for word, stem in zip(simple, found, strict=True)}
    for word in words:
        if word not in held:
            held[word] = tuple(dict.fromkeys(tokens(word[1:]) if word.startswith(IN_RUN) else stems(word)))
    return held
