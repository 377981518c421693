"""Batch jobs: handed in once, waited for, taken up again after a kill, and replaced by plain calls where they fail."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
from memslot import (
    BatchJobs,
    BatchState,
    EmbeddingCancelledError,
    EmbeddingPipeline,
    MemoryCache,
    ProviderBusyError,
    ProviderError,
    ProviderRefusedError,
    embed_in_batches,
)
from memslot.embeddings.circuit import Circuits
from memslot.embeddings.retries import RetryPolicy
from memslot.testing import HashingProvider

TEXTS = [f"text number {n}" for n in range(25)]
Script = Callable[[str, int], BatchState]


class BatchProvider(HashingProvider):
    """Jobs that end as a script says: it is told the job and how often it was looked at before."""

    id, model = "batched", "batched-1"

    def __init__(self, script: Script = lambda job, looks: BatchState("done")) -> None:
        super().__init__(dims=16)
        self.script = script
        self.jobs: dict[str, dict[str, str]] = {}
        self.looks: dict[str, int] = {}
        self.cancelled: list[str] = []
        self.plain: list[str] = []
        self.most_at_once = 0
        self.spoil: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda results: results
        self._open: set[str] = set()

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.plain += texts
        return super().embed_documents(texts)

    def submit_batch(self, requests: Sequence[tuple[str, str]]) -> str:
        job = f"job-{len(self.jobs) + 1}"
        self.jobs[job] = dict(requests)
        self._open.add(job)
        self.most_at_once = max(self.most_at_once, len(self._open))
        return job

    def poll_batch(self, job_id: str) -> BatchState:
        self.looks[job_id] = self.looks.get(job_id, -1) + 1
        state = self.script(job_id, self.looks[job_id])
        if state.status != "running":
            self._open.discard(job_id)
        return state

    def fetch_batch(self, job_id: str) -> Mapping[str, Any]:
        made = {each: self._embed(text) for each, text in self.jobs[job_id].items()}
        return self.spoil(dict(reversed(made.items())))

    def cancel_batch(self, job_id: str) -> None:
        self.cancelled.append(job_id)


def run(provider: BatchProvider, folder: Path, **options: Any) -> Any:
    cache = options.pop("cache", None)
    texts = options.pop("texts", TEXTS)
    pipeline = EmbeddingPipeline(provider, cache=cache, circuits=Circuits(), retries=RetryPolicy(first_wait=0.01))
    return embed_in_batches(pipeline, texts, folder=folder, **{"poll_interval": 0.01, **options})


def expected(texts: Sequence[str] = TEXTS) -> Any:
    return numpy.array(HashingProvider(dims=16).embed_documents(texts), dtype=numpy.float32)


def stored(folder: Path) -> list[Any]:
    return [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]


def running_for(looks: int, then: str = "done") -> Script:
    return lambda job, seen: BatchState("running" if seen < looks else then)  # type: ignore[arg-type]


def test_a_provider_with_the_four_methods_has_batch_jobs() -> None:
    assert isinstance(BatchProvider(), BatchJobs)
    assert not isinstance(HashingProvider(), BatchJobs)


def test_rows_come_back_in_order_and_each_text_is_handed_in_once(tmp_path: Path) -> None:
    provider, cache = BatchProvider(running_for(3)), MemoryCache()
    rows = run(provider, tmp_path, cache=cache, texts=[*TEXTS, *TEXTS[:5], " "])
    assert numpy.allclose(rows[:30], expected([*TEXTS, *TEXTS[:5]]), atol=1e-6)
    assert not rows[30].any()
    assert [list(job.values()) for job in provider.jobs.values()] == [TEXTS]
    assert provider.plain == []
    assert stored(tmp_path) == []
    assert len(cache) == 25


def test_cached_texts_are_in_no_job(tmp_path: Path) -> None:
    provider, cache = BatchProvider(), MemoryCache()
    run(provider, tmp_path, cache=cache, texts=TEXTS[:20])
    run(provider, tmp_path, cache=cache)
    assert list(provider.jobs["job-2"].values()) == TEXTS[20:]
    run(provider, tmp_path, cache=cache)
    assert len(provider.jobs) == 2


def test_jobs_are_no_larger_and_no_more_at_once_than_allowed(tmp_path: Path) -> None:
    provider = BatchProvider(running_for(3))
    rows = run(provider, tmp_path, requests_per_job=4, concurrency=2)
    assert numpy.allclose(rows, expected(), atol=1e-6)
    assert [len(job) for job in provider.jobs.values()] == [4] * 6 + [1]
    assert provider.most_at_once == 2


def test_a_job_is_on_disk_before_anybody_waits_for_it_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "jobs"

    def script(job: str, looks: int) -> BatchState:
        (file,) = folder.glob("*.json")
        tree = json.loads(file.read_text())
        assert tree["job"] == "job-1"
        assert tree["hashes"] == list(provider.jobs["job-1"])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert not any(text in file.read_text() for text in TEXTS)
        return BatchState("done")

    provider = BatchProvider(script)
    run(provider, folder)
    assert provider.looks == {"job-1": 0}


def test_a_long_text_goes_by_plain_calls(tmp_path: Path) -> None:
    provider = BatchProvider()
    provider.max_input_tokens = 10
    rows = run(provider, tmp_path, texts=["short", "a much longer text " * 10])
    assert list(provider.jobs["job-1"].values()) == ["short"]
    assert len(provider.plain) > 1
    assert rows.any(axis=1).all()


def test_what_a_job_could_not_embed_goes_by_plain_calls(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    provider = BatchProvider()

    def spoil(results: Mapping[str, Any]) -> Mapping[str, Any]:
        kept = dict(results)
        ids = list(provider.jobs["job-1"])
        kept[ids[0]] = "the model was overloaded"
        del kept[ids[1]]
        kept[ids[2]] = [1.0, 2.0]
        return {**kept, "nobody-asked": [1.0] * 16}

    provider.spoil = spoil
    assert numpy.allclose(run(provider, tmp_path), expected(), atol=1e-6)
    assert provider.plain == TEXTS[:3]
    assert "3 of the 25 texts" in caplog.text
    assert "the model was overloaded" in caplog.text


def test_an_expired_job_is_handed_in_once_more(tmp_path: Path) -> None:
    provider = BatchProvider(lambda job, looks: BatchState("expired" if job == "job-1" else "done"))
    assert numpy.allclose(run(provider, tmp_path), expected(), atol=1e-6)
    assert (len(provider.jobs), provider.plain) == (2, [])


def test_a_job_that_expires_again_goes_by_plain_calls(tmp_path: Path) -> None:
    provider = BatchProvider(lambda job, looks: BatchState("expired"))
    assert numpy.allclose(run(provider, tmp_path), expected(), atol=1e-6)
    assert (len(provider.jobs), provider.plain) == (2, TEXTS)
    assert stored(tmp_path) == []


def test_after_two_failures_everything_goes_by_plain_calls(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    provider = BatchProvider(lambda job, looks: BatchState("failed", reason="no capacity"))
    assert numpy.allclose(run(provider, tmp_path, requests_per_job=10, concurrency=1), expected(), atol=1e-6)
    assert len(provider.jobs) == 2
    assert sorted(provider.plain) == sorted(TEXTS)
    assert caplog.text.count("no capacity") == 2
    assert "plain calls" in caplog.text


def test_a_failed_job_is_handed_in_again_while_failures_are_few(tmp_path: Path) -> None:
    provider = BatchProvider(lambda job, looks: BatchState("failed" if job == "job-1" else "done"))
    assert numpy.allclose(run(provider, tmp_path), expected(), atol=1e-6)
    assert (len(provider.jobs), provider.plain) == (2, [])


def test_jobs_that_cannot_be_handed_in_are_failures_too(tmp_path: Path) -> None:
    provider = BatchProvider()
    provider.submit_batch = lambda requests: raise_(ProviderError("no batches in this plan"))  # type: ignore[method-assign]
    assert numpy.allclose(run(provider, tmp_path), expected(), atol=1e-6)
    assert provider.plain == TEXTS


def test_handing_in_is_not_repeated_after_a_time_out(tmp_path: Path) -> None:
    """The first job may be there although its answer is lost; it must not be paid for twice in one go."""
    provider, tries = BatchProvider(), []

    def submit(requests: Any) -> str:
        tries.append(len(requests))
        raise TimeoutError("no answer")

    provider.submit_batch = submit  # type: ignore[method-assign]
    run(provider, tmp_path)
    assert tries == [25, 25], "once for each of the two failures"


def test_a_refusal_is_an_error_and_keeps_the_job(tmp_path: Path) -> None:
    provider = BatchProvider(lambda job, looks: raise_(ProviderRefusedError("the key is gone")))
    with pytest.raises(ProviderRefusedError, match="the key is gone"):
        run(provider, tmp_path)
    assert [each["job"] for each in stored(tmp_path)] == ["job-1"]
    assert provider.cancelled == []


def test_a_finished_job_whose_results_are_out_of_reach_is_kept_and_fetched_by_the_next_run(tmp_path: Path) -> None:
    provider = BatchProvider()
    provider.spoil = lambda results: raise_(ProviderBusyError("503"))
    with pytest.raises(ProviderBusyError, match="503"):
        run(provider, tmp_path)
    assert [each["job"] for each in stored(tmp_path)] == ["job-1"]

    provider.spoil = lambda results: results
    assert numpy.allclose(run(provider, tmp_path), expected(), atol=1e-6)
    assert (len(provider.jobs), provider.plain, stored(tmp_path)) == (1, [], [])


@pytest.mark.parametrize("call", ["poll_batch", "fetch_batch"])
def test_a_job_that_the_server_knows_no_longer_is_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, call: str
) -> None:
    provider = BatchProvider()
    setattr(provider, call, lambda job: raise_(ProviderError("404")))
    assert numpy.allclose(run(provider, tmp_path), expected(), atol=1e-6)
    assert (provider.plain, stored(tmp_path)) == (TEXTS, [])
    assert "404" in caplog.text


def test_a_lost_connection_is_no_reason_to_give_a_job_up(tmp_path: Path) -> None:
    def script(job: str, looks: int) -> BatchState:
        if looks < 8:
            raise ProviderBusyError("502")
        return BatchState("done")

    provider = BatchProvider(script)
    assert numpy.allclose(run(provider, tmp_path), expected(), atol=1e-6)
    assert (len(provider.jobs), provider.plain) == (1, [])


def test_a_job_that_takes_too_long_is_cancelled_and_replaced(tmp_path: Path) -> None:
    provider = BatchProvider(lambda job, looks: BatchState("running"))
    assert numpy.allclose(run(provider, tmp_path, timeout=0.1), expected(), atol=1e-6)
    assert (provider.cancelled, provider.plain) == (["job-1"], TEXTS)
    assert stored(tmp_path) == []


def test_without_waiting_rows_are_zeros_until_a_later_call(tmp_path: Path) -> None:
    provider, cache = BatchProvider(running_for(1)), MemoryCache()
    rows = run(provider, tmp_path, cache=cache, wait=False, requests_per_job=20, concurrency=1)
    assert not rows.any()
    assert (len(cache), provider.plain) == (0, [])
    rows = run(provider, tmp_path, cache=cache, wait=False, requests_per_job=20, concurrency=1)
    assert rows[:20].any(axis=1).all()
    assert not rows[20:].any()
    rows = run(provider, tmp_path, cache=cache, wait=False, requests_per_job=20, concurrency=1)
    assert numpy.allclose(rows, expected(), atol=1e-6)
    assert (len(provider.jobs), provider.plain) == (2, [])


@pytest.mark.parametrize("way", ["cancel", "interrupt"])
def test_cancelling_cancels_the_job_and_forgets_it(tmp_path: Path, way: str) -> None:
    looked = threading.Event()

    def script(job: str, looks: int) -> BatchState:
        looked.set()
        return BatchState("running")

    def stop() -> bool:
        if way == "interrupt" and looked.is_set():
            raise KeyboardInterrupt
        return looked.is_set()

    provider = BatchProvider(script)
    with pytest.raises(EmbeddingCancelledError if way == "cancel" else KeyboardInterrupt):
        run(provider, tmp_path, cancelled=stop, poll_interval=3600)  # longer than any test may take
    assert provider.cancelled == ["job-1"]
    assert stored(tmp_path) == []


def test_a_provider_without_jobs_says_so(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="has no batch API"):
        embed_in_batches(EmbeddingPipeline(HashingProvider()), TEXTS, folder=tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1}', '{"version": 99}'])
def test_a_file_that_is_no_job_stops_nothing(tmp_path: Path, content: str) -> None:
    provider = BatchProvider(running_for(1))
    with pytest.raises(EmbeddingCancelledError):
        run(provider, tmp_path, cancelled=lambda: bool(provider.looks))
    from memslot.embeddings.contract import key_of

    (tmp_path / f"batch-{key_of(provider)[:16]}-0123456789abcdef.json").write_text(content)
    assert numpy.allclose(run(provider, tmp_path), expected(), atol=1e-6)


def test_a_job_of_texts_that_nobody_has_any_more_is_left_alone(tmp_path: Path) -> None:
    provider = BatchProvider(running_for(1))
    assert not run(provider, tmp_path, texts=["old"], wait=False).any()
    assert numpy.allclose(run(provider, tmp_path, texts=TEXTS), expected(), atol=1e-6)
    assert [each["job"] for each in stored(tmp_path)] == ["job-1"]


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    provider = BatchProvider(running_for(1))
    assert numpy.allclose(run(provider, tmp_path / "file" / "jobs"), expected(), atol=1e-6)
    assert (len(provider.jobs), provider.plain) == (1, [])
    assert "cannot be saved" in caplog.text


def test_another_models_job_is_not_taken_up(tmp_path: Path) -> None:
    first = BatchProvider(lambda job, looks: BatchState("running"))
    run(first, tmp_path, wait=False)
    other = BatchProvider()
    other.model = "batched-2"
    assert numpy.allclose(run(other, tmp_path), expected(), atol=1e-6)
    assert len(other.jobs) == 1
    assert len(stored(tmp_path)) == 1


# A kill between handing in and the end of the wait

PROGRAM = """
import json, sys, time
from pathlib import Path
from memslot import BatchState, EmbeddingPipeline, embed_in_batches
from memslot.testing import HashingProvider

folder, log = Path(sys.argv[1]), Path(sys.argv[2])

def note(*words):
    with log.open("a") as file:
        file.write(" ".join(words) + "\\n")

class Provider(HashingProvider):
    def submit_batch(self, requests):
        (log.parent / "server.json").write_text(json.dumps(dict(requests)))
        note("submit")
        return "job/../7"

    def poll_batch(self, job_id):
        note("poll", job_id)
        return BatchState("done" if sys.argv[3] == "done" else "running")

    def fetch_batch(self, job_id):
        texts = json.loads((log.parent / "server.json").read_text())
        return {each: self._embed(text) for each, text in texts.items()}

    def cancel_batch(self, job_id):
        note("cancel")

    def embed_documents(self, texts):
        note("plain")
        return super().embed_documents(texts)

rows = embed_in_batches(
    EmbeddingPipeline(Provider()), [f"text {n}" for n in range(100)], folder=folder, poll_interval=0.05
)
assert rows.any(axis=1).all()
note("finished")
"""


def test_a_killed_program_takes_its_job_up_again_and_does_not_pay_twice(tmp_path: Path, wait_until: Any) -> None:
    log, folder = tmp_path / "log", tmp_path / "jobs"
    command = [sys.executable, "-c", PROGRAM, str(folder), str(log)]
    process = subprocess.Popen([*command, "running"])
    wait_until(lambda: log.exists() and "poll" in log.read_text())
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
    assert len(list(folder.glob("*.json"))) == 1

    subprocess.run([*command, "done"], check=True, timeout=60)
    lines = log.read_text().splitlines()
    assert lines.count("submit") == 1
    assert lines[-2:] == ["poll job/../7", "finished"]
    assert not {"plain", "cancel"} & set(lines)
    assert list(folder.glob("*.json")) == []


def raise_(error: Exception) -> Any:
    raise error
