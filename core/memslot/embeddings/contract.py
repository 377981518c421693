"""What an embedding provider is, and how a plugin describes one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from memslot.errors import ProviderError

if TYPE_CHECKING:
    from memslot.config.search_model import MemorySearch

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

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

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise ProviderError(f"a provider's id is 1 to 64 letters, digits, _ or -, not {self.id!r}")


def misfit(value: Any) -> str | None:
    """Why something cannot be used as an embedding provider, or None."""
    lacks = [name for name in ("id", "model", "dims", "max_input_tokens") if not hasattr(value, name)]
    lacks += [name for name in ("embed_query", "embed_documents") if not callable(getattr(value, name, None))]
    if lacks:
        return f"{type(value).__name__} lacks {', '.join(lacks)}"
    for name in ("dims", "max_input_tokens"):
        number = getattr(value, name)
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            return f"its {name} is {number!r}, not a whole number above 0"
    if not isinstance(value.model, str) or not value.model:
        return f"its model is {value.model!r}, not a name"
    return None
