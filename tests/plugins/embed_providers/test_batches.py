"""Batch jobs: handed in as one file, asked about, fetched by custom id, cancelled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from memslot import (
    BatchJobs,
    BatchState,
    EmbeddingPipeline,
    InputTooLargeError,
    ProviderBusyError,
    ProviderError,
    ProviderRefusedError,
    embed_in_batches,
)

WITH_JOBS = ["openai", "gemini", "voyage"]
TEXTS = [(f"id-{i}", f"text number {i} — 試験 é") for i in range(5)]


def _run(provider: Any, requests: list[tuple[str, str]]) -> tuple[str, list[BatchState]]:
    job = provider.submit_batch(requests)
    states = [provider.poll_batch(job)]
    while states[-1].status == "running":
        states.append(provider.poll_batch(job))
        assert len(states) < 9
    return job, states


@pytest.mark.parametrize("name", WITH_JOBS)
def test_a_job_gives_the_vectors_that_plain_calls_give(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    provider = make(name, base_url=server.url)
    assert isinstance(provider, BatchJobs)

    job, states = _run(provider, TEXTS)

    assert [state.status for state in states] == ["running", "done"]
    assert states[-1] == BatchState("done")
    results = provider.fetch_batch(job)
    assert {custom_id: list(vector) for custom_id, vector in results.items()} == {
        custom_id: list(provider.embed_documents([text])[0]) for custom_id, text in TEXTS
    }


def test_openai_gets_what_it_documents(wire: Any, make: Any, key: str) -> None:
    server = wire("openai")
    server.key = key
    provider = make("openai", base_url=server.url, dimensions=256, headers={"X-Team": "orchid"})
    provider.submit_batch(TEXTS[:2])

    upload, create = server.seen
    assert (upload.method, upload.path, create.method, create.path) == ("POST", "/v1/files", "POST", "/v1/batches")
    assert upload.headers["content-type"].startswith("multipart/form-data")
    assert upload.headers["x-team"] == "orchid"
    (content,) = server.jobs.files.values()
    assert [json.loads(line) for line in content.decode().splitlines()] == [
        {
            "custom_id": custom_id,
            "method": "POST",
            "url": "/v1/embeddings",
            "body": {
                "input": text,
                "model": "text-embedding-3-small",
                "encoding_format": "base64",
                "dimensions": 256,
            },
        }
        for custom_id, text in TEXTS[:2]
    ]
    assert create.json == {"input_file_id": "file-1", "endpoint": "/v1/embeddings", "completion_window": "24h"}


def test_voyage_gets_what_it_documents(wire: Any, make: Any) -> None:
    server = wire("voyage")
    make("voyage", base_url=server.url, dimensions=512).submit_batch(TEXTS[:2])

    upload, create = server.seen
    assert (upload.path, create.path) == ("/v1/files", "/v1/batches")
    (content,) = server.jobs.files.values()
    lines = [{"custom_id": custom_id, "body": {"input": [text]}} for custom_id, text in TEXTS[:2]]
    assert [json.loads(line) for line in content.decode().splitlines()] == lines
    assert create.json == {
        "endpoint": "/v1/embeddings",
        "completion_window": "12h",
        "request_params": {"model": "voyage-4-large", "input_type": "document", "output_dimension": 512},
        "input_file_id": "file-1",
    }


def test_gemini_gets_what_it_documents(wire: Any, make: Any, key: str) -> None:
    server = wire("gemini")
    server.key = key
    provider = make("gemini", base_url=server.url, dimensions=128)
    job, _ = _run(provider, TEXTS[:1])
    provider.fetch_batch(job)

    begin, upload, create = server.seen[:3]
    assert begin.path == upload.path == "/upload/v1beta/files"
    assert begin.headers["x-goog-upload-protocol"] == "resumable"
    assert begin.headers["x-goog-upload-command"] == "start"
    assert begin.headers["x-goog-upload-header-content-type"] == "application/jsonl"
    assert begin.headers["x-goog-upload-header-content-length"] == str(len(upload.body))
    assert upload.headers["x-goog-upload-command"] == "upload, finalize"
    assert upload.headers["x-goog-upload-offset"] == "0"
    assert json.loads(upload.body) == {
        "key": "id-0",
        "request": {
            "model": "models/gemini-embedding-001",
            "content": {"parts": [{"text": TEXTS[0][1]}]},
            "taskType": "RETRIEVAL_DOCUMENT",
            "outputDimensionality": 128,
        },
    }
    assert create.path == "/v1beta/models/gemini-embedding-001:asyncBatchEmbedContent"
    assert create.json == {"batch": {"displayName": "memslot", "inputConfig": {"fileName": "files/1"}}}
    assert server.seen[-1].path == "/download/v1beta/files/3:download"
    assert all(seen.headers["x-goog-api-key"] == key for seen in server.seen)


@pytest.mark.parametrize("name", WITH_JOBS)
def test_a_text_that_fails_spoils_no_other(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    provider = make(name, base_url=server.url)

    job, states = _run(provider, [("good", "fine"), ("bad", "FAIL"), ("also", "fine too")])

    assert states[-1].status == "done"
    results = provider.fetch_batch(job)
    assert set(results) == {"good", "bad", "also"}
    assert results["bad"] == ("Internal Server Error" if name == "voyage" else "this text is no good")
    assert len(results["good"]) == len(results["also"]) == 64


@pytest.mark.parametrize("name", WITH_JOBS)
def test_a_job_that_fails_says_why(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    server.jobs.ahead = ("validating", "failed")
    provider = make(name, base_url=server.url)
    job, states = _run(provider, TEXTS)
    assert (states[-1].status, states[-1].reason) == ("failed", "line 3 is no good")
    assert provider.fetch_batch(job) == {}


@pytest.mark.parametrize("name", WITH_JOBS)
def test_a_job_that_expires_says_so(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    server.jobs.ahead = ("in_progress", "expired")
    server.jobs.unfinished = 2
    provider = make(name, base_url=server.url)
    job, states = _run(provider, TEXTS)

    assert (states[-1].status, states[-1].reason) == ("expired", "the job expired before it was finished")
    results = provider.fetch_batch(job)
    if name != "gemini":  # which has no results of a job that expired
        assert {custom_id for custom_id, result in results.items() if not isinstance(result, str)} == {
            "id-0",
            "id-1",
            "id-2",
        }
        assert results["id-4"] == "This request could not be executed before it expired."


def test_voyage_completes_a_job_that_ran_out_of_time(wire: Any, make: Any) -> None:
    server = wire("voyage")
    server.jobs.unfinished = 2
    provider = make("voyage", base_url=server.url)
    job, states = _run(provider, TEXTS)
    assert states[-1].status == "done"
    assert sum(isinstance(result, str) for result in provider.fetch_batch(job).values()) == 2


@pytest.mark.parametrize("name", WITH_JOBS)
def test_a_job_can_be_cancelled(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    server.jobs.ahead = ("in_progress",)
    provider = make(name, base_url=server.url)
    job = provider.submit_batch(TEXTS)
    assert provider.poll_batch(job).status == "running"
    provider.cancel_batch(job)
    assert provider.poll_batch(job).status == "cancelled"


@pytest.mark.parametrize("name", WITH_JOBS)
def test_another_provider_object_takes_a_job_up(name: str, wire: Any, make: Any) -> None:
    """As after a restart."""
    server = wire(name)
    server.jobs.ahead = ("completed",)
    job = make(name, base_url=server.url).submit_batch(TEXTS)
    assert set(make(name, base_url=server.url).fetch_batch(job)) == {custom_id for custom_id, _ in TEXTS}


@pytest.mark.parametrize("name", WITH_JOBS)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("503", ProviderBusyError),
        ("reset", ProviderBusyError),
        ("half", ProviderBusyError),
        ("401-echo", ProviderRefusedError),
        ("quota", ProviderRefusedError),
        ("html-200", ProviderError),
        ("redirect", ProviderError),
        ("huge", ProviderError),
    ],
)
def test_faults_are_the_same_errors_as_in_plain_calls(
    name: str, fault: str, kind: type[ProviderError], wire: Any, make: Any, key: str
) -> None:
    server = wire(name)
    server.jobs.ahead = ("completed",)
    provider = make(name, base_url=server.url)
    job = provider.submit_batch(TEXTS)
    server.fail(fault)
    calls = [
        lambda: provider.submit_batch(TEXTS),
        lambda: provider.poll_batch(job),
        lambda: provider.fetch_batch(job),
        lambda: provider.cancel_batch(job),
    ]
    for call in calls:
        with pytest.raises(ProviderError) as caught:
            call()
        assert key not in str(caught.value)
        assert caught.value.__context__ is None
        assert type(caught.value) is kind, caught.value


@pytest.mark.parametrize("name", WITH_JOBS)
def test_results_that_break_off_are_worth_another_try(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    server.jobs.ahead = ("completed",)
    provider = make(name, base_url=server.url)
    job = provider.submit_batch(TEXTS)
    for content in ("cut off", "[1]", '"text"'):
        _, output = provider.poll_batch(job), list(server.jobs.files)[-1]
        whole = server.jobs.files[output]
        server.jobs.files[output] = content.encode()
        with pytest.raises(ProviderError, match="a line that is not a JSON object"):
            provider.fetch_batch(job)
        server.jobs.files[output] = whole
    assert len(provider.fetch_batch(job)) == 5


@pytest.mark.parametrize("name", WITH_JOBS)
def test_a_broken_vector_spoils_its_own_line(name: str, wire: Any, make: Any) -> None:
    server = wire(name)
    server.jobs.ahead = ("completed",)
    provider = make(name, base_url=server.url)
    job = provider.submit_batch(TEXTS[:2])
    provider.poll_batch(job)
    output = list(server.jobs.files)[-1]
    first, second = map(json.loads, server.jobs.files[output].splitlines())
    if name == "gemini":
        first["response"]["embedding"]["values"] = ["x"]
    else:
        first["response"]["body"]["data"] = []
    server.jobs.files[output] = f"{json.dumps(first)}\n\n{json.dumps(second)}".encode()
    results = provider.fetch_batch(job)
    assert sorted(isinstance(result, str) for result in results.values()) == [False, True]


@pytest.mark.parametrize("name", WITH_JOBS)
@pytest.mark.parametrize("job", ["..", "../files", "a/b", "batches/..", "batches/../x", "", "x?y=1", "batches/a b"])
def test_a_job_id_never_leads_to_another_address(name: str, job: str, wire: Any, make: Any) -> None:
    """The id comes from a file of ours, which somebody may have edited."""
    server = wire(name)
    with pytest.raises(ProviderError):
        make(name, base_url=server.url).poll_batch(job)
    assert server.seen == []


def test_an_upload_that_is_sent_elsewhere_is_refused(wire: Any, make: Any) -> None:
    from memslot_wire.answer import Answer

    server, other = wire("gemini"), wire("gemini")
    answer = server.answer
    server.answer = lambda seen: (
        Answer(200, {}, headers={"X-Goog-Upload-URL": f"{other.origin}/upload"})
        if seen.path.startswith("/upload")
        else answer(seen)
    )
    with pytest.raises(ProviderError, match="another address, which must not get the key"):
        make("gemini", base_url=server.url).submit_batch(TEXTS)
    assert other.seen == []


def test_a_job_that_is_too_large_is_said_before_anything_is_sent(wire: Any, make: Any) -> None:
    server = wire("openai")
    with pytest.raises(InputTooLargeError, match="50000 requests"):
        make("openai", base_url=server.url).submit_batch([(str(i), "x") for i in range(50_001)])
    assert server.seen == []


def test_ollama_has_no_jobs(make: Any) -> None:
    assert not isinstance(make("ollama"), BatchJobs)


@pytest.mark.parametrize("name", WITH_JOBS)
def test_the_host_runs_jobs_and_mends_what_failed_in_them(name: str, wire: Any, make: Any, tmp_path: Path) -> None:
    server = wire(name)
    provider = make(name, base_url=server.url)
    texts = [text for _, text in TEXTS] + ["FAIL in the job, fine in a plain call"]
    pipeline = EmbeddingPipeline(provider)
    try:
        rows = embed_in_batches(pipeline, texts, folder=tmp_path, poll_interval=0.01)
    finally:
        pipeline.close()
    assert rows.shape == (6, 64)
    for row, text in zip(rows, texts, strict=True):
        assert row == pytest.approx(list(provider.embed_documents([text])[0]), abs=1e-5)
    assert len(server.jobs.jobs) == 1
