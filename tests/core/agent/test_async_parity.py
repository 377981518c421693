"""The async twins do what the sync ones do: one set of scenarios, played both ways."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

HOOKS = """
@hookimpl
{define} session_start(session):
    HEARD.append(("session_start", session.id, session.chat_type))

@hookimpl
{define} before_agent_start(run, messages):
    {pause}
    HEARD.append(("before_agent_start", run.prompt, len(messages)))
    if "break" in run.prompt:
        raise RuntimeError("no recall today")
    if "slow" in run.prompt:
        {long_pause}
    return AgentStart(prepend_context=f"recalled for {{run.prompt}}", system_prompt="be kind")

@hookimpl
{define} before_tool_call(tool, args):
    {pause}
    if args.get("word") == "secret":
        return ToolCallVerdict(block="secret")
    return ToolCallVerdict(args={{**args, "seen": True}})

@hookimpl
{define} after_tool_call(tool, args, result):
    HEARD.append(("after_tool_call", tool, dict(args), result.text))

@hookimpl
{define} agent_end(run, messages, success, error):
    {pause}
    HEARD.append(("agent_end", run.prompt, [dict(m) for m in messages], success, error))

@hookimpl
{define} session_end(session):
    HEARD.append(("session_end", session.id))

{define} echo(args, call):
    {pause}
    if args.get("word") == "bad":
        raise RuntimeError("not that word")
    return {{"word": args.get("word"), "seen": args.get("seen"), "in": call.session.id}}

@hookimpl
def register_tools():
    return [Tool("echo", "Says it again.", {{}}, echo), Tool("quiet", "Not here.", {{}}, echo, chat_types=("direct",))]
"""
KINDS = {
    "def": {"define": "def", "pause": "time.sleep(0.005)", "long_pause": "time.sleep(4)"},
    "async def": {"define": "async def", "pause": "await asyncio.sleep(0.005)", "long_pause": "await asyncio.sleep(4)"},
    "async def that blocks": {"define": "async def", "pause": "time.sleep(0.005)", "long_pause": "time.sleep(4)"},
}

Step = tuple[Any, ...]
HI = [{"role": "assistant", "content": "hi"}]
SCENARIOS: dict[str, list[Step]] = {
    "a plain run": [("run", "hello", {"session": "s1"}, [])],
    "messages before and after": [("run", "hello", {"session": "s1", "messages": HI}, [("finish", HI, {})])],
    "only the first finish counts": [
        ("run", "hello", {"session": "s1"}, [("finish", HI, {}), ("finish", [], {"success": False, "error": "late"})])
    ],
    "a failed run": [("run", "hello", {"session": "s1"}, [("finish", [], {"success": False, "error": "no luck"})])],
    "an exception leaves the block": [("run", "hello", {"session": "s1"}, [("raise", ValueError("no tea"))])],
    "tools": [
        (
            "run",
            "hello",
            {"session": "s1"},
            [
                ("tool", "echo", {"word": "hi"}),
                ("tool", "echo", '{"word": "hi"}'),
                ("tool", "echo", "{"),
                ("tool", "echo", {"word": "secret"}),
                ("tool", "echo", {"word": "bad"}),
                ("tool", "nope", None),
            ],
        )
    ],
    "a group chat": [("run", "hello", {"session": "s1", "chat_type": "group"}, [("tool", "quiet", {})])],
    "a tool outside a run": [("tool", "echo", {"word": "bad"}), ("tool", "nope", {}), ("tool", "echo", [1])],
    "minimal prompt with a base": [
        ("run", "hello", {"session": "s1", "prompt_mode": "minimal", "system_prompt": "base"}, [])
    ],
    "recall that fails": [("run", "break", {"session": "s1"}, [("tool", "echo", {"word": "hi"})])],
    "recall that takes too long": [
        ("run", "slow", {"session": "s1", "recall_seconds": 2.0}, [("tool", "echo", {"word": "hi"})]),
        ("run", "hello", {"session": "s1"}, []),
    ],
    "several runs of two conversations": [
        ("run", "one", {"session": "s1"}, []),
        ("run", "two", {"session": "s2"}, []),
        ("end", "s1"),
        ("run", "three", {"session": "s1"}, []),
    ],
    "a chat type that does not exist": [("run", "hello", {"chat_type": "crowd"}, [])],
}


def seen(run: Any) -> Step:
    tools = tuple(tool.name for tool in run.tools)
    return ("given", run.context, run.system_prompt, run.prompt, tools, run.session.id, run.info.prompt)


def play(host: Any, steps: list[Step]) -> list[Any]:
    outcome: list[Any] = []
    with host:
        for kind, *rest in steps:
            if kind == "tool":
                outcome.append(host.call_tool(*rest))
            elif kind == "end":
                host.end_session(*rest)
            else:
                prompt, options, inner = rest
                try:
                    with host.run(prompt, **options) as run:
                        outcome.append(seen(run))
                        for what, *more in inner:
                            if what == "raise":
                                raise more[0]
                            if what == "finish":
                                run.finish(more[0], **more[1])
                            else:
                                outcome.append(run.call_tool(*more))
                except ValueError as error:
                    outcome.append(("raised", str(error)))
    return outcome


async def aplay(host: Any, steps: list[Step]) -> list[Any]:
    outcome: list[Any] = []
    async with host:
        for kind, *rest in steps:
            if kind == "tool":
                outcome.append(await host.acall_tool(*rest))
            elif kind == "end":
                host.end_session(*rest)
            else:
                prompt, options, inner = rest
                try:
                    async with host.arun(prompt, **options) as run:
                        outcome.append(seen(run))
                        for what, *more in inner:
                            if what == "raise":
                                raise more[0]
                            if what == "finish":
                                await run.finish(more[0], **more[1])
                            else:
                                outcome.append(await run.call_tool(*more))
                except ValueError as error:
                    outcome.append(("raised", str(error)))
    return outcome


PLAYERS: dict[str, Callable[[Any, list[Step]], list[Any]]] = {
    "sync": play,
    "async": lambda host, steps: asyncio.run(aplay(host, steps)),
}


def write_both(bench: Any, kind: str) -> None:
    for way in PLAYERS:
        bench.write(way, HOOKS.format(**KINDS[kind]), timeout_ms=60_000, provides={"tools": ["echo", "quiet"]})


def in_order(heard: list[Any]) -> tuple[list[Any], list[Any]]:
    """What was heard while the agent waited, and what in the background: each has an order of its own."""
    ends = ("after_tool_call", "agent_end", "session_end")
    return [item for item in heard if item[0] not in ends], [item for item in heard if item[0] in ends]


def complaints(host: Any) -> list[tuple[str, str]]:
    return [(event.stage, event.message) for event in host.diagnostics]


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_both_ways_have_the_same_outcome(bench, monkeypatch: pytest.MonkeyPatch, name: str, kind: str) -> None:
    # On a busy machine, only the recall that is meant to may run out of time.
    monkeypatch.setattr("memslot.plugins.executor._SECOND_CHANCE", 60.0)
    write_both(bench, kind)
    outcomes = {}
    for way, player in PLAYERS.items():
        host = bench.load(MEMSLOT_LOAD_PLUGINS=way)
        outcome = player(host, SCENARIOS[name])
        outcomes[way] = (outcome, in_order(bench.heard(way)), complaints(host))
    assert outcomes["sync"] == outcomes["async"]
    assert outcomes["sync"][0]


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("way", sorted(PLAYERS))
def test_hooks_of_either_kind_are_heard_in_full(bench, way: str, kind: str) -> None:
    write_both(bench, kind)
    host = bench.load(MEMSLOT_LOAD_PLUGINS=way)
    steps = [("run", "hello", {"session": "s1"}, [("tool", "echo", {"word": "hi"}), ("finish", HI, {})])]
    (given, result) = PLAYERS[way](host, steps)
    assert given[1:3] == ("recalled for hello", "be kind")
    assert result.data == {"word": "hi", "seen": True, "in": "s1"}
    waited, background = in_order(bench.heard(way))
    assert waited == [("session_start", "s1", "direct"), ("before_agent_start", "hello", 0)]
    assert background == [
        ("after_tool_call", "echo", {"word": "hi", "seen": True}, result.text),
        ("agent_end", "hello", HI, True, None),
        ("session_end", "s1"),
    ]
    assert complaints(host) == []


def test_an_async_run_is_used_with_async_with(bench) -> None:
    host = bench.load(MEMSLOT_DISABLE_PLUGINS="1")
    with pytest.raises(RuntimeError, match=r"async with host\.arun"):
        host.arun("hello").context


def test_closing_twice_is_fine_both_ways(bench) -> None:
    bench.write("ear", HOOKS.format(**KINDS["async def"]), provides={"tools": ["echo", "quiet"]})

    async def work(host: Any) -> None:
        async with host.arun("hello", session="s1"):
            pass
        await host.aclose()
        await host.aclose()

    host = bench.load()
    asyncio.run(work(host))
    host.close()
    assert [item[0] for item in bench.heard("ear")][-2:] == ["agent_end", "session_end"]


# An event loop that belongs to the caller, and one that belongs to the plugin

SLOW_HOOK = """
@hookimpl
{define} before_agent_start():
    {pause}
    return AgentStart(prepend_context="late")
"""


@pytest.mark.parametrize("blocking", ["def", "async def that blocks"])
def test_a_slow_hook_does_not_stop_the_callers_event_loop(bench, blocking: str) -> None:
    """The hook comes back in time only if the caller's loop goes on meanwhile."""
    pause = "assert GO_ON.wait(30)"
    code = "GO_ON = threading.Event()\n" + SLOW_HOOK.format(define=KINDS[blocking]["define"], pause=pause)
    bench.write("slow", code, timeout_ms=60_000)

    async def work(host: Any) -> str:
        async def tick() -> None:
            for _ in range(15):
                await asyncio.sleep(0.01)
            sys.modules["slow"].GO_ON.set()

        ticking = asyncio.create_task(tick())
        async with host.arun("hello") as run:
            context = run.context
        await ticking
        return context

    assert asyncio.run(work(bench.load())) == "late"


def test_a_coroutine_that_blocks_its_loop_costs_only_its_own_plugin_and_only_for_a_while(bench) -> None:
    bench.write(
        "blocker",
        """
        GO_ON = threading.Event()

        @hookimpl
        async def before_agent_start(run):
            if run.prompt == "block":
                GO_ON.wait(60)
            return AgentStart(prepend_context="from blocker")
        """,
        timeout_ms=200,
    )
    bench.write("other", SLOW_HOOK.format(define="async def", pause="await asyncio.sleep(0.01)"), timeout_ms=60_000)
    with bench.load() as host:
        with host.run("block") as run:
            assert run.context == "late"
        assert complaints(host) == [("before_agent_start", "did not finish within 0.2 s")]
        sys.modules["blocker"].GO_ON.set()
        deadline = time.perf_counter() + 30
        contexts: list[str] = []
        while "from blocker" not in "".join(contexts) and time.perf_counter() < deadline:
            with host.run("go") as run:
                contexts.append(run.context)
        assert "from blocker" in contexts[-1]


LOOP_BOUND = """
STATE = {}

@hookimpl
async def before_agent_start(run):
    if not STATE:
        # Taking the lock and waiting at the queue binds both to this loop.
        STATE.update(lock=asyncio.Lock(), queue=asyncio.Queue(), loop=asyncio.get_running_loop())
    async with STATE["lock"]:
        waiting = asyncio.create_task(STATE["queue"].get())
        await asyncio.sleep(0.005)
        await STATE["queue"].put(f"served {run.prompt}")
        return AgentStart(prepend_context=await waiting)

@hookimpl
async def agent_end(run):
    async with STATE["lock"]:
        HEARD.append((run.prompt, STATE["loop"] is asyncio.get_running_loop()))
"""


def test_what_belongs_to_a_plugins_loop_lasts_from_call_to_call_for_sync_callers(bench) -> None:
    bench.write("served", LOOP_BOUND)
    with bench.load() as host:
        for prompt in ("one", "two"):
            with host.run(prompt, session="s1") as run:
                assert run.context == f"served {prompt}"
    assert bench.heard("served") == [("one", True), ("two", True)]
    assert complaints(host) == []


def test_what_belongs_to_a_plugins_loop_lasts_across_the_loops_of_async_callers(bench) -> None:
    bench.write("served", LOOP_BOUND)
    host = bench.load()

    async def ask(prompt: str) -> str:
        async with host.arun(prompt, session="s1") as run:
            return run.context

    assert [asyncio.run(ask(prompt)) for prompt in ("one", "two")] == ["served one", "served two"]
    with host.run("three", session="s1") as run:
        assert run.context == "served three"
    host.close()
    assert bench.heard("served") == [("one", True), ("two", True), ("three", True)]
    assert complaints(host) == []


def test_many_callers_at_once_share_what_belongs_to_a_plugins_loop(bench) -> None:
    bench.write("served", LOOP_BOUND)
    host = bench.load()
    with host.run("first", session="s0"):
        pass

    async def ask(number: int) -> str:
        async with host.arun(str(number), session=f"s{number}") as run:
            return run.context

    async def ask_all() -> list[str]:
        return await asyncio.gather(*(ask(number) for number in range(20)))

    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda: answers.extend(asyncio.run(ask_all()))),
        threading.Thread(target=lambda: answers.append(host.run("t", session="t").context)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    host.close()
    assert sorted(answers) == sorted([*(f"served {number}" for number in range(20)), "served t"])
    assert complaints(host) == []


def test_closing_cancels_what_a_plugin_left_running_on_its_loop(bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memslot.plugins.executor._LOOP_ANSWERS_WITHIN", 60.0)  # for a busy machine
    bench.write(
        "keeper",
        """
        async def keep():
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                HEARD.append("let go")
                raise

        @hookimpl
        async def before_agent_start():
            HEARD.append(asyncio.create_task(keep()))
            await asyncio.sleep(0)
        """,
    )
    with bench.load() as host, host.run("hello"):
        pass
    assert bench.heard("keeper")[1:] == ["let go"]
