"""Voyage: like OpenAI, but with `detail` for errors, input types, and settings of a batch beside its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memslot_wire.answer import Answer
from memslot_wire.jobs import Job
from memslot_wire.openai_format import OpenAIFormat
from memslot_wire.rows import vectors_for

if TYPE_CHECKING:
    from memslot_wire.server import WireServer


class VoyageFormat(OpenAIFormat):
    def error(self, status: int, message: str, code: str | None = None) -> Answer:
        return Answer(status, {"detail": message})

    def named(self, fault: str) -> Answer:
        large = (
            "Request to model 'voyage-4-large' failed. The max allowed tokens per submitted batch is 120000. "
            "Your batch has 154321 tokens after truncation. Please lower the number of tokens in the batch."
        )
        return {
            "quota": self.error(429, "Insufficient credits: your account has no balance left."),
            "too-large": self.error(400, large),
            "404-model": self.error(404, "Model nothing is not supported."),
        }[fault]

    def vectors(self, tree: Any) -> list[list[Any]]:
        return [row["embedding"] for row in tree["data"]]

    def with_vectors(self, tree: Any, rows: list[list[Any]]) -> Any:
        return {**tree, "data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}

    def _embed(self, server: WireServer, body: dict[str, Any]) -> Answer:
        texts = body["input"]
        if not isinstance(texts, list) or not texts or "" in texts or len(texts) > 1000:
            return self.error(400, "The batch size limit is 1000. Your batch size is out of bounds.")
        if body.get("input_type") not in ("query", "document", None):
            return self.error(400, "input_type is not valid")
        rows = vectors_for(texts, body.get("output_dimension") or 1024)
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
        return Answer(200, {"object": "list", "data": data, "model": body["model"], "usage": {"total_tokens": 1}})

    def _result(self, server: WireServer, job: Job, line: dict[str, Any]) -> dict[str, Any]:
        body = self._embed(server, {**job.told["request_params"], **line["body"]}).tree
        response = {"status_code": 200, "body": body}
        return {"batch_id": job.id, "custom_id": line["custom_id"], "response": response, "error": None}

    def _failure(self, line: dict[str, Any]) -> dict[str, Any]:
        response = {"status_code": 500, "message": "Internal Server Error"}
        return {"custom_id": line["custom_id"], "response": response, "error": None}
