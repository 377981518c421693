"""OpenAI's embeddings, and its batch jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from memslot import encodable

from memslot_embed_providers.openai_protocol import OpenAIProtocol


class OpenAIProvider(OpenAIProtocol):
    """Embeds texts with OpenAI's API or a compatible server."""

    id = "openai"
    name = "OpenAI"
    default_url = "https://api.openai.com/v1"
    default_model = "text-embedding-3-small"
    known_dims: ClassVar = {
        "text-embedding-3-small": 1536,
        "text-embedding-3-large": 3072,
        "text-embedding-ada-002": 1536,
    }
    max_input_tokens = 8191
    max_batch_items = 2048
    max_file_bytes = 200_000_000

    def _auth_headers(self) -> Mapping[str, str]:
        # Some self-hosted servers check that there is a key, but not which.
        return {"Authorization": f"Bearer {self.service.key or 'none'}"}

    def _settings(self, *, query: bool) -> dict[str, Any]:
        settings: dict[str, Any] = {"model": self.model, "encoding_format": "base64"}
        if self.dimensions is not None:
            settings["dimensions"] = self.dimensions
        return settings

    def _batch_lines(self, requests: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
        for custom_id, text in requests:
            body = {"input": encodable(text) or " ", **self._settings(query=False)}
            yield {"custom_id": custom_id, "method": "POST", "url": "/v1/embeddings", "body": body}

    def _batch_settings(self) -> dict[str, Any]:
        return {"completion_window": "24h"}
