"""Embeds a query without the host, for a command that is answered by the quick door (`prepare_quick`)."""

from __future__ import annotations

import math
from array import array

from memslot.errors import ProviderError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from memslot.embeddings.contract import EmbeddingProvider

_LARGEST = 3.4028234663852886e38
"""Of the 32-bit numbers; what is beyond it counts as infinite, and so as 0, as in all vectors."""


class QuickTwin:
    """Embeds queries as an `EmbeddingPipeline` does, for a provider that needs no patience: no network, no retries.

    Rows are arrays of 32-bit numbers; numpy is not asked for them, since importing it takes longer than a search.
    """

    def __init__(self, entry: str, arguments: Mapping[str, Any]) -> None:
        from importlib import import_module

        module, _, function = entry.partition(":")
        self.provider: EmbeddingProvider = getattr(import_module(module), function)(**arguments)

    def embed_query(self, text: str) -> array[float]:
        """The unit row of what somebody searches for; ask `is_zero` before comparing it with anything."""
        vector = list(map(float, self.provider.embed_query(text)))
        dims = self.provider.dims
        if dims is not None and len(vector) != dims:
            raise ProviderError(
                f"{self.provider.id} returned vectors of {len(vector)} dimensions where {dims} were due"
            )
        finite = [number if abs(number) <= _LARGEST else 0.0 for number in vector]
        length = math.hypot(*finite) or 1.0
        return array("f", [number / length for number in finite])

    def close(self) -> None:
        """Let the provider give back what it holds, if it has a `close` of its own."""
        close = getattr(self.provider, "close", None)
        if close is not None:
            close()

    @staticmethod
    def is_zero(row: array[float]) -> bool:
        """Whether a row says nothing. It must not be compared: search by keywords, and say so."""
        return not any(row)
