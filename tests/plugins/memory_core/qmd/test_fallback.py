"""While QMD cannot answer the builtin index does, says so, and steps back when QMD can again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from memslot import MemoryHit, MemorySearchOutcome, MemoryStatus, MemslotError, Session
from memslot_memory_core.qmd.errors import QmdError
from memslot_memory_core.qmd.fallback import FallbackMemory

from .conftest import Fake, MakeMemory

GROUP = Session(agent_id="main", chat_type="group")


class Answers:
    """A memory that answers, or fails as it is told."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.error: Exception | None = None
        self.asked: list[dict[str, Any]] = []
        self.closed = 0
        self.during: Callable[[], None] = lambda: None

    def search(self, query: str, **options: Any) -> MemorySearchOutcome:
        self.asked.append({"query": query, **options})
        self.during()
        if self.error is not None:
            raise self.error
        return MemorySearchOutcome([MemoryHit(f"{self.name}.md", 0.5, query)], self.name)

    def refusal(self, session: Session | None) -> MemorySearchOutcome | None:
        if session is None or session.is_private:
            return None
        return MemorySearchOutcome([], "unavailable", warning="not here")

    def status(self, *, deep: bool = False) -> MemoryStatus:
        return MemoryStatus(self.name, {self.name: 1}, details={"deep": deep})

    def close(self) -> None:
        self.closed += 1


class Bench:
    """Both memories, a clock, and background work that is done when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.qmd, self.builtin = Answers("qmd"), Answers("builtin")
        self.made = 0
        self.work: list[Callable[[], None]] = []
        self.memory: FallbackMemory = FallbackMemory(
            self.qmd,
            self.make,
            clock=lambda: self.now,
            wall_clock=lambda: 1_700_000_000.0 + self.now,
            in_background=self.work.append,
        )

    def make(self) -> Answers:
        self.made += 1
        return self.builtin

    def search(self, **options: Any) -> str:
        return self.memory.search("q", **options).mode

    def run_background(self) -> None:
        work, self.work[:] = list(self.work), []
        for each in work:
            each()


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.memory.close()


def test_while_qmd_answers_the_other_is_not_even_made(bench: Bench) -> None:
    outcome = bench.memory.search("q", max_results=3, min_score=0.1)

    assert (outcome.mode, outcome.warning, outcome.fallback) == ("qmd", None, None)
    assert bench.qmd.asked == [{"query": "q", "max_results": 3, "min_score": 0.1, "session": None}]
    assert bench.made == 0
    assert bench.memory.status() == MemoryStatus("qmd", {"qmd": 1}, details={"deep": False})


@pytest.mark.parametrize("error", [QmdError("it broke", action="Mend it."), ZeroDivisionError("it broke")])
def test_failure_is_answered_by_the_other_with_the_reason(bench: Bench, error: Exception) -> None:
    bench.qmd.error = error

    outcome = bench.memory.search("q", max_results=3)

    assert [hit.path for hit in outcome.hits] == ["builtin.md"]
    assert outcome.fallback == "builtin"
    assert outcome.warning == "QMD cannot answer (it broke), so the builtin index does"
    assert outcome.action == getattr(error, "action", None)
    assert bench.builtin.asked == [{"query": "q", "max_results": 3, "session": None}]


def test_status_shows_the_fallback_its_reason_and_since_when(bench: Bench) -> None:
    bench.now = 60.0
    bench.qmd.error = QmdError("it broke", action="Mend it.")
    bench.search()
    bench.now += 10

    status = bench.memory.status(deep=True)

    assert status.backend == "qmd"
    assert not status.is_healthy
    assert status.problems == ["the builtin index answers instead of QMD: it broke"]
    assert status.counts == {"qmd": 1, "builtin": 1}
    assert status.details["fallback"] == {
        "backend": "builtin",
        "reason": "it broke",
        "action": "Mend it.",
        "since": "2023-11-14T22:14:20+00:00",
        "nextTrySeconds": 20,
        "details": {"deep": True},
    }


def test_qmd_is_left_alone_for_a_time_that_grows(bench: Bench) -> None:
    bench.qmd.error = QmdError("it broke")
    tries = []
    for second in range(1500):
        bench.now = float(second)
        before = len(bench.qmd.asked)
        assert bench.search() == "builtin"
        bench.run_background()
        if len(bench.qmd.asked) > before:
            tries.append(second)

    assert tries == [0, 30, 90, 210, 450, 750, 1050, 1350]


def test_qmd_answers_again_once_a_try_has_worked(bench: Bench) -> None:
    bench.qmd.error = QmdError("it broke")
    bench.search()
    bench.qmd.error = None
    bench.now = 30.0

    assert bench.search() == "builtin", "nobody waits for the try"
    bench.run_background()

    assert bench.search() == "qmd"
    assert bench.memory.outage is None
    assert bench.memory.status().is_healthy


def test_pause_begins_anew_after_a_recovery(bench: Bench) -> None:
    for start in (0.0, 1000.0):
        bench.now = start
        bench.qmd.error = QmdError("it broke")
        bench.search()
        assert bench.memory.outage is not None
        assert bench.memory.outage.next_try == start + 30
        bench.qmd.error = None
        bench.now += 30
        bench.search()
        bench.run_background()
        assert bench.search() == "qmd"


def test_error_that_knows_when_to_try_again_is_believed(bench: Bench) -> None:
    bench.qmd.error = QmdError("not yet", retry_after=2)
    bench.search()
    assert bench.memory.outage is not None
    assert bench.memory.outage.next_try == 2

    bench.now, bench.qmd.error = 2.0, QmdError("it broke")
    bench.search()
    bench.run_background()

    assert bench.memory.outage.next_try == 32


def test_only_one_try_at_a_time(bench: Bench) -> None:
    bench.qmd.error = QmdError("it broke")
    bench.search()
    bench.now = 31.0

    for _ in range(5):
        bench.search()

    assert len(bench.work) == 1


def test_scope_holds_for_the_other_as_well(bench: Bench) -> None:
    bench.qmd.error = QmdError("it broke")
    bench.search()
    asked = len(bench.builtin.asked)

    assert bench.memory.search("q", session=GROUP).mode == "unavailable"
    assert len(bench.builtin.asked) == asked


def test_both_failing_is_an_outcome_not_an_exception(bench: Bench) -> None:
    bench.qmd.error, bench.builtin.error = QmdError("it broke", action="Mend it."), RuntimeError("disk gone")

    outcome = bench.memory.search("q")

    assert (outcome.hits, outcome.mode, outcome.action) == ([], "unavailable", "Mend it.")
    assert outcome.warning == "QMD cannot answer (it broke), nor can the builtin index (disk gone)"


def test_other_that_cannot_be_made_is_tried_again(bench: Bench) -> None:
    def refuse() -> Answers:
        raise OSError("no disk")

    memory: FallbackMemory = FallbackMemory(bench.qmd, refuse)
    bench.qmd.error = QmdError("it broke")

    assert "no disk" in str(memory.search("q").warning)
    assert memory.status().problems == ["the builtin index answers instead of QMD: it broke"]


def test_empty_query_is_the_callers_mistake_not_an_outage(bench: Bench) -> None:
    with pytest.raises(MemslotError, match="the query is empty"):
        bench.memory.search("  ")
    assert bench.memory.outage is None


def test_close_closes_both_once_and_later_searches_say_so(bench: Bench) -> None:
    bench.qmd.error = QmdError("it broke")
    bench.search()

    bench.memory.close()
    bench.memory.close()

    assert (bench.qmd.closed, bench.builtin.closed) == (1, 1)
    assert bench.memory.search("q").warning == "the memory was closed"


def test_many_threads_get_an_answer_each_and_make_one_other() -> None:
    qmd, builtin, made = Answers("qmd"), Answers("builtin"), []

    def make() -> Answers:
        time.sleep(0.05)
        made.append(builtin)
        return builtin

    memory: FallbackMemory = FallbackMemory(qmd, make)
    qmd.error = QmdError("it broke")
    gate, modes = threading.Barrier(8), []

    def search() -> None:
        gate.wait()
        modes.extend(memory.search("q").mode for _ in range(50))

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert modes == ["builtin"] * 400
    assert len(made) == 1


def test_slow_try_keeps_nobody_waiting_and_ends_in_a_recovery() -> None:
    qmd, now, release = Answers("qmd"), [0.0], threading.Event()
    memory: FallbackMemory = FallbackMemory(qmd, lambda: Answers("builtin"), clock=lambda: now[0])
    qmd.error = QmdError("it broke")
    memory.search("q")
    qmd.error, now[0] = None, 31.0
    qmd.during = lambda: release.wait(60) and None

    assert [memory.search("q").mode for _ in range(3)] == ["builtin"] * 3
    assert memory.outage is not None, "it is still being tried"

    release.set()
    deadline = time.monotonic() + 30
    while memory.outage is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert memory.search("q").mode == "qmd"


def test_program_that_hangs_then_is_mended(fake: Fake, make_memory: MakeMemory) -> None:
    qmd, now = make_memory(fake.program, timeout=8), [0.0]
    qmd.update()
    memory: FallbackMemory = FallbackMemory(
        qmd, lambda: Answers("builtin"), clock=lambda: now[0], in_background=lambda work: work()
    )
    fake.will(search={"sleep": 60})

    outcome = memory.search("delft")
    assert (outcome.mode, outcome.fallback) == ("builtin", "builtin")
    assert "did not answer within 8 s" in str(outcome.warning)
    assert "timeoutMs" in str(outcome.action)

    fake.will()
    now[0] = 31.0
    memory.search("delft")
    assert memory.search("delft").mode == "keywords"
