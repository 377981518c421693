"""Exact and near duplicates among the notes."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memslot_memory_core.audit.findings import DUPLICATE, NEAR_DUPLICATE, Finding, NoteLines
from memslot_memory_core.audit.notes import Note
from memslot_memory_core.audit.passages import Passage
from memslot_memory_core.index.tokenizer import stems
from memslot_memory_core.sources.chunking import weigh

MIN_WEIGHT = 20
"""Shorter passages ("call Anna", "done") are too generic to count as duplicates. A CJK character weighs four."""
SIMILAR = 0.8
"""Minimum Jaccard similarity of two passages' stems."""
MIN_STEMS = 8
"""With fewer distinct words, a single differing word makes a different statement."""
MOST_COMPARED = 40
"""Most passages one is compared with, those sharing the most rare words first."""
_MAX_POSTING = 200


class Occurrence(NamedTuple):
    """A passage and the note it is from."""

    note: Note
    passage: Passage

    @property
    def spot(self) -> NoteLines:
        return NoteLines(self.note.path, self.passage.start_line, self.passage.end_line)

    @property
    def excerpt(self) -> str:
        return self.note.excerpt(self.passage.start_line, self.passage.end_line)


def find_duplicates(occurrences: Iterable[Occurrence]) -> list[Finding]:
    """Passages with the same text, one finding per text."""
    return [
        _finding(DUPLICATE, same, "duplicate text; keep one copy")
        for same in _by_key(occurrences).values()
        if len(same) > 1
    ]


def find_near_duplicates(occurrences: Iterable[Occurrence]) -> list[Finding]:
    """Passages that share most of their words and all of their numbers; exact duplicates count once.

    Numbers must agree, since the entries of a log differ in little else.
    """
    texts = [same[0] for same in _by_key(occurrences).values() if not same[0].passage.is_code]
    action = "near duplicate; merge the passages, or make the difference explicit"
    return [_finding(NEAR_DUPLICATE, [texts[one] for one in group], action) for group in _similar_groups(texts)]


def _by_key(occurrences: Iterable[Occurrence]) -> dict[str, list[Occurrence]]:
    found: dict[str, list[Occurrence]] = defaultdict(list)
    for place in occurrences:
        key = place.passage.key
        if weigh(key) >= MIN_WEIGHT:
            found[key].append(place)
    return found


def _finding(kind: str, occurrences: Sequence[Occurrence], action: str) -> Finding:
    first, *others = occurrences
    return Finding(kind, first.spot, first.excerpt, action, tuple(place.spot for place in others))


class _Words(NamedTuple):
    """A text's distinct stems, rarest first, and those of them that are numbers."""

    number: int
    stems: tuple[str, ...]
    all: frozenset[str]
    numbers: frozenset[str]


def _similar_groups(texts: Sequence[Occurrence]) -> list[list[int]]:
    """Groups of similar texts, as indices into `texts`; each member is similar to the group's first.

    Two texts that share at least 80 % of their words share one of the rarest 20 % of them. So a text is compared only
    with those that share such a word: no pair is missed, and few are compared.
    """
    leaders: dict[int, _Words] = {}
    members: dict[int, list[int]] = {}
    postings: dict[str, list[int]] = defaultdict(list)
    for words in sorted(_words_of(texts), key=lambda words: (len(words.stems), words.number)):
        rare = words.stems[: len(words.stems) - math.ceil(SIMILAR * len(words.stems)) + 1]
        shared = Counter(leader for stem in rare for leader in postings[stem])
        for leader, _ in shared.most_common(MOST_COMPARED):
            if _are_similar(leaders[leader], words):
                members[leader].append(words.number)
                break
        else:
            leaders[words.number], members[words.number] = words, [words.number]
            for stem in rare:
                if len(postings[stem]) < _MAX_POSTING:
                    postings[stem].append(words.number)
    return sorted(sorted(group) for group in members.values() if len(group) > 1)


def _words_of(texts: Sequence[Occurrence]) -> list[_Words]:
    all_stems = [frozenset(stems(place.passage.text)) for place in texts]
    frequency = Counter(stem for each in all_stems for stem in each)
    return [
        _Words(
            number,
            tuple(sorted(each, key=lambda stem: (frequency[stem], stem))),
            each,
            frozenset(stem for stem in each if any(map(str.isdigit, stem))),
        )
        for number, each in enumerate(all_stems)
        if len(each) >= MIN_STEMS
    ]


def _are_similar(one: _Words, other: _Words) -> bool:
    if one.numbers != other.numbers:
        return False
    common = len(one.all & other.all)
    return common >= SIMILAR * (len(one.all) + len(other.all) - common)
