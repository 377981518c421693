"""Single parts of the ranking taken out, one at a time, to see what each is worth.

The product has no switches for these, so its functions are replaced here for as long as a system is measured.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest.mock import patch

Ablation = Callable[[], contextlib.AbstractContextManager[object]]


def _without_focus() -> contextlib.AbstractContextManager[object]:
    """The query keeps what it shares with every question and every text."""
    from memslot.retrieval.meaning import MeaningScale

    return patch.object(MeaningScale, "focus", lambda self, query: query)


@contextlib.contextmanager
def _without_line_evidence() -> Iterator[None]:
    """Words count by the share of BM25 alone; snippets still show the best lines."""
    from memslot_memory_core.search import ranking

    score = ranking._score

    def score_unread(*arguments: Any) -> Any:
        with patch.object(ranking, "gather_evidence", lambda texts, matcher: [None] * len(texts)):
            return score(*arguments)

    with patch.object(ranking, "_score", score_unread):
        yield


def _without_square() -> contextlib.AbstractContextManager[object]:
    """Words count by their share, not by its square."""
    from memslot_memory_core.search import ranking

    relevance_of = ranking.relevance_of
    return patch.object(
        ranking, "relevance_of", lambda words, *rest, **named: relevance_of(math.sqrt(max(0.0, words)), *rest, **named)
    )


def _without_dates() -> contextlib.AbstractContextManager[object]:
    """A date in a question is nothing but words."""
    from memslot_memory_core.search import candidate

    return patch.object(candidate, "find_dates", lambda query, today: ((), query))


def _background_noise() -> contextlib.AbstractContextManager[object]:
    """The noise of a query is measured on the background alone."""
    from memslot.retrieval.meaning import MeaningScale

    noise = MeaningScale.noise

    def of_background(self: Any, focused: Any, sample: Any = None) -> Any:
        return noise(self, focused, (self._texts if sample is None else sample)[:0])

    return patch.object(MeaningScale, "noise", of_background)


def _sample_noise() -> contextlib.AbstractContextManager[object]:
    """The noise of a query is measured on the memory's own texts alone."""
    from memslot.retrieval.meaning import MeaningScale

    noise = MeaningScale.noise

    def of_sample(self: Any, focused: Any, sample: Any = None) -> Any:
        # A memory without transcripts has no sample of the user's lines, and no use for its noise.
        texts = self._texts if sample is None or not len(sample) else sample
        return noise(MeaningScale(None, self._texts), focused, texts)

    return patch.object(MeaningScale, "noise", of_sample)


ABLATIONS: Mapping[str, Ablation] = {
    "without focus": _without_focus,
    "without line evidence": _without_line_evidence,
    "without the square": _without_square,
    "without dates": _without_dates,
    "background noise only": _background_noise,
    "sample noise only": _sample_noise,
}
