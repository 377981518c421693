"""One broken, slow or hanging plugin changes nothing for the others."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pluggy
import pytest
from memslot import AgentStart, HookError, RunInfo, Session, hookimpl
from memslot.agent.hook_results import READERS
from memslot.diagnostics import Diagnostics
from memslot.plugins.executor import OutOfTime, PluginExecutor
from memslot.plugins.hooks import HookRunner

RUN = RunInfo("hello", Session("main"))


def plugin_with(function: Any, *, name: str = "before_agent_start", **marks: Any) -> SimpleNamespace:
    return SimpleNamespace(**{name: hookimpl(**marks)(function)})


class Bench:
    """A runner with some plugins in it."""

    def __init__(self, env: dict[str, str] | None = None) -> None:
        self.diagnostics = Diagnostics()
        self.runner = HookRunner(self.diagnostics, env or {}, READERS)

    def add(self, plugin_id: str, function: Any, *, timeout_ms: int | None = None, **options: Any) -> None:
        context: Any = SimpleNamespace(plugin_id=plugin_id)
        self.runner.add(plugin_with(function, **options), context, timeout_ms)

    def start(self) -> list[Any]:
        answers = self.runner.call("before_agent_start", run=RUN, messages=())
        return [(answer.plugin, answer.value.prepend_context) for answer in answers]

    @property
    def events(self) -> list[tuple[str, str, str]]:
        return [(event.plugin, event.stage, event.message) for event in self.diagnostics]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def good(text: str) -> Any:
    def before_agent_start(run: RunInfo) -> AgentStart:
        return AgentStart(prepend_context=text)

    return before_agent_start


def test_pluggy_orders_the_answers_last_registered_first_unless_marked(bench: Bench) -> None:
    bench.add("first", good("1"))
    bench.add("urgent", good("3"), tryfirst=True)
    bench.add("late", good("4"), trylast=True)
    bench.add("second", good("2"))
    assert [plugin for plugin, _ in bench.start()] == ["urgent", "second", "first", "late"]
    assert bench.runner.implementers("before_agent_start") == ["urgent", "second", "first", "late"]


def test_specname_lets_a_function_of_another_name_implement_a_hook(bench: Bench) -> None:
    bench.add("aliased", good("fine"), name="recall_notes", specname="before_agent_start")
    assert bench.start() == [("aliased", "fine")]


def test_one_plugin_may_implement_a_hook_twice_by_specname(bench: Bench) -> None:
    marks = hookimpl(specname="before_agent_start")
    both = SimpleNamespace(one=marks(good("1")), two=marks(good("2")))
    context: Any = SimpleNamespace(plugin_id="both")
    bench.runner.add(both, context)
    assert sorted(bench.start()) == [("both", "1"), ("both", "2")]


def test_optional_hook_of_a_newer_host_is_passed_over(bench: Bench) -> None:
    plugin = SimpleNamespace(
        memory_dreamt=hookimpl(optionalhook=True)(lambda dream: None), before_agent_start=hookimpl(good("fine"))
    )
    context: Any = SimpleNamespace(plugin_id="modern")
    assert bench.runner.add(plugin, context) == ["before_agent_start"]
    assert bench.start() == [("modern", "fine")]


def test_each_plugin_gets_its_own_context_and_its_own_copy(bench: Bench) -> None:
    seen: dict[str, Any] = {}

    def look(ctx: Any, messages: list[Any]) -> None:
        messages[0]["content"] = "changed"
        seen[ctx.plugin_id] = messages

    bench.add("one", look)
    bench.add("two", look)
    messages = [{"role": "user", "content": "said"}]
    bench.runner.call("before_agent_start", run=RUN, messages=messages)
    assert set(seen) == {"one", "two"}
    assert seen["one"] is not seen["two"]
    assert messages == [{"role": "user", "content": "said"}]


def test_parameter_with_a_default_is_left_to_the_plugin(bench: Bench) -> None:
    def before_agent_start(run: RunInfo, shout: bool = True) -> AgentStart:
        return AgentStart(prepend_context=run.prompt.upper() if shout else run.prompt)

    bench.add("loud", before_agent_start)
    assert bench.start() == [("loud", "HELLO")]


def test_implementations_of_one_hook_run_at_the_same_time(bench: Bench) -> None:
    together = threading.Barrier(3)

    def before_agent_start() -> AgentStart:
        together.wait(30)  # breaks unless all three are under way
        return AgentStart(prepend_context="met")

    for plugin_id in ("one", "two", "three"):
        bench.add(plugin_id, before_agent_start, timeout_ms=60_000)
    assert bench.start() == [("three", "met"), ("two", "met"), ("one", "met")]


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (ValueError("no good"), "ValueError: no good"),
        (SystemExit(3), "called sys.exit(3)"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (MemoryError(), "MemoryError"),
        (RecursionError("deep"), "RecursionError: deep"),
    ],
)
def test_plugin_that_raises_is_one_diagnostic_and_the_others_answer(
    bench: Bench, raised: BaseException, said: str
) -> None:
    def before_agent_start() -> None:
        raise raised

    bench.add("bad", before_agent_start)
    bench.add("ok", good("fine"))
    assert bench.start() == [("ok", "fine")]
    assert bench.events == [("bad", "before_agent_start", said)]


def test_plugin_that_raises_in_a_coroutine_is_one_diagnostic(bench: Bench) -> None:
    async def before_agent_start() -> None:
        await asyncio.sleep(0)
        raise TimeoutError("its own time-out")

    bench.add("bad", before_agent_start)
    bench.add("ok", good("fine"))
    assert bench.start() == [("ok", "fine")]
    assert bench.events == [("bad", "before_agent_start", "TimeoutError: its own time-out")]


def hang(release: threading.Event) -> Any:
    def before_agent_start() -> None:
        release.wait()

    return before_agent_start


def async_hang(release: threading.Event) -> Any:
    async def before_agent_start() -> None:
        while not release.is_set():
            await asyncio.sleep(0.01)

    return before_agent_start


def async_block(release: threading.Event) -> Any:
    async def before_agent_start() -> None:
        release.wait()

    return before_agent_start


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Plugins hang until it is set: a call that waits for one does not come back at all."""
    made = threading.Event()
    yield made
    made.set()


@pytest.mark.parametrize("make", [hang, async_hang, async_block])
def test_hanging_plugin_is_left_after_its_budget_and_the_others_answer(
    bench: Bench, release: threading.Event, make: Any
) -> None:
    bench.add("stuck", make(release), timeout_ms=200)
    bench.add("ok", good("fine"))
    assert bench.start() == [("ok", "fine")]
    assert bench.events == [("stuck", "before_agent_start", "did not finish within 0.2 s")]


@pytest.mark.parametrize("make", [hang, async_block])
def test_plugin_that_never_comes_back_is_not_called_for_ever(bench: Bench, release: threading.Event, make: Any) -> None:
    bench.add("stuck", make(release), timeout_ms=500)  # long enough that a busy machine begins each call
    before = threading.active_count()
    for _ in range(8):
        bench.start()
    messages = [message for _, _, message in bench.events]
    assert messages.count("did not finish within 0.5 s") == 4
    assert messages.count("was not called: earlier calls of this plugin never returned") == 4
    assert threading.active_count() - before < 8  # four that hang, and what is about to end


@pytest.mark.parametrize("make", [hang, async_block])
def test_while_a_call_hangs_the_next_run_does_not_wait_as_long_again(
    bench: Bench, release: threading.Event, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    monkeypatch.setattr("memslot.plugins.executor._SECOND_CHANCE", 0.05)
    bench.add("stuck", make(release), timeout_ms=500)
    bench.add("ok", good("fine"))
    for _ in range(3):
        assert bench.start() == [("ok", "fine")]
    assert [message for _, _, message in bench.events] == [
        "did not finish within 0.5 s",
        "did not finish within 0.05 s",
        "did not finish within 0.05 s",
    ]


def test_only_calls_that_somebody_waits_for_are_cut(
    bench: Bench, release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memslot.plugins.executor._SECOND_CHANCE", 0.0)

    def slow() -> str:
        time.sleep(0.02)
        return "kept"

    executor = PluginExecutor("stuck")
    with pytest.raises(OutOfTime):
        executor.start(release.wait, 0.01, "agent_end").result()
    assert executor.start(slow, 30, "agent_end").result() == "kept"
    assert executor.start(slow, 30, "search", in_a_hurry=True).result() == "kept"


def test_plugin_is_called_again_once_its_late_calls_have_come_back(bench: Bench) -> None:
    release = threading.Event()

    def before_agent_start() -> AgentStart:
        release.wait(30)
        return AgentStart("back")

    bench.add("slow", before_agent_start, timeout_ms=50)
    for _ in range(6):
        assert bench.start() == []
    release.set()
    deadline = time.perf_counter() + 30
    while not (answer := bench.start()) and time.perf_counter() < deadline:
        time.sleep(0.01)
    assert answer == [("slow", "back")]


def test_async_plugin_works_again_after_it_blocked_its_own_loop(
    bench: Bench, release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memslot.plugins.executor._SECOND_CHANCE", 60.0)  # for a busy machine
    blocks = [True, False]

    async def before_agent_start() -> AgentStart:
        if blocks.pop(0):
            release.wait()
        return AgentStart("well again")

    bench.add("moody", before_agent_start, timeout_ms=2000)
    assert bench.start() == []
    assert bench.start() == [("moody", "well again")]


def test_loop_is_given_up_even_where_the_calls_own_thread_stops_waiting_first(release: threading.Event) -> None:
    async def block() -> None:
        release.wait()

    async def answer() -> str:
        return "well again"

    executor = PluginExecutor("moody")
    blocked = executor.start(block, 0.05, "block")
    while not blocked.is_done:  # its thread has given up; its caller comes late, as on a busy machine
        time.sleep(0.01)
    with pytest.raises(OutOfTime):
        blocked.result()
    assert executor.start(answer, 30, "answer").result() == "well again"


def test_async_implementations_of_one_plugin_share_a_loop(bench: Bench) -> None:
    loops = []

    async def before_agent_start() -> AgentStart:
        loops.append(asyncio.get_running_loop())
        return AgentStart("x")

    bench.add("a", before_agent_start)
    bench.start()
    asyncio.run(asyncio.to_thread(bench.start))
    assert loops[0] is loops[1]


@pytest.mark.parametrize("value", ["text", 3, {"prepend_context": "x"}, ["x"], object()])
def test_wrong_return_type_is_one_diagnostic(bench: Bench, value: object) -> None:
    bench.add("bad", lambda: value)
    bench.add("ok", good("fine"))
    assert bench.start() == [("ok", "fine")]
    assert bench.events == [("bad", "before_agent_start", f"returned {type(value).__name__} instead of AgentStart")]


def test_diagnostic_tells_plugin_hook_duration_and_error(bench: Bench) -> None:
    def before_agent_start() -> None:
        time.sleep(0.05)
        raise ValueError("two\nlines")

    bench.add("bad", before_agent_start)
    bench.start()
    (event,) = bench.diagnostics
    assert event.duration_ms is not None
    assert event.duration_ms >= 50
    assert str(event).startswith("bad: before_agent_start: ValueError: two lines [")
    assert "\n" not in str(event)


def test_strict_mode_raises_what_would_have_been_a_diagnostic() -> None:
    bench = Bench({"MEMSLOT_STRICT_PLUGINS": "1"})

    def before_agent_start() -> None:
        raise ValueError("no good")

    bench.add("bad", before_agent_start)
    with pytest.raises(HookError, match="bad: before_agent_start: ValueError: no good") as caught:
        bench.start()
    assert isinstance(caught.value.__cause__, ValueError)


def test_strict_mode_also_raises_for_background_hooks() -> None:
    bench = Bench({"MEMSLOT_STRICT_PLUGINS": "1"})

    def agent_end() -> None:
        raise ValueError("lost")

    bench.add("bad", agent_end, name="agent_end")
    with pytest.raises(HookError, match="lost"):
        bench.runner.call("agent_end", run=RUN, messages=(), success=True, error=None)


def test_trace_prints_each_call_with_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench({"MEMSLOT_TRACE_PLUGINS": "1"})
    bench.add("ok", good("fine"))
    bench.start()
    assert capsys.readouterr().err.startswith("memslot trace: ok before_agent_start ")


def test_background_calls_of_a_plugin_keep_their_order_and_do_not_wait_for_another(bench: Bench) -> None:
    heard: list[tuple[str, str]] = []
    release = threading.Event()

    def slow(run: RunInfo) -> None:
        release.wait(10)
        heard.append(("slow", run.prompt))

    bench.add("slow", slow, name="agent_end")
    bench.add("quick", lambda run: heard.append(("quick", run.prompt)), name="agent_end")
    for number in range(3):
        run = RunInfo(str(number), RUN.session)
        bench.runner.call("agent_end", run=run, messages=(), success=True, error=None)
    deadline = time.perf_counter() + 30
    while len(heard) < 3 and time.perf_counter() < deadline:
        time.sleep(0.005)
    assert heard == [("quick", "0"), ("quick", "1"), ("quick", "2")]
    release.set()
    bench.runner.drain(30)
    assert heard[3:] == [("slow", "0"), ("slow", "1"), ("slow", "2")]


def test_drain_gives_up_after_its_budget_and_says_what_is_lost(bench: Bench, release: threading.Event) -> None:
    bench.add("stuck", lambda: release.wait(), name="agent_end")
    for _ in range(2):
        bench.runner.call("agent_end", run=RUN, messages=(), success=True, error=None)
    bench.runner.drain(0.2)
    assert bench.events == [("stuck", "close", "2 background call(s) were still open after 0.2 s and are lost")]


def test_context_variables_of_the_caller_are_seen_by_plugins(bench: Bench) -> None:
    from contextvars import ContextVar

    trace_id: ContextVar[str] = ContextVar("trace_id", default="unset")

    def before_agent_start() -> AgentStart:
        return AgentStart(trace_id.get())

    bench.add("reader", before_agent_start)
    trace_id.set("abc")
    assert bench.start() == [("reader", "abc")]


def test_hook_of_an_unknown_name_is_refused_with_the_names_there_are(bench: Bench) -> None:
    with pytest.raises(pluggy.PluginValidationError, match=r"no hook 'before_agnet_start'.*before_agent_start"):
        bench.add("typo", good("x"), name="before_agnet_start")
    assert bench.start() == []


def test_argument_that_the_hook_does_not_have_is_refused(bench: Bench) -> None:
    with pytest.raises(pluggy.PluginValidationError, match="promt"):
        bench.add("typo", lambda promt: None)
    assert bench.start() == []


def test_wrapper_is_refused_because_each_implementation_is_called_by_itself(bench: Bench) -> None:
    mark = pluggy.HookimplMarker("memslot")

    @mark(wrapper=True)
    def before_agent_start() -> Any:
        return (yield)

    context: Any = SimpleNamespace(plugin_id="wrapper")
    with pytest.raises(pluggy.PluginValidationError, match="wrapper"):
        bench.runner.add(SimpleNamespace(before_agent_start=before_agent_start), context)


def test_budgets_are_those_of_the_contract_unless_the_person_sets_others(bench: Bench) -> None:
    bench.add("plain", good("x"))
    bench.add("patient", good("x"), timeout_ms=45_000)
    assert bench.runner.budget_of("before_agent_start", "plain") == 15
    assert bench.runner.budget_of("before_tool_call", "plain") == 15
    assert bench.runner.budget_of("agent_end", "plain") == 30
    assert bench.runner.budget_of("agent_end", "patient") == 45
