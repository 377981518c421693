"""Identity of vectors: only vectors of one identity are comparable."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from memslot import EmbeddingPipeline


@dataclass(frozen=True)
class Identity:
    """An embedder: provider, model and dimensions; `key` distinguishes servers."""

    provider: str
    model: str
    key: str
    dims: int

    @classmethod
    def of(cls, pipeline: EmbeddingPipeline) -> Identity:
        provider = pipeline.provider
        return cls(provider.id, provider.model, pipeline.cache_key("").provider_key, provider.dims)

    @property
    def digest(self) -> str:
        """A short digest, stored in rows."""
        parts = json.dumps([self.provider, self.model, self.key, self.dims])
        return hashlib.sha256(parts.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, tree: Any) -> Identity | None:
        """The inverse of `to_json`; None for invalid input."""
        try:
            return cls(str(tree["provider"]), str(tree["model"]), str(tree["key"]), int(tree["dims"]))
        except (KeyError, TypeError, ValueError):
            return None

    def __str__(self) -> str:
        return f"{self.provider} ({self.model}, {self.dims} dimensions)"
