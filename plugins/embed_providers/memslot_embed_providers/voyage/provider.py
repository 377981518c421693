"""Voyage AI's embeddings, and its batch jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memslot import encodable

from memslot_embed_providers.openai_protocol import OpenAIProtocol


class VoyageProvider(OpenAIProtocol):
    """Embeds texts with Voyage AI's API."""

    id = "voyage"
    name = "Voyage"
    default_url = "https://api.voyageai.com/v1"
    default_model = "voyage-4-large"
    known_dims = dict.fromkeys(("voyage-4-large", "voyage-4", "voyage-4-lite", "voyage-3.5", "voyage-3-large"), 1024)
    max_input_tokens = 32_000
    max_batch_items = 1000
    max_file_bytes = 1_000_000_000

    def _auth_headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.service.key}"}

    def _settings(self, *, query: bool) -> dict[str, Any]:
        settings: dict[str, Any] = {"model": self.model, "input_type": "query" if query else "document"}
        if self.dimensions is not None:
            settings["output_dimension"] = self.dimensions
        return settings

    def _batch_lines(self, requests: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
        return ({"custom_id": name, "body": {"input": [encodable(text) or " "]}} for name, text in requests)

    def _batch_settings(self) -> dict[str, Any]:
        return {"completion_window": "12h", "request_params": self._settings(query=False)}
