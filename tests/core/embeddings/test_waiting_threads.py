"""Threads for calls that may hang are used again, and one that hangs is in nobody's way."""

from __future__ import annotations

import multiprocessing
import threading

import pytest
from memslot.threads import call_within


def test_calls_one_after_the_other_share_a_thread() -> None:
    used = set()
    for _ in range(20):
        used.add(call_within(5.0, threading.get_ident))

    # The thread says that it is free just after it has answered, so a second one may have been started.
    assert len(used) <= 3
    assert threading.get_ident() not in used


def test_a_call_that_hangs_does_not_delay_the_next() -> None:
    gate = threading.Event()
    try:
        with pytest.raises(TimeoutError):
            call_within(0.05, gate.wait)
        assert call_within(5.0, lambda: "next") == "next"
    finally:
        gate.set()


def test_an_error_leaves_the_thread_usable() -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            call_within(5.0, lambda: 1 / 0)
        assert call_within(5.0, lambda: "still here") == "still here"


def test_calls_at_the_same_time_have_threads_of_their_own() -> None:
    barrier = threading.Barrier(4)
    answers: list[int] = []

    def meet() -> None:
        answers.append(call_within(20.0, lambda: (barrier.wait(20.0), threading.get_ident())[1]))

    askers = [threading.Thread(target=meet) for _ in range(4)]
    for each in askers:
        each.start()
    for each in askers:
        each.join()

    assert len(set(answers)) == 4


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own() -> None:
    call_within(5.0, lambda: None)  # the parent has an idle one now

    child = multiprocessing.get_context("fork").Process(target=call_within, args=(5.0, int))
    child.start()
    child.join(30)

    assert child.exitcode == 0
