"""Gemini: embedContent, batchEmbedContents, the Files API and asyncBatchEmbedContent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from memslot_wire.answer import Answer
from memslot_wire.jobs import Job, as_lines
from memslot_wire.rows import vectors_for

if TYPE_CHECKING:
    from memslot_wire.server import Seen, WireServer

STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
STATUSES |= {409: "ABORTED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}
QUOTA = "type.googleapis.com/google.rpc.QuotaFailure"
DAILY = "EmbedContentRequestsPerDayPerProjectPerModel-FreeTier"
WORDS = {"validating": "PENDING", "in_progress": "RUNNING", "completed": "SUCCEEDED"}


class GeminiFormat:
    prefix = "/v1beta"

    def answer(self, server: WireServer, seen: Seen) -> Answer:
        if server.key is not None and seen.headers.get("x-goog-api-key") != server.key:
            return self.error(400, "API key not valid. Please pass a valid API key.")
        if match := re.fullmatch(r"/v1beta/models/([\w.-]+):(\w+)", seen.path):
            return self._model_call(server, match[1], match[2], seen.json)
        if seen.path == "/upload/v1beta/files":
            if seen.headers.get("x-goog-upload-command") == "start":
                return Answer(200, {}, headers={"X-Goog-Upload-URL": f"{server.origin}{seen.path}?upload_id=1"})
            name = server.jobs.keep(seen.body, "files/")
            return Answer(200, {"file": {"name": name, "state": "ACTIVE"}})
        if match := re.fullmatch(r"/v1beta/(batches/\w+)(:cancel)?", seen.path):
            return self._job_call(server, match[1], bool(match[2]))
        if match := re.fullmatch(r"/download/v1beta/(files/\w+):download", seen.path):
            assert seen.query == {"alt": ["media"]}
            return Answer(200, body=server.jobs.files[match[1]], headers={"Content-Type": "application/octet-stream"})
        return self.error(404, "Requested entity was not found.")

    def error(self, status: int, message: str, details: list[Any] | None = None) -> Answer:
        error = {"code": status, "message": message, "status": STATUSES.get(status, "UNKNOWN")}
        return Answer(status, {"error": {**error, "details": details} if details else error})

    def named(self, fault: str) -> Answer:
        quota = "You exceeded your current quota, please check your plan and billing details."
        daily = [{"@type": QUOTA, "violations": [{"quotaId": DAILY}]}]
        model = "models/nothing is not found for API version v1beta, or is not supported for embedContent."
        return {
            "quota": self.error(429, quota, daily),
            "too-large": self.error(400, "Request payload size exceeds the limit: 36000 bytes."),
            "404-model": self.error(404, model),
        }[fault]

    # Vectors, for the faults

    def vectors(self, tree: Any) -> list[list[Any]]:
        rows = [tree["embedding"]] if "embedding" in tree else tree["embeddings"]
        return [row["values"] for row in rows]

    def with_vectors(self, tree: Any, rows: list[list[Any]]) -> Any:
        values = [{"values": row} for row in rows]
        if "embedding" in tree:
            return {"embedding": values[0]} if values else {}
        return {"embeddings": values}

    def reordered(self, tree: Any) -> Any:
        return tree  # nothing in it says which is which

    def _model_call(self, server: WireServer, model: str, verb: str, body: dict[str, Any]) -> Answer:
        if verb == "embedContent":
            return Answer(200, {"embedding": {"values": self._vector(server, body)}})
        if verb == "batchEmbedContents":
            requests = body["requests"]
            if len(requests) > 100:
                return self.error(400, "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch")
            if any(request["model"] != f"models/{model}" for request in requests):
                return self.error(400, "the model in each of these requests must match")
            return Answer(200, {"embeddings": [{"values": self._vector(server, each)} for each in requests]})
        if verb == "asyncBatchEmbedContent":
            job = server.jobs.start(body, body["batch"]["inputConfig"]["fileName"], "batches/")
            return Answer(200, self._describe(server, job))
        return self.error(404, "no such method")

    def _vector(self, server: WireServer, request: dict[str, Any]) -> list[float]:
        dims = request.get("outputDimensionality") or (3072 if "embedding-001" in request["model"] else server.dims)
        return vectors_for([request["content"]["parts"][0]["text"]], dims)[0]

    # Batch jobs

    def _job_call(self, server: WireServer, name: str, cancels: bool) -> Answer:
        if name not in server.jobs.jobs:
            return self.error(404, "Requested entity was not found.")
        job = server.jobs.jobs[name]
        if cancels:
            job.ahead = ["in_progress", "cancelled"]
            return Answer(200, {})
        job.look()
        return Answer(200, self._describe(server, job))

    def _describe(self, server: WireServer, job: Job) -> dict[str, Any]:
        over = job.status in ("completed", "failed", "expired", "cancelled")
        good, bad, _ = server.jobs.split(job, lambda line: "FAIL" in str(line["request"]))
        if job.status == "completed" and job.output is None:
            results = [{"key": line["key"], "response": self._result(server, line)} for line in good]
            failures = [{"key": line["key"], "error": {"code": 3, "message": "this text is no good"}} for line in bad]
            job.output = server.jobs.keep(as_lines([*results, *failures]), "files/")
        state = f"BATCH_STATE_{WORDS.get(job.status, job.status.upper())}"
        stats = {"requestCount": str(len(job.lines)), "successfulRequestCount": str(len(good) * over)}
        operation: dict[str, Any] = {
            "name": job.id,
            "metadata": {"state": state, "batchStats": {**stats, "failedRequestCount": str(len(bad) * over)}},
            "done": over,
        }
        if job.output:
            operation["response"] = {"responsesFile": job.output}
        if job.status == "failed":
            operation["error"] = {"code": 13, "message": "line 3 is no good"}
        return operation

    def _result(self, server: WireServer, line: dict[str, Any]) -> dict[str, Any]:
        return {"embedding": {"values": self._vector(server, line["request"])}}
