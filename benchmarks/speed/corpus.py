"""Invented notes: words used as unevenly as a language's are, notes with lines, questions, and vectors for all.

Nothing is taken from anywhere, so that the numbers can be had again from the seed alone.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any
from zlib import crc32

SEED, VOCABULARY = 7, 60_000
CHUNK_CHARACTERS = 1200
"""What a chunk has of its own, beside what it shares with the one before it."""
FUNCTION_WORDS = (
    "the", "to", "and", "of", "a", "in", "i", "it", "is", "that", "you", "for", "on", "was", "he", "with", "be", "as",
    "at", "have", "this", "not", "but", "they", "from", "we", "his", "by", "she", "or", "an", "her", "had", "are", "my",
    "will", "one", "all", "would", "there", "their", "what", "so", "up", "out", "if", "about", "who", "which", "when",
    "me", "can", "like", "no", "just", "him", "know", "into", "your", "some", "could", "them", "than", "then", "its",
    "over", "also", "after", "how", "our", "these", "because", "any", "most", "us", "where", "why", "did", "do",
)  # fmt: skip
"""The words that hold sentences together are the most common ones of a language, and no question is about them."""
COMMONEST, RAREST = 120, 20_000
"""Between these places, by how common they are, stand the words that questions are about."""
STRESS = (8, 25, 70, 160, 400, 900, 2_000, 5_000, 12_000, 30_000)
"""Places of words for queries that are hard for an index: some are in nearly every text."""


def invent_words(count: int, chance: random.Random) -> list[str]:
    """Words that can be spoken, the most common first."""
    words: dict[str, None] = {}
    while len(words) < count:
        syllables = (
            chance.choice("bcdfghjklmnprstvwz") + chance.choice("aeiou")
            for _ in range(chance.choice((1, 2, 2, 3, 3, 4)))
        )
        words.setdefault("".join(syllables) + chance.choice(("", "n", "r", "st", "ck", "ng")))
    return list(words)


class Language:
    """A vocabulary in which the n-th word is used in proportion to 1/(n+2.7), and texts in it."""

    def __init__(self, chance: random.Random, *, function_words: Sequence[str] = FUNCTION_WORDS) -> None:
        invented = invent_words(VOCABULARY, chance)
        self.words = list(dict.fromkeys([*function_words, *invented]))
        self._reached = list(accumulate(1 / (number + 2.7) for number in range(len(self.words))))
        self._chance = chance

    def text(self, least: int, most: int) -> str:
        """Words in a row, of which one in ten is one of six that this text comes back to."""
        return " ".join(self._say(self._own_words(), self._chance.randint(least, most)))

    def note(self, characters: int) -> str:
        """A note: a heading, then lines of a sentence or two."""
        own = self._own_words()
        lines = [f"# {' '.join(word.capitalize() for word in own[:3])}", ""]
        length = 0
        while length < characters:
            words = self._say(own, self._chance.randint(6, 24))
            lines.append(f"{' '.join(words).capitalize()}.")
            length += len(lines[-1]) + 1
        return "\n".join(lines) + "\n"

    def question(self, words: int) -> str:
        """A question of so many words; one in three holds it together, the others are common, rare or between."""
        chance = self._chance
        spoken = [chance.choice(FUNCTION_WORDS) for _ in range(words // 3)]
        asked = [
            self.words[int(COMMONEST * (RAREST / COMMONEST) ** chance.random())] for _ in range(words - len(spoken))
        ]
        return " ".join([*spoken, *asked])

    def hard_query(self, words: int) -> str:
        """Words from the most common to the rarest."""
        picked = sorted(self._chance.sample(STRESS, words))
        return " ".join(self.words[min(len(self.words) - 1, int(r * self._chance.uniform(0.6, 1.6)))] for r in picked)

    def _own_words(self) -> list[str]:
        return [self.words[self._chance.randrange(200, len(self.words))] for _ in range(6)]

    def _say(self, own: Sequence[str], count: int) -> list[str]:
        chance, reached = self._chance, self._reached
        return [
            chance.choice(own) if chance.random() < 0.1 else self.words[bisect(reached, chance.random() * reached[-1])]
            for _ in range(count)
        ]


def write_notes(language: Language, workspace: Path, files: int, chunks_each: int) -> None:
    """So many notes below `memory/`, a hundred to a folder, each about as many chunks long."""
    for number, text in enumerate(invent_notes(language, files, chunks_each)):
        folder = workspace / "memory" / f"{number // 100:04}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"note-{number:06}.md").write_text(text, encoding="utf-8")


def invent_notes(language: Language, files: int, chunks_each: int) -> Iterator[str]:
    for _ in range(files):
        yield language.note(CHUNK_CHARACTERS * chunks_each)


class Vectors:
    """A provider that costs next to nothing: a text's vector is looked up by its checksum.

    Texts that begin with the same word lie around the same centre.
    """

    id, model = "bench", "checksums"
    dims = 256
    max_input_tokens = 1_000_000
    max_batch_items = 10_000
    _CENTRES, _NOISE = 300, 4096

    def __init__(self) -> None:
        import numpy

        source = numpy.random.default_rng(SEED)
        self._centres = source.standard_normal((self._CENTRES, self.dims)).astype(numpy.float32)
        self._noise = source.standard_normal((self._NOISE, self.dims)).astype(numpy.float32)

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: Sequence[str]) -> Any:
        import numpy

        sums = [crc32(text.encode()) for text in texts]
        centres = self._centres.take([crc32(text[:6].encode()) % self._CENTRES for text in texts], axis=0)
        rows = centres + self._noise.take([each % self._NOISE for each in sums], axis=0)
        rows += self._noise.take([each // self._NOISE % self._NOISE for each in sums], axis=0)
        rows /= numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows))[:, None]
        return rows
