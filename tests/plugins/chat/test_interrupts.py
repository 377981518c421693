"""Signals are heard at any moment and obeyed where it does no harm."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from memslot_chat.interrupts import Cancelled, Interrupts, Terminated


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGURG)]
    with Interrupts() as entered:
        yield entered
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGURG)] == before
    assert signal.set_wakeup_fd(-1) == -1


def press(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def test_a_wait_is_interrupted(interrupts: Interrupts) -> None:
    threading.Timer(0.05, press).start()

    with pytest.raises(Cancelled), interrupts.waiting():
        threading.Event().wait(60)

    assert not interrupts.asked


def test_elsewhere_a_signal_is_only_noted(interrupts: Interrupts) -> None:
    press()
    assert interrupts.asked

    with pytest.raises(Cancelled), interrupts.waiting():
        pytest.fail("the wait began")

    with interrupts.waiting():
        pass


def test_one_that_came_too_late_is_forgotten(interrupts: Interrupts) -> None:
    press()
    interrupts.forget()

    with interrupts.waiting():
        pass


def test_the_end_is_not_forgotten(interrupts: Interrupts) -> None:
    press(signal.SIGTERM)
    interrupts.forget()

    for _ in range(2):
        with pytest.raises(Terminated), interrupts.waiting():
            pytest.fail("the wait began")
    assert interrupts.must_end


def test_at_the_end_only_a_new_ctrl_c_interrupts(interrupts: Interrupts) -> None:
    press()
    press(signal.SIGTERM)

    with interrupts.ending():
        press(signal.SIGTERM)
    assert interrupts.must_end
    with pytest.raises(Terminated), interrupts.ending():
        press()


def test_a_signal_that_another_thread_was_given_interrupts_all_the_same(interrupts: Interrupts) -> None:
    """As the system does when the main thread has another signal to see to."""
    reader, writer = os.pipe()

    def take() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    threading.Timer(0.1, take).start()
    began = time.monotonic()
    try:
        with pytest.raises(Cancelled), interrupts.waiting():
            select.select([reader], [], [], 60)
        assert time.monotonic() - began < 50, "the wait was not interrupted, it ended"
    finally:
        os.close(reader)
        os.close(writer)


def test_outside_the_main_thread_it_hears_nothing() -> None:
    outcomes: list[bool] = []

    def work() -> None:
        with Interrupts() as entered, entered.waiting():
            outcomes.append(entered.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)

    assert outcomes == [False]
