"""The similarity of two texts to the agent's embedder, if that runs locally."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from memslot.threads import SingleFlight

if TYPE_CHECKING:
    from memslot.embeddings.selection import Selection

SECONDS = 1.0


class Likeness:
    """Returns cosines; None if there is no embedder, if it sends texts to a server, or if it fails.

    An embedder that hangs costs one second once; while it hangs, it is not called again.
    """

    def __init__(self, select: Callable[[], Selection]) -> None:
        self._select = select
        self._flight: SingleFlight[float | None] = SingleFlight("comparing two texts")

    def __call__(self, one: str, other: str) -> float | None:
        try:
            return self._flight.call(SECONDS, lambda: self._cosine(one, other))
        except Exception:  # whatever an embedder raises: recalling an item twice is better than failing
            return None

    def _cosine(self, one: str, other: str) -> float | None:
        selection = self._select()
        if selection.provider is None or selection.sends_text_away:
            return None
        from memslot.embeddings.vectors import unit_rows

        rows = unit_rows(selection.provider.embed_documents([one, other]), dims=None, provider=selection.provider.id)
        return float(rows[0] @ rows[1])
