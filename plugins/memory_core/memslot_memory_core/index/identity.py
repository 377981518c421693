"""The identity of an index: the settings it was built with. Another identity means another index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memslot import EmbeddingProvider

    from memslot_memory_core.settings import SearchSettings

PARTS_VERSION = 1  # of the rules of memslot.retrieval.parts
_VECTOR_PARTS = ("provider", "model", "key", "dims")
_NAMES = {
    "provider": "the embedding provider",
    "model": "the embedding model",
    "key": "the provider's address or headers",
    "dims": "the length of the vectors",
    "tokens": "the chunk size",
    "overlap": "the chunk overlap",
    "sources": "the sources",
    "words": "the tokenization rules",
    "parts": "vectors of the parts of chunks",
}

WORDS_VERSION = 4
"""Version of the text passed to FTS5; a new one makes an index stale."""


@dataclass(frozen=True)
class Identity:
    """Provider, chunking and sources of an index; without a provider it has keywords only."""

    provider: str | None
    model: str | None
    key: str | None
    dims: int | None
    tokens: int
    overlap: int
    sources: tuple[str, ...]
    words: int = WORDS_VERSION
    """Version of the tokenization rules."""
    parts: int = 0
    """Version of the rules that split chunks into parts; 0 if parts are not embedded."""

    @classmethod
    def of(
        cls,
        settings: SearchSettings,
        sources: tuple[str, ...],
        provider: EmbeddingProvider | None,
        *,
        parts: bool = False,
    ) -> Identity:
        tokens, overlap, named = settings.chunking.tokens, settings.chunking.overlap, tuple(sorted(sources))
        if provider is None:
            return cls(None, None, None, None, tokens, overlap, named)
        from memslot import key_of

        made = PARTS_VERSION if parts else 0
        return cls(provider.id, provider.model, key_of(provider), provider.dims, tokens, overlap, named, parts=made)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Identity:
        return cls(**{"words": 0, "parts": 0, **data, "sources": tuple(data["sources"])})

    def to_json(self) -> dict[str, Any]:
        return {**vars(self)}

    @property
    def space(self) -> tuple[str, str, str] | None:
        """The vector space, or None without a provider."""
        if self.provider is None or self.model is None or self.key is None:
            return None
        return self.provider, self.model, self.key

    def with_vectors_of(self, other: Identity) -> Identity:
        """This layout with another identity's vectors."""
        vectors = {name: getattr(other, name) for name in (*_VECTOR_PARTS, "parts")}
        return replace(self, **vectors)

    def is_comparable(self, other: Identity) -> bool:
        """Whether the two share a vector space."""
        return self.provider is not None and all(getattr(self, p) == getattr(other, p) for p in _VECTOR_PARTS)

    def same_layout(self, other: Identity) -> bool:
        """Whether the same files give the same chunks and words."""
        return (self.tokens, self.overlap, self.sources, self.words) == (
            other.tokens,
            other.overlap,
            other.sources,
            other.words,
        )

    def differences(self, other: Identity) -> list[str]:
        """What differs between the two, one phrase each."""
        return [
            f"{name}: {_shown(getattr(self, part))} → {_shown(getattr(other, part))}" if part != "key" else name
            for part, name in _NAMES.items()
            if getattr(self, part) != getattr(other, part)
        ]


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return "none" if value is None else str(value)
