"""Spans of a query in a script without spaces: runs of letters, cut at stop words.

The bigrams of a span become query terms. Which of them are words, and which straddle two, is up to
`cjk_segmentation`, which knows an index's document frequencies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from memslot.retrieval.cjk_stop_words import (
    HIRAGANA_WORDS,
    KOREAN_ENDINGS,
    KOREAN_PARTICLES,
    KOREAN_WORDS,
    PARTICLES,
    WEAK,
    WEAK_IN_CHINESE,
    cuts,
)
from memslot.retrieval.scripts import pair_of, script_of, units

_FIRST_SYLLABLE = 0xAC00
_VOWELS, _FINALS = 21, 28
# Final consonants of a verb's last syllable in its inflections: none, n, l, m, p, ss.
_VERB_FINALS = (0, 4, 8, 16, 17, 20)
_BEFORE_A_NOUN = (4, 8, 20)
# Vowels that contract with the ending after them (내리 내렸, 보 봤, 배우 배웠, 하 했, 쓰 썼), by index.
_CONTRACTED = {20: 6, 6: 20, 8: 9, 9: 8, 13: 14, 14: 13, 0: 1, 1: 0, 18: 4}


@dataclass(frozen=True)
class QuerySpan:
    """Letters between stop words, and the query terms (`stems`) made of them.

    `alone`: letters that may be words by themselves. `weak`: letters that rarely belong to the adjacent word.
    `forms`: the last two syllables in other inflections of a Korean verb.
    """

    letters: tuple[str, ...]
    stems: tuple[str, ...]
    alone: tuple[str, ...] = ()
    weak: frozenset[str] = frozenset()
    forms: tuple[str, ...] = ()


def query_spans(runs: Sequence[str]) -> list[QuerySpan]:
    """Cut a query's unspaced runs into the spans worth searching for."""
    japanese = any("\u3041" <= letter <= "\u30ff" for run in runs for letter in run)
    weak = WEAK if japanese else WEAK_IN_CHINESE
    return [span for run in runs for span in _cut_run(run, weak)]


def whole_span(run: str) -> QuerySpan:
    """Return a run as one span, including stop words."""
    letters = tuple(units(run))
    return QuerySpan(letters, _distinct(pairs(letters)))


def pairs(letters: Sequence[str]) -> list[str]:
    """Return the bigrams of letters; a lone letter stays as it is."""
    if len(letters) < 2:
        return list(letters)
    return [pair_of(letter, following) for letter, following in pairwise(letters)]


def kinds_of(letters: Iterable[str]) -> list[str]:
    """Return the script of each letter; hiragana differs from katakana, and is an `ending` after a kanji."""
    kinds = []
    hiragana = "hiragana"
    for letter in letters:
        kind = hiragana if "\u3041" <= letter[0] <= "\u309f" else script_of(letter)
        if kind == "han":
            hiragana = "ending"
        kinds.append(kind)
    return kinds


def _distinct(stems: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(stems))


def _cut_run(run: str, weak: frozenset[str]) -> Iterator[QuerySpan]:
    for part in re.split("([\uac00-\ud7a3]+)", run):
        if "\uac00" <= part[:1] <= "\ud7a3":
            yield from _cut_korean(part)
        elif part:
            yield from _cut_at_stop_words(part, weak)


# Korean


def _cut_korean(word: str) -> Iterator[QuerySpan]:
    if word in KOREAN_WORDS or word in KOREAN_PARTICLES:
        return
    root, ending = _without_ending(word)
    if root in KOREAN_WORDS:
        return
    if ending in KOREAN_PARTICLES:
        if len(root) > 1:
            yield QuerySpan(tuple(root), _distinct(pairs(root)))
        else:
            # A noun with its particle, or a word that ends like one: search for both.
            yield QuerySpan((root,), _distinct([root, *pairs(word)[:1]]))
    elif ending and len(root) > 1:
        yield QuerySpan(tuple(root), _distinct(pairs(root)), forms=_forms(root))
    else:
        verb = word.endswith(("어", "아")) or _parts(word[-1])[2] in _BEFORE_A_NOUN
        yield QuerySpan(tuple(word), _distinct(pairs(word)), forms=_forms(word) if verb else ())


def _without_ending(word: str) -> tuple[str, str]:
    for ending in KOREAN_ENDINGS:
        if word.endswith(ending) and len(word) > len(ending):
            return word[: -len(ending)], ending
    return word, ""


def _forms(root: str) -> tuple[str, ...]:
    """Return the last two syllables in other inflections of the verb: 끝낸 for 끝냈, 내린 for 내렸."""
    if len(root) < 2:
        return ()
    lead, vowel, final = _parts(root[-1])
    if final not in _VERB_FINALS:
        return ()
    others = [_syllable(lead, each, end) for each in {vowel, _CONTRACTED.get(vowel, vowel)} for end in _VERB_FINALS]
    return tuple(root[-2] + other for other in sorted(others) if other != root[-1])


def _parts(syllable: str) -> tuple[int, int, int]:
    rest, final = divmod(ord(syllable) - _FIRST_SYLLABLE, _FINALS)
    return (*divmod(rest, _VOWELS), final)


def _syllable(lead: int, vowel: int, final: int) -> str:
    return chr(_FIRST_SYLLABLE + (lead * _VOWELS + vowel) * _FINALS + final)


# Chinese, Japanese and the others


def _cut_at_stop_words(run: str, weak: frozenset[str]) -> Iterator[QuerySpan]:
    start = 0
    for cut in [*cuts().finditer(run), None]:
        end = cut.start() if cut else len(run)
        start = _behind_grammar(run, start, end)
        letters = () if _is_grammar(run[start:end]) else tuple(units(run[start:end]))
        if len(letters) == 1:
            stems = _distinct(_lone_letter(run, start, end, weak))
            if stems:
                yield QuerySpan(letters, stems)
        elif letters:
            span = _pair_up(letters, weak)
            if span.stems:
                yield span
        start = cut.end() if cut else len(run)


@cache
def _grammar() -> re.Pattern[str]:
    words = "|".join(sorted(HIRAGANA_WORDS, key=lambda word: (-len(word), word)))
    # Possessive, as backtracking over a long run is exponential.
    return re.compile(f"(?>(?:{words})|[{PARTICLES}](?:{words}))++(?![ぁ-ゖ])")


def _is_grammar(text: str) -> bool:
    """Whether a text consists of hiragana function words: ように, ようになった."""
    return _grammar().fullmatch(text) is not None


def _behind_grammar(run: str, start: int, end: int) -> int:
    """Skip leading function words: しまう根菜 is about 根菜."""
    found = _grammar().match(run, start, end)
    return found.end() if found is not None and found.end() < end else start


def _pair_up(letters: tuple[str, ...], weak: frozenset[str]) -> QuerySpan:
    kinds = kinds_of(letters)
    stems = []
    for number, pair in enumerate(pairs(letters)):
        if letters[number] in weak and letters[number + 1] in weak:
            continue
        if kinds[number] == "ending" or (kinds[number] == "hiragana" and kinds[number + 1] != "hiragana"):
            continue  # straddles the end of a Japanese word
        stems.append(pair)
    alone = [letter for letter, kind in zip(letters, kinds, strict=True) if kind == "han" and letter not in weak]
    return QuerySpan(letters, _distinct(stems or alone), _distinct(alone), weak)


def _lone_letter(run: str, start: int, end: int, weak: frozenset[str]) -> Iterator[str]:
    """A letter between stop words, and its bigrams with Han neighbours, of which it may be a part (目的)."""
    letter = run[start:end]
    if letter in weak and len(run) > 1:
        return
    yield letter
    if start and run[start - 1] not in "的了" and script_of(run[start - 1]) == "han":
        yield run[start - 1] + letter
    if end < len(run) and script_of(run[end]) == "han":
        yield letter + run[end]
