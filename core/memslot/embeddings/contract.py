"""What an embedding provider is, and how a plugin describes one."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from memslot.errors import ProviderError

if TYPE_CHECKING:
    from memslot.config.search_model import MemorySearch

DEFAULT_BATCH_ITEMS = 100
DEFAULT_BATCH_TOKENS = 8000
QUERY_SECONDS, BATCH_SECONDS = 60.0, 120.0
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

Vector = Sequence[float]
"""One embedding. A numpy array is fine; the host makes it float32, finite and of length 1."""


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Turns text into vectors. Must be thread-safe."""

    @property
    def id(self) -> str:
        """The provider's name in the config."""

    @property
    def model(self) -> str:
        """The model's name; part of an index's identity."""

    @property
    def dims(self) -> int:
        """The length of a vector."""

    @property
    def max_input_tokens(self) -> int:
        """The maximum length of one text."""

    def embed_query(self, text: str) -> Vector:
        """Embed a search query."""

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Embed documents; return one vector each, in order."""


def batch_items_of(provider: EmbeddingProvider) -> int:
    """Return the maximum texts per request: the provider's `max_batch_items`, or a number all providers accept."""
    cap = getattr(provider, "max_batch_items", None)
    return cap if isinstance(cap, int) and cap > 0 else DEFAULT_BATCH_ITEMS


def batch_tokens_of(provider: EmbeddingProvider) -> int:
    """Return the maximum tokens per request: the provider's `max_batch_tokens`, or a number all can handle in time."""
    cap = getattr(provider, "max_batch_tokens", None)
    return cap if isinstance(cap, int) and cap > 0 else DEFAULT_BATCH_TOKENS


def timeouts_of(provider: EmbeddingProvider) -> tuple[float, float]:
    """Return the provider's `query_timeout` and `batch_timeout` in seconds, or defaults suited to servers."""
    query, batch = getattr(provider, "query_timeout", None), getattr(provider, "batch_timeout", None)
    return (
        float(query) if isinstance(query, int | float) and query > 0 else QUERY_SECONDS,
        float(batch) if isinstance(batch, int | float) and batch > 0 else BATCH_SECONDS,
    )


def key_of(provider: EmbeddingProvider) -> str:
    """What makes two providers' vectors comparable: the provider's `key`, or a digest of its id and model."""
    key = getattr(provider, "key", None)
    return key if isinstance(key, str) and key else provider_key(provider.id, provider.model)


def provider_key(
    provider_id: str, model: str, *, base_url: str | None = None, headers: Mapping[str, str] | None = None
) -> str:
    """SHA-256 of provider, address, model and those headers that carry no key."""
    plain = sorted((name.lower(), value) for name, value in (headers or {}).items() if not _is_auth_header(name))
    parts = [provider_id, (base_url or "").rstrip("/"), model, plain]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def _is_auth_header(name: str) -> bool:
    folded = name.lower()
    return any(word in folded for word in ("auth", "key", "token", "secret", "cookie"))


@dataclass(frozen=True)
class ProviderOptions:
    """What the user configured for the provider to be created."""

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    dimensions: int | None = None
    model_path: str | None = None
    model_cache_dir: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)

    def for_another_provider(self) -> ProviderOptions:
        """Return a copy without the configured provider's key, address and model; the local file is no secret."""
        return ProviderOptions(model_path=self.model_path, model_cache_dir=self.model_cache_dir, env=self.env)

    @property
    def identity(self) -> tuple[object, ...]:
        """Everything that distinguishes one provider from another, except the environment."""
        headers = tuple(sorted(self.headers.items()))
        where = (self.base_url, self.api_key, headers, self.model_path, self.model_cache_dir)
        return (self.model, self.dimensions, *where)

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

    `missing` says in one sentence what the options lack (a key, a file), or returns None if nothing is missing.
    `auto_order` is its place in the selection by "auto": lower comes first, None means never.
    """

    id: str
    create: Callable[[ProviderOptions], EmbeddingProvider]
    missing: Callable[[ProviderOptions], str | None] = _always_ready
    auto_order: int | None = None
    sends_text_away: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise ProviderError(f"a provider's id must be 1 to 64 letters, digits, _ or -, not {self.id!r}")
        if self.id in ("auto", "none"):
            raise ProviderError(f'a provider cannot be named "{self.id}": it is a reserved word in the config')


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
