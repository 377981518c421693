"""Ollama: /api/embed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memslot_wire.answer import Answer
from memslot_wire.rows import vectors_for

if TYPE_CHECKING:
    from memslot_wire.server import Seen, WireServer


class OllamaFormat:
    prefix = ""

    def answer(self, server: WireServer, seen: Seen) -> Answer:
        if seen.path != "/api/embed":
            return Answer(404, body=b"404 page not found", headers={"Content-Type": "text/plain"})
        body = seen.json
        if server.models is not None and body["model"] not in server.models:
            return self.error(404, f'model "{body["model"]}" not found, try pulling it first')
        rows = vectors_for(body["input"], body.get("dimensions") or server.dims)
        return Answer(200, {"model": body["model"], "embeddings": rows, "total_duration": 1, "prompt_eval_count": 1})

    def error(self, status: int, message: str) -> Answer:
        return Answer(status, {"error": message})

    def named(self, fault: str) -> Answer:
        return {
            "quota": self.error(429, "insufficient balance for this model"),
            "too-large": self.error(400, "the input length exceeds the context length"),
            "404-model": self.error(404, 'model "nothing" not found, try pulling it first'),
        }[fault]

    def vectors(self, tree: Any) -> list[list[Any]]:
        return list(tree["embeddings"])

    def with_vectors(self, tree: Any, rows: list[list[Any]]) -> Any:
        return {**tree, "embeddings": rows}

    def reordered(self, tree: Any) -> Any:
        return tree  # nothing in it says which is which
