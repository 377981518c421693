"""Many texts to vectors, with a real provider and real threads."""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot import (
    EmbeddingCancelledError,
    EmbeddingPipeline,
    InputTooLargeError,
    MemoryCache,
    ProviderBusyError,
    ProviderError,
)
from memslot.embeddings.circuit import Circuits
from memslot.embeddings.retries import RetryPolicy
from memslot.testing import HangingProvider, HashingProvider, NaNProvider, WrongDimsProvider
from memslot.testing.threads import all_at_once

TEXTS = [f"text number {n}" for n in range(300)]


def expected(texts: Sequence[str]) -> Any:
    return numpy.array(HashingProvider(dims=16).embed_documents(texts), dtype=numpy.float32)


# What comes back


def test_rows_are_unit_float32_in_the_order_of_the_texts(make_provider: Any) -> None:
    rows = EmbeddingPipeline(make_provider()).embed_documents(iter(TEXTS))
    assert (rows.dtype, rows.shape) == (numpy.float32, (300, 16))
    assert numpy.allclose(rows, expected(TEXTS), atol=1e-6)


@settings(deadline=None, max_examples=60)
@given(
    texts=st.lists(st.text(min_size=0, max_size=60), max_size=60),
    batch_tokens=st.integers(1, 100),
    max_items=st.integers(1, 10),
    max_input_tokens=st.integers(2, 40),
)
def test_every_text_is_sent_once_within_the_limits_and_comes_back_in_its_place(
    make_provider: Any, texts: list[str], batch_tokens: int, max_items: int, max_input_tokens: int
) -> None:
    from memslot.embeddings.tokens import estimate_tokens

    provider = make_provider(max_batch_items=max_items, max_input_tokens=max_input_tokens)
    rows = EmbeddingPipeline(provider, batch_tokens=batch_tokens).embed_documents(texts)
    assert rows.shape == (len(texts), 16)
    for request in provider.requests:
        assert 1 <= len(request) <= max_items
        assert len(request) == 1 or sum(map(estimate_tokens, request)) <= batch_tokens
        assert all(estimate_tokens(text) <= max_input_tokens for text in request)
    short = [text for text in texts if estimate_tokens(text) <= max_input_tokens and text.strip()]
    long = [text for text in texts if estimate_tokens(text) > max_input_tokens]
    if not long:
        assert sorted(provider.sent) == sorted(set(short))
    for text, row in zip(texts, rows, strict=True):
        if text in short:
            assert numpy.allclose(row, expected([text])[0], atol=1e-5)
        elif not text.strip():
            assert not row.any()


@pytest.mark.parametrize(("said", "most"), [(None, 8000), (100, 100), (50_000, 50_000), (0, 8000), ("many", 8000)])
def test_a_batch_holds_as_many_tokens_as_the_provider_says(make_provider: Any, said: Any, most: int) -> None:
    from memslot.embeddings.tokens import estimate_tokens

    provider = make_provider(max_batch_items=10_000)
    if said is not None:
        provider.max_batch_tokens = said
    texts = [f"{number} " + "x" * 396 for number in range(700)]
    EmbeddingPipeline(provider, concurrency=1).embed_documents(texts)
    sizes = [sum(map(estimate_tokens, request)) for request in provider.requests]
    assert max(sizes) <= most
    assert min(sizes[:-1]) > most - 101, "no batch is left half empty"


def test_identical_texts_are_sent_once(make_provider: Any) -> None:
    provider = make_provider()
    rows = EmbeddingPipeline(provider).embed_documents(["a", "b", "a", "a"])
    assert provider.requests == [["a", "b"]]
    assert numpy.array_equal(rows[0], rows[3])


def test_no_texts_ask_nobody(make_provider: Any) -> None:
    provider = make_provider()
    assert EmbeddingPipeline(provider).embed_documents([]).shape == (0, 16)
    assert provider.requests == []


def test_a_blank_text_is_a_row_of_zeros_and_is_not_sent(make_provider: Any) -> None:
    provider = make_provider()
    pipeline = EmbeddingPipeline(provider)
    rows = pipeline.embed_documents(["", " \n", "a"])
    assert [pipeline.is_zero(row) for row in rows] == [True, True, False]
    assert provider.sent == ["a"]
    assert pipeline.is_zero(pipeline.embed_query("  "))
    assert provider.queries == []


def test_half_a_surrogate_pair_is_replaced(make_provider: Any) -> None:
    provider = make_provider()
    EmbeddingPipeline(provider).embed_documents(["a\ud83d", "\ude00b", "\ud83d\ude00"])
    assert sorted(provider.sent) == sorted(["a\ufffd", "\ufffdb", "😀"])


@pytest.mark.parametrize("texts", ["one text", b"bytes", [b"bytes"], [None], [1]])
def test_what_is_no_list_of_texts_is_refused(make_provider: Any, texts: Any) -> None:
    with pytest.raises(TypeError, match="expected"):
        EmbeddingPipeline(make_provider()).embed_documents(texts)


def test_nan_and_infinity_become_zero() -> None:
    rows = EmbeddingPipeline(NaNProvider()).embed_documents(["a", "b"])
    assert numpy.isfinite(rows).all()
    assert rows[:, :2].tolist() == [[0.0, 0.0]] * 2


def test_wrong_dims_name_both_numbers() -> None:
    with pytest.raises(ProviderError, match="63 dimensions instead of 64"):
        EmbeddingPipeline(WrongDimsProvider()).embed_documents(["a"])
    with pytest.raises(ProviderError, match="63 dimensions instead of 64"):
        EmbeddingPipeline(WrongDimsProvider()).embed_query("a")


@pytest.mark.parametrize(("given_back", "said"), [(1, "1 vectors for 3 texts"), (4, "4 vectors for 3 texts")])
def test_a_wrong_count_names_both_numbers(make_provider: Any, given_back: int, said: str) -> None:
    provider = make_provider(lambda texts: [[1.0] * 16] * given_back)
    with pytest.raises(ProviderError, match=said):
        EmbeddingPipeline(provider).embed_documents(["a", "b", "c"])


@pytest.mark.parametrize("answer", [5, object(), iter([[1.0] * 16])], ids=["number", "object", "iterator"])
def test_an_answer_that_is_no_list_is_refused(make_provider: Any, answer: Any) -> None:
    with pytest.raises(ProviderError, match="instead of a list of vectors"):
        EmbeddingPipeline(make_provider(lambda texts: answer)).embed_documents(["a"])


def test_a_provider_cannot_change_the_texts_of_the_caller(make_provider: Any) -> None:
    def change(texts: Any) -> Any:
        answer = HashingProvider(dims=16).embed_documents(texts)
        texts.clear()
        return answer

    mine = ["a", "b"]
    assert EmbeddingPipeline(make_provider(change)).embed_documents(mine).shape == (2, 16)
    assert mine == ["a", "b"]


# Long texts and requests that are too large


def test_a_long_text_is_the_mean_of_its_parts(make_provider: Any) -> None:
    provider = make_provider(max_input_tokens=10)
    text = "The first paragraph is about cats.\n\nThe second one is about dogs and birds."
    row = EmbeddingPipeline(provider).embed_documents([text])[0]
    assert "".join(provider.sent) == text
    assert len(provider.sent) > 1
    assert numpy.linalg.norm(row) == pytest.approx(1, abs=1e-5)
    assert row @ expected([text])[0] > 0.7


def test_a_long_query_works_too(make_provider: Any) -> None:
    provider = make_provider(max_input_tokens=10)
    assert numpy.linalg.norm(EmbeddingPipeline(provider).embed_query("many words " * 50)) == pytest.approx(1, abs=1e-5)
    assert len(provider.queries) == 4


def test_a_request_that_is_too_large_is_halved(make_provider: Any) -> None:
    def at_most_three(texts: Sequence[str]) -> None:
        if len(texts) > 3:
            raise InputTooLargeError("too many")

    provider = make_provider(at_most_three)
    rows = EmbeddingPipeline(provider).embed_documents(TEXTS[:10])
    assert numpy.allclose(rows, expected(TEXTS[:10]), atol=1e-6)
    assert [len(request) for request in provider.requests] == [10, 5, 2, 3, 5, 2, 3]


def test_a_text_that_is_too_large_by_itself_is_cut(make_provider: Any) -> None:
    def at_most_forty(texts: Sequence[str]) -> None:
        if sum(map(len, texts)) > 40:
            raise InputTooLargeError("too long")

    provider = make_provider(at_most_forty)
    text = "a few words about a small thing, and then some more of them. " * 2
    row = EmbeddingPipeline(provider).embed_documents([text])[0]
    assert numpy.linalg.norm(row) == pytest.approx(1, abs=1e-5)
    assert row @ expected([text])[0] > 0.8
    assert EmbeddingPipeline(make_provider(at_most_forty)).embed_query(text) @ row > 0.99


def test_a_provider_that_finds_everything_too_large_is_believed_in_the_end(make_provider: Any) -> None:
    def never(texts: Sequence[str]) -> None:
        raise InputTooLargeError("too large")

    provider = make_provider(never)
    with pytest.raises(InputTooLargeError):
        EmbeddingPipeline(provider).embed_documents(["some words " * 50] * 2 + TEXTS[:50])
    assert len(provider.requests) < 30


# The cache


def test_cached_texts_are_not_sent(make_provider: Any) -> None:
    cache = MemoryCache()
    first, second = make_provider(), make_provider()
    before = EmbeddingPipeline(first, cache=cache).embed_documents(TEXTS[:20])
    after = EmbeddingPipeline(second, cache=cache).embed_documents(TEXTS[10:30])
    assert second.sent == TEXTS[20:30]
    assert numpy.array_equal(before[10:], after[:10])


@pytest.mark.parametrize("change", [{"id": "b"}, {"model": "b"}, {"key": "b"}], ids=str)
def test_another_provider_model_or_server_has_its_own_rows(make_provider: Any, change: dict[str, str]) -> None:
    cache = MemoryCache()
    EmbeddingPipeline(make_provider(), cache=cache).embed_documents(["a"])
    other = make_provider(**change)
    EmbeddingPipeline(other, cache=cache).embed_documents(["a"])
    assert other.sent == ["a"]


def test_cached_rows_of_another_length_are_not_used(make_provider: Any) -> None:
    cache = MemoryCache()
    EmbeddingPipeline(make_provider(), cache=cache).embed_documents(["a"])
    provider = make_provider(lambda texts: [[1.0] * 8 for _ in texts], dims=8)
    assert EmbeddingPipeline(provider, cache=cache).embed_documents(["a"]).shape == (1, 8)


def test_a_row_of_zeros_is_not_kept(make_provider: Any) -> None:
    cache = MemoryCache()
    broken = make_provider(lambda texts: [[math.nan] * 16 for _ in texts])
    assert not EmbeddingPipeline(broken, cache=cache).embed_documents(["a"]).any()
    assert len(cache) == 0


def test_a_failure_near_the_end_goes_on_near_the_end(make_provider: Any) -> None:
    """One request at a time, so that the tenth is the one that fails."""
    cache = MemoryCache()

    def fail_at_the_tenth(texts: Sequence[str]) -> None:
        if TEXTS[90] in texts:
            raise ProviderError("down")

    provider = make_provider(fail_at_the_tenth, max_batch_items=10)
    with pytest.raises(ProviderError, match="down"):
        EmbeddingPipeline(provider, cache=cache, concurrency=1).embed_documents(TEXTS[:100])
    assert len(cache) == 90
    again = make_provider(max_batch_items=10)
    rows = EmbeddingPipeline(again, cache=cache, concurrency=1).embed_documents(TEXTS[:100])
    assert again.sent == TEXTS[90:100]
    assert numpy.allclose(rows, expected(TEXTS[:100]), atol=1e-6)


def test_each_batch_is_in_the_cache_before_the_next_one_ends(make_provider: Any, wait_until: Any) -> None:
    cache, provider = MemoryCache(), make_provider(max_batch_items=10)
    provider.before = lambda texts: wait_until(lambda: len(cache) == 10 * (len(provider.requests) - 1))
    EmbeddingPipeline(provider, cache=cache, concurrency=1).embed_documents(TEXTS[:50])
    assert len(cache) == 50


class BrokenCache:
    def get_many(self, keys: Any) -> Any:
        raise OSError("disk is gone")

    def put_many(self, rows: Any) -> None:
        raise OSError("disk is full")


def test_a_broken_cache_stops_nothing_and_is_said_once(make_provider: Any, caplog: pytest.LogCaptureFixture) -> None:
    pipeline = EmbeddingPipeline(make_provider(max_batch_items=5), cache=BrokenCache())
    assert pipeline.embed_documents(TEXTS[:50]).any(axis=1).all()
    assert caplog.text.count("cache does not work") == 1


# Several at once


def test_four_requests_run_at_once_and_no_more(make_provider: Any) -> None:
    four = threading.Barrier(4, timeout=60)

    def wait(texts: Sequence[str]) -> None:
        four.wait()

    provider = make_provider(wait, max_batch_items=5)
    pipeline = EmbeddingPipeline(provider)
    pipeline.embed_documents(TEXTS[:100])
    assert provider.most_at_once == 4
    parts = [TEXTS[n * 60 : n * 60 + 60] for n in range(4)]
    all_at_once([lambda part=part: pipeline.embed_documents(part) for part in parts])  # type: ignore[misc]
    assert provider.most_at_once == 4


def test_a_query_does_not_wait_for_batches(make_provider: Any) -> None:
    let_go = threading.Event()
    provider = make_provider(lambda texts: None if "query" in texts else let_go.wait(60) and None, max_batch_items=1)
    pipeline = EmbeddingPipeline(provider)
    thread = threading.Thread(target=lambda: pipeline.embed_documents(TEXTS[:8]), daemon=True)
    thread.start()
    pipeline.embed_query("query")
    assert not let_go.is_set()
    assert thread.is_alive()
    let_go.set()
    thread.join(60)


def test_the_first_error_wins_and_what_was_finished_is_kept(make_provider: Any, wait_until: Any) -> None:
    cache, let_go = MemoryCache(), threading.Event()

    def answer(texts: Sequence[str]) -> None:
        if texts[0] == "bad":
            wait_until(lambda: len(cache) == 2)
            raise ProviderError("the first error")
        if texts[0] == "hanging":
            let_go.wait(20)

    provider = make_provider(answer, max_batch_items=1)
    with pytest.raises(ProviderError, match="the first error"):
        EmbeddingPipeline(provider, cache=cache, concurrency=3).embed_documents(["bad", "hanging", "a", "b"])
    let_go.set()
    assert len(cache) == 2


def test_after_an_error_nothing_more_is_sent(make_provider: Any) -> None:
    def fail(texts: Sequence[str]) -> None:
        raise ProviderError("down")

    provider = make_provider(fail, max_batch_items=1)
    with pytest.raises(ProviderError):
        EmbeddingPipeline(provider).embed_documents(TEXTS)
    time.sleep(0.1)
    assert len(provider.requests) <= 8


def test_progress_goes_up_to_the_total_in_the_callers_thread(make_provider: Any) -> None:
    told: list[tuple[int, int, int]] = []
    cache = MemoryCache()
    provider = make_provider(lambda texts: time.sleep(0.001 * (len(texts[0]) % 3)), max_batch_items=7)
    pipeline = EmbeddingPipeline(provider, cache=cache)
    pipeline.embed_documents(TEXTS[:50])
    pipeline.embed_documents(
        [*TEXTS, *TEXTS, ""], progress=lambda done, total: told.append((done, total, threading.get_ident()))
    )
    done = [each[0] for each in told]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (101, 601)
    assert {each[1:] for each in told} == {(601, threading.get_ident())}


def test_a_progress_that_raises_stops_the_work(make_provider: Any) -> None:
    def shout(done: int, total: int) -> None:
        if done:
            raise ValueError("enough")

    provider = make_provider(lambda texts: time.sleep(0.01), max_batch_items=1)
    with pytest.raises(ValueError, match="enough") as caught:
        EmbeddingPipeline(provider).embed_documents(TEXTS, progress=shout)
    time.sleep(0.3)
    assert len(provider.requests) <= 12
    assert caught.value


# Stopping


class CountedHanging(HangingProvider):
    calls = 0

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.calls += 1
        return super().embed_documents(texts)


@pytest.fixture
def hanging() -> Iterator[CountedHanging]:
    provider = CountedHanging()
    yield provider
    provider.release()


def ways_to_cancel(event: threading.Event) -> list[Any]:
    return [event, event.is_set]


@pytest.mark.parametrize("way", [0, 1], ids=["event", "function"])
def test_cancelling_ends_it_while_the_provider_hangs(hanging: HangingProvider, way: int) -> None:
    event = threading.Event()
    threading.Thread(target=lambda: (hanging.started.wait(30), event.set()), daemon=True).start()
    with pytest.raises(EmbeddingCancelledError):
        EmbeddingPipeline(hanging).embed_documents(TEXTS, cancelled=ways_to_cancel(event)[way])


def test_cancelling_ends_a_query(hanging: HangingProvider) -> None:
    with pytest.raises(EmbeddingCancelledError):
        EmbeddingPipeline(hanging).embed_query("a", cancelled=hanging.started)


def test_cancelling_ends_it_while_a_retry_waits(make_provider: Any, circuits: Circuits) -> None:
    asked = threading.Event()

    def busy(texts: Sequence[str]) -> None:
        asked.set()
        raise ProviderBusyError("429", retry_after=30)

    pipeline = EmbeddingPipeline(make_provider(busy), circuits=circuits)
    for embed in (
        lambda: pipeline.embed_documents(["a"], cancelled=asked),
        lambda: pipeline.embed_query("a", cancelled=asked),
    ):
        with pytest.raises(EmbeddingCancelledError):
            embed()


def test_what_was_finished_before_cancelling_is_in_the_cache(make_provider: Any, wait_until: Any) -> None:
    cache = MemoryCache()
    provider = make_provider(max_batch_items=1)
    with pytest.raises(EmbeddingCancelledError):
        EmbeddingPipeline(provider, cache=cache, concurrency=1).embed_documents(TEXTS, cancelled=lambda: len(cache) > 5)
    assert 5 < len(cache) < len(TEXTS)


def test_closing_ends_what_is_under_way_and_begins_nothing_more(hanging: HangingProvider) -> None:
    pipeline = EmbeddingPipeline(hanging)
    threading.Thread(target=lambda: (hanging.started.wait(30), pipeline.close()), daemon=True).start()
    with pytest.raises(EmbeddingCancelledError, match="closed"):
        pipeline.embed_documents(["a"])
    pipeline.close()
    for again in (lambda: pipeline.embed_documents(["a"]), lambda: pipeline.embed_query("a")):
        with pytest.raises(EmbeddingCancelledError):
            again()


def test_a_batch_that_takes_too_long_is_tried_again_and_then_said(hanging: CountedHanging, circuits: Circuits) -> None:
    pipeline = EmbeddingPipeline(
        hanging, batch_timeout=0.2, circuits=circuits, retries=RetryPolicy(tries=2, first_wait=0.01)
    )
    with pytest.raises(ProviderBusyError, match=r"testing does not answer: .*no answer within 0.2 s"):
        pipeline.embed_documents(["a"])
    assert hanging.calls == 2


def test_a_query_that_takes_too_long_is_given_up_with_all_its_tries(
    hanging: HangingProvider, circuits: Circuits
) -> None:
    with pytest.raises(ProviderBusyError, match=r"no answer within 0\.3 s"):
        EmbeddingPipeline(hanging, query_timeout=0.3, circuits=circuits).embed_query("a")


@pytest.mark.parametrize("kind", ["query", "batch"])
def test_a_provider_may_advise_its_own_time_outs(hanging: Any, kind: str, circuits: Circuits) -> None:
    hanging.query_timeout = hanging.batch_timeout = 0.1
    pipeline = EmbeddingPipeline(hanging, circuits=circuits, retries=RetryPolicy(tries=1))
    with pytest.raises(ProviderBusyError, match=r"no answer within 0\.1 s"):
        pipeline.embed_query("a") if kind == "query" else pipeline.embed_documents(["a"])


def test_python_ends_although_a_provider_hangs() -> None:
    code = """
        import threading
        from memslot import EmbeddingCancelledError, EmbeddingPipeline
        from memslot.testing import HangingProvider

        provider = HangingProvider()
        try:
            EmbeddingPipeline(provider).embed_documents([str(n) for n in range(1000)], cancelled=provider.started)
        except EmbeddingCancelledError:
            print("cancelled", flush=True)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "cancelled\n", "")
