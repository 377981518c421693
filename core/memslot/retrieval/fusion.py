"""Fusion: merges the results of several memories into one list, on one scale, without duplicates."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from memslot.retrieval.relevance import WEAK_SCORE
from memslot.retrieval.sameness import may_mean_same, means_same, says

Cosine = Callable[[str, str], float | None]
"""The cosine similarity of two texts; None without an embedder."""
_END = " .!。！\n"
_MOST_CHARS = 20_000
"""Characters of a text to compare; no more of it is ever shown."""
_JUST_WEAK = WEAK_SCORE - 0.001
_TENFOLD = 0.1
"""The bonus of a text over another a tenth as long, if there is no room for both.

On LoCoMo, notes beside their lines as memories: with a score of 0.5, one of six passages holds the answer and one of
seven lines; with 0.8, one of two and two of five. By scores alone the first six hold it for 91.1 % of the questions,
with this for 92.2 %, as many as those of the notes alone. With one half of the conversations in each it makes no
difference (78 %).
"""


def fuse(
    texts: Sequence[str],
    scores: Sequence[float],
    sources: Sequence[str],
    *,
    weak: Collection[str] = (),
    cosine: Cosine = lambda one, other: None,
) -> list[tuple[int, float]]:
    """Order texts of several sources, best first: the index of each that is kept, with its score.

    A score means the same in every source (`calibrated`); results of a source that calls its own results weak count
    as weak. Of two texts from different sources that say the same, the one that says more stays, with the better score.
    """
    texts = [text[:_MOST_CHARS] for text in texts]
    kept: dict[int, float] = {}
    capped = [
        min(score, _JUST_WEAK) if source in weak else score for score, source in zip(scores, sources, strict=True)
    ]
    for index in sorted(range(len(texts)), key=lambda index: -capped[index]):
        others = [other for other in kept if sources[other] != sources[index]]
        if any(_covers(texts[other], texts[index], cosine) for other in others):
            continue
        said = [other for other in others if _covers(texts[index], texts[other], cosine)]
        kept[index] = max([capped[index], *(kept.pop(other) for other in said)])
    places = {source: place for place, source in enumerate(dict.fromkeys(sources))}
    return sorted(kept.items(), key=lambda pair: (-pair[1], places[sources[pair[0]]], pair[0]))


def shortlist(texts: Sequence[str], scores: Sequence[float], most: int) -> list[int]:
    """Return the indexes of the texts most likely to hold the answer, in order, given texts sorted best first.

    The first is always kept. Of others with similar scores, longer ones are preferred: a score says how well a text
    fits, and a passage has more room for the answer than a line.
    """

    def worth(index: int) -> float:
        return scores[index] + _TENFOLD * math.log10(max(1, len(texts[index])))

    others = sorted(range(1, len(texts)), key=worth, reverse=True)
    return sorted([0, *others][:most]) if texts else []


def _covers(text: str, other: str, cosine: Cosine) -> bool:
    """Whether a text makes another one redundant, by its words or else by its meaning."""
    if says(text, other):
        return True
    # Embedders find "tea" and "tea." less alike than a person does.
    return may_mean_same(text, other) and means_same(text, other, cosine(text.rstrip(_END), other.rstrip(_END)))
