"""What is tried again, how long it waits, and what closes the door for a minute."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest
from memslot import EmbeddingPipeline, InputTooLargeError, ProviderBusyError, ProviderError, ProviderRefusedError
from memslot.embeddings.circuit import Circuits
from memslot.embeddings.retries import RetryPolicy, call_with_retries

SHORT = RetryPolicy(first_wait=0.01, longest_wait=0.02)


class Flaky:
    """Raises these, one after the other, and then works."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.calls: list[float] = []

    def __call__(self, *_: Any) -> str | None:
        self.calls.append(time.monotonic())
        if self.errors:
            raise self.errors.pop(0)
        return "worked"


class Documents(Flaky):
    """The same, for providers: what works is the provider's own answer."""

    def __call__(self, *_: Any) -> None:
        super().__call__()


@pytest.mark.parametrize("error", [ProviderBusyError("429"), TimeoutError("slow"), ConnectionResetError("gone")])
def test_what_may_work_soon_is_tried_three_times(error: Exception, no_waiting: None) -> None:
    flaky = Flaky(error, error)
    assert call_with_retries(flaky, RetryPolicy()) == "worked"
    assert len(flaky.calls) == 3
    dead = Flaky(error, error, error, error)
    with pytest.raises(type(error)):
        call_with_retries(dead, RetryPolicy())
    assert len(dead.calls) == 3


@pytest.mark.parametrize(
    "error",
    [
        ProviderError("odd"),
        ProviderRefusedError("bad key"),
        InputTooLargeError("413"),
        ValueError("x"),
        OSError("disk"),
    ],
)
def test_what_will_not_work_is_tried_once(error: Exception, no_waiting: None) -> None:
    flaky = Flaky(error)
    with pytest.raises(type(error)):
        call_with_retries(flaky, RetryPolicy())
    assert len(flaky.calls) == 1


def test_waits_double_up_to_a_limit_with_a_fifth_of_jitter() -> None:
    policy = RetryPolicy()
    for failures, due in enumerate([0.5, 1.0, 2.0, 4.0, 8.0, 8.0], start=1):
        waits = [policy.wait_after(ProviderBusyError("x"), failures) for _ in range(200)]
        assert all(wait is not None and due <= wait <= due * 1.2 for wait in waits)
        assert len(set(waits)) > 100


def test_the_wait_a_provider_asks_for_is_kept() -> None:
    flaky = Flaky(ProviderBusyError("429", retry_after=0.3))
    assert call_with_retries(flaky, SHORT) == "worked"
    assert flaky.calls[1] - flaky.calls[0] >= 0.3


def test_a_wait_of_more_than_a_minute_is_not_waited_for() -> None:
    flaky = Flaky(ProviderBusyError("429", retry_after=61))
    with pytest.raises(ProviderBusyError):
        call_with_retries(flaky, RetryPolicy())
    assert len(flaky.calls) == 1


def test_no_wait_at_all_may_be_asked_for() -> None:
    flaky = Flaky(ProviderBusyError("429", retry_after=0.0))
    assert call_with_retries(flaky, RetryPolicy(first_wait=3600)) == "worked"  # longer than any test may take


def test_a_retry_prints_nothing_in_a_program_without_a_log() -> None:
    code = (
        "from memslot.embeddings.retries import *\n"
        "errors = [ProviderBusyError('x')]\n"
        "def work():\n"
        "    if errors: raise errors.pop()\n"
        "    return 1\n"
        "assert call_with_retries(work, RetryPolicy(first_wait=0.01)) == 1\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


# Through the pipeline


def test_a_busy_provider_is_asked_again_for_the_batch_that_failed(make_provider: Any, circuits: Circuits) -> None:
    provider = make_provider(Documents(ProviderBusyError("429"), ConnectionError("gone")))
    pipeline = EmbeddingPipeline(provider, circuits=circuits, retries=SHORT)
    assert pipeline.embed_documents(["a"]).shape == (1, 16)
    assert provider.requests == [["a"]] * 3


def test_a_query_is_tried_again_too(make_provider: Any, circuits: Circuits) -> None:
    provider = make_provider(Documents(TimeoutError("slow")))
    assert EmbeddingPipeline(provider, circuits=circuits, retries=SHORT).embed_query("a").any()
    assert provider.queries == ["a", "a"]


def test_what_cannot_be_helped_is_one_of_our_errors_that_names_the_provider(
    make_provider: Any, circuits: Circuits
) -> None:
    for error in (RuntimeError("boom"), SystemExit(3), KeyError("x")):
        pipeline = EmbeddingPipeline(make_provider(Flaky(error)), circuits=circuits)
        with pytest.raises(ProviderError, match=r"^watched failed: ") as caught:
            pipeline.embed_documents(["a"])
        assert caught.value.__cause__ is caught.value.__context__ is None
    dead = make_provider(Flaky(*[ConnectionError("refused")] * 3))
    with pytest.raises(ProviderBusyError, match="watched does not answer"):
        EmbeddingPipeline(dead, circuits=circuits, retries=SHORT).embed_documents(["a"])


def test_a_key_in_a_strangers_error_is_hidden(make_provider: Any, circuits: Circuits) -> None:
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    pipeline = EmbeddingPipeline(make_provider(Flaky(RuntimeError(f"401 for {key}"))), circuits=circuits)
    with pytest.raises(ProviderError) as caught:
        pipeline.embed_documents(["a"])
    assert key not in str(caught.value)


# The circuit


def test_a_refusal_closes_the_door_for_a_minute_to_all_pipelines(make_provider: Any) -> None:
    now = [1000.0]
    circuits = Circuits(clock=lambda: now[0])
    refused = make_provider(Documents(ProviderRefusedError("the key is not valid")))
    first, second = (EmbeddingPipeline(refused, circuits=circuits) for _ in range(2))
    with pytest.raises(ProviderRefusedError, match=r"^the key is not valid$"):
        first.embed_documents(["a"])
    now[0] += 20
    for ask in (lambda: second.embed_documents(["b"]), lambda: second.embed_query("c")):
        with pytest.raises(ProviderRefusedError) as caught:
            ask()
        said = "watched is paused for another 40 s after this error: the key is not valid"
        assert str(caught.value) == said
    assert (refused.requests, refused.queries) == ([["a"]], [])
    now[0] += 39.9
    with pytest.raises(ProviderRefusedError):
        second.embed_documents(["b"])
    now[0] += 0.2
    assert second.embed_documents(["b"]).any()


def test_another_provider_is_not_held_up(make_provider: Any, circuits: Circuits) -> None:
    refused = make_provider(Flaky(ProviderRefusedError("no")))
    with pytest.raises(ProviderRefusedError):
        EmbeddingPipeline(refused, circuits=circuits).embed_query("a")
    assert EmbeddingPipeline(make_provider(model="another"), circuits=circuits).embed_query("a").any()


def test_a_busy_provider_is_not_left_alone(make_provider: Any, circuits: Circuits) -> None:
    provider = make_provider(Documents(*[ProviderBusyError("429")] * 3))
    pipeline = EmbeddingPipeline(provider, circuits=circuits, retries=SHORT)
    with pytest.raises(ProviderBusyError):
        pipeline.embed_documents(["a"])
    assert pipeline.embed_documents(["a"]).any()
