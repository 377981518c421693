"""What an embedding provider is, and how a plugin describes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from memslot.config.search_model import MemorySearch

Vector = Sequence[float]
"""One embedding. A numpy array is fine; the host makes it float32, finite and of length 1."""


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Turns text into vectors. Used from several threads at once."""

    @property
    def id(self) -> str:
        """The provider's name in the config."""

    @property
    def model(self) -> str:
        """Which model is used; part of an index's identity."""

    @property
    def dims(self) -> int:
        """How many numbers a vector has."""

    @property
    def max_input_tokens(self) -> int:
        """How long one text may be."""

    def embed_query(self, text: str) -> Vector:
        """Embed what somebody searches for."""

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Embed texts to be found; one vector each, in their order."""


@dataclass(frozen=True)
class ProviderOptions:
    """What the person configured for the provider that is about to be created."""

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    dimensions: int | None = None
    model_path: str | None = None
    model_cache_dir: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_settings(cls, settings: MemorySearch, env: Mapping[str, str]) -> ProviderOptions:
        return cls(
            model=settings.model,
            base_url=settings.remote.base_url,
            api_key=settings.remote.api_key,
            headers=settings.remote.headers,
            dimensions=settings.dimensions,
            model_path=settings.local.model_path,
            model_cache_dir=settings.local.model_cache_dir,
            env=env,
        )


def _always_ready(options: ProviderOptions) -> str | None:
    return None


@dataclass(frozen=True)
class EmbeddingProviderSpec:
    """A provider as `register_embedding_providers` returns it.

    `missing` says in one sentence what the options lack (a key, a file), or None when it can be created.
    `auto_order` is its place when the person asks for "auto": lower comes first, None means never.
    """

    id: str
    create: Callable[[ProviderOptions], EmbeddingProvider]
    missing: Callable[[ProviderOptions], str | None] = _always_ready
    auto_order: int | None = None
    sends_text_away: bool = True


def misfit(value: Any) -> str | None:
    """Why something cannot be used as an embedding provider, or None."""
    lacks = [name for name in ("id", "model", "dims", "max_input_tokens") if not hasattr(value, name)]
    lacks += [name for name in ("embed_query", "embed_documents") if not callable(getattr(value, name, None))]
    return f"{type(value).__name__} lacks {', '.join(lacks)}" if lacks else None
