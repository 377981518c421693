"""OpenAI: /v1/embeddings, /v1/files and /v1/batches."""

from __future__ import annotations

import email.parser
import email.policy
import re
from typing import TYPE_CHECKING, Any

from memslot_wire.answer import Answer
from memslot_wire.jobs import Job, as_lines
from memslot_wire.rows import packed, unpacked, vectors_for

if TYPE_CHECKING:
    from memslot_wire.server import Seen, WireServer

KNOWN = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}


class OpenAIFormat:
    prefix = "/v1"

    def answer(self, server: WireServer, seen: Seen) -> Answer:
        if server.key is not None and seen.headers.get("authorization") != f"Bearer {server.key}":
            return self.error(401, "You didn't provide an API key, or a wrong one.", code="invalid_api_key")
        if seen.path == "/v1/embeddings":
            return self._embed(server, seen.json)
        if seen.path == "/v1/files":
            return self._take_file(server, seen)
        if seen.path == "/v1/batches":
            job = server.jobs.start(seen.json, seen.json["input_file_id"])
            return Answer(200, self._describe(server, job))
        if match := re.fullmatch(r"/v1/files/([\w-]+)/content", seen.path):
            return Answer(200, body=server.jobs.files[match[1]], headers={"Content-Type": "application/octet-stream"})
        if (match := re.fullmatch(r"/v1/batches/([\w-]+)(/cancel)?", seen.path)) and match[1] in server.jobs.jobs:
            job = server.jobs.jobs[match[1]]
            if match[2]:
                job.ahead = ["cancelling", "cancelled"]
            else:
                job.look()
            return Answer(200, self._describe(server, job))
        return self.error(404, "Invalid URL")

    def error(self, status: int, message: str, code: str | None = None) -> Answer:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return Answer(status, {"error": {"message": message, "type": kind, "param": None, "code": code}})

    def named(self, fault: str) -> Answer:
        quota = "You exceeded your current quota, please check your plan and billing details."
        long = "This model's maximum context length is 8192 tokens, however you requested 9000 tokens (9000 in prompt)."
        model = "The model `nothing` does not exist or you do not have access to it."
        return {
            "quota": self.error(429, quota, code="insufficient_quota"),
            "too-large": self.error(400, long),
            "404-model": self.error(404, model, code="model_not_found"),
        }[fault]

    # Vectors, for the faults

    def vectors(self, tree: Any) -> list[list[Any]]:
        rows = [row["embedding"] for row in tree["data"]]
        return [unpacked(row) if isinstance(row, str) else row for row in rows]

    def with_vectors(self, tree: Any, rows: list[list[Any]]) -> Any:
        written = [row if None in row or "many" in row else packed(row) for row in rows]
        return {**tree, "data": [{"index": i, "embedding": row} for i, row in enumerate(written)]}

    def reordered(self, tree: Any) -> Any:
        return {**tree, "data": tree["data"][::-1]}

    def _embed(self, server: WireServer, body: dict[str, Any]) -> Answer:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        if not texts or "" in texts or len(texts) > 2048:
            return self.error(400, "'$.input' is invalid. Please check the API reference.")
        dims = body.get("dimensions") or KNOWN.get(body["model"], server.dims)
        as_text = body.get("encoding_format") == "base64" and not server.plain_floats
        rows = [packed(row) if as_text else row for row in vectors_for(texts, dims)]
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return Answer(200, {"object": "list", "data": data, "model": body["model"], "usage": usage})

    # Batch jobs

    def _take_file(self, server: WireServer, seen: Seen) -> Answer:
        fields = read_form(seen)
        assert fields["purpose"] == b"batch"
        name = server.jobs.keep(fields["file"])
        return Answer(200, {"id": name, "object": "file", "purpose": "batch", "filename": "memslot.jsonl"})

    def _describe(self, server: WireServer, job: Job) -> dict[str, Any]:
        over = job.status in ("completed", "expired", "cancelled")
        good, bad, late = server.jobs.split(job, lambda line: "FAIL" in str(line["body"]["input"]))
        if over and job.output is None:
            job.output = server.jobs.keep(as_lines([self._result(server, job, line) for line in good]))
            if bad or late:
                failed = [*map(self._failure, bad), *map(self._lateness, late)]
                job.errors = server.jobs.keep(as_lines(failed))
        told = {"object": "list", "data": [{"code": "bad_line", "message": "line 3 is no good", "line": 3}]}
        return {
            "id": job.id,
            "object": "batch",
            "status": job.status,
            "errors": told if job.status == "failed" else None,
            "output_file_id": job.output,
            "error_file_id": job.errors,
            "request_counts": {"total": len(job.lines), "completed": len(good) * over, "failed": len(bad) * over},
        }

    def _result(self, server: WireServer, job: Job, line: dict[str, Any]) -> dict[str, Any]:
        body = self._embed(server, line["body"]).tree
        response = {"status_code": 200, "request_id": "req", "body": body}
        return {"id": "batch_req", "custom_id": line["custom_id"], "response": response, "error": None}

    def _failure(self, line: dict[str, Any]) -> dict[str, Any]:
        response = {"status_code": 400, "request_id": "req", "body": self.error(400, "this text is no good").tree}
        return {"id": "batch_req", "custom_id": line["custom_id"], "response": response, "error": None}

    def _lateness(self, line: dict[str, Any]) -> dict[str, Any]:
        error = {"code": "batch_expired", "message": "This request could not be executed before it expired."}
        return {"id": "batch_req", "custom_id": line["custom_id"], "response": None, "error": error}


def read_form(seen: Seen) -> dict[str, bytes]:
    """The fields of a multipart form."""
    head = f"Content-Type: {seen.headers['content-type']}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + seen.body)
    fields = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        fields[str(name)] = part.get_payload(decode=True)
    return fields
