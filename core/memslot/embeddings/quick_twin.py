"""A provider without the host: for a command that is answered by the quick door (`prepare_quick`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pathlib import Path

    from memslot.embeddings.contract import EmbeddingProvider
    from memslot.embeddings.vectors import Row


@runtime_checkable
class HasQuickTwin(Protocol):
    """An optional part: a provider that works in this process alone, and can be had again without its plugin."""

    def quick_twin(self, folder: Path) -> tuple[str, Mapping[str, Any]]:
        """`package.module:function` and the arguments with which that gives a provider that makes the same vectors.

        The arguments are kept in a file: plain JSON, and nothing secret. In `folder` it may keep what helps the twin,
        which may be deleted at any time.
        """


class QuickTwin:
    """Embeds queries as an `EmbeddingPipeline` does, for a provider that needs no patience: no network, no retries."""

    def __init__(self, entry: str, arguments: Mapping[str, Any]) -> None:
        from importlib import import_module

        module, _, function = entry.partition(":")
        self.provider: EmbeddingProvider = getattr(import_module(module), function)(**arguments)

    def embed_query(self, text: str) -> Row:
        """The unit row of what somebody searches for; ask `is_zero` before comparing it with anything."""
        from memslot.embeddings.vectors import unit_rows

        vector = self.provider.embed_query(text)
        row: Row = unit_rows([vector], dims=self.provider.dims, provider=self.provider.id)[0]
        return row

    def close(self) -> None:
        """Let the provider keep what helps the next time, if it has a `close` of its own."""
        close = getattr(self.provider, "close", None)
        if close is not None:
            close()

    @staticmethod
    def is_zero(row: Row) -> bool:
        """Whether a row says nothing. It must not be compared: search by keywords, and say so."""
        from memslot.embeddings.vectors import is_zero

        return is_zero(row)
