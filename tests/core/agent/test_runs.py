"""Runs: what an agent is given, what plugins hear, and that no plugin can spoil either."""

from __future__ import annotations

import copy
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from memslot import Session

LISTENER = """
@hookimpl
def session_start(session):
    HEARD.append(("session_start", session.id))

@hookimpl
def before_agent_start(run, messages):
    HEARD.append(("before_agent_start", run.prompt, [dict(m) for m in messages]))

@hookimpl
def before_tool_call(run, tool, args):
    HEARD.append(("before_tool_call", tool, json.loads(json.dumps(args))))

@hookimpl
def after_tool_call(run, tool, args, result, duration_seconds):
    HEARD.append(("after_tool_call", tool, json.loads(json.dumps(args)), result.text, result.is_error))

@hookimpl
def agent_end(run, messages, success, error):
    HEARD.append(("agent_end", run.prompt, [dict(m) for m in messages], success, error))

@hookimpl
def before_compaction(session, messages, tokens):
    HEARD.append(("before_compaction", session.id, len(messages), tokens))

@hookimpl
def session_end(session):
    HEARD.append(("session_end", session.id))
"""

ECHO = """
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}, "more": {"type": "array"}}}

@hookimpl
def register_tools():
    def echo(args, call):
        HEARD.append(json.loads(json.dumps(args)))
        return {"echo": args.get("word"), "in": call.session.id}

    def fail(args):
        raise RuntimeError("the kettle is empty")

    return [
        Tool("echo", "Say it again.", SCHEMA, echo),
        Tool("fail", "Never works.", {}, fail),
        Tool("whisper", "For two only.", {}, lambda args: "psst", chat_types=("direct",)),
    ]
"""
ECHO_TOOLS = {"tools": ["echo", "fail", "whisper"]}


def of_kind(heard: list[Any], kind: str) -> list[Any]:
    return [item for item in heard if item[0] == kind]


# What a run gives


def test_a_run_gives_context_system_prompt_and_tools(bench) -> None:
    bench.write("echo", ECHO, provides=ECHO_TOOLS)
    bench.write(
        "guide",
        """
        @hookimpl
        def before_agent_start(run):
            return AgentStart(prepend_context=f"recalled for {run.prompt}", system_prompt="be kind")
        """,
    )
    with bench.load() as host, host.run("hello", session="s1") as run:
        assert run.context == "recalled for hello"
        assert run.system_prompt == "be kind"
        assert run.prompt == "recalled for hello\n\nhello"
        assert {tool.name for tool in run.tools} == {"echo", "fail", "whisper"}
        assert run.session == Session(host.agent_id, "s1", "direct")


def test_a_run_without_plugins_gives_the_prompt_as_it_is(bench) -> None:
    with bench.load(MEMSLOT_DISABLE_PLUGINS="1") as host, host.run("hello", system_prompt="base") as run:
        assert (run.context, run.system_prompt, run.prompt, run.tools) == ("", "base", "hello", ())


def test_contexts_are_joined_and_the_first_system_prompt_wins_in_pluggys_order(bench) -> None:
    for name, marks in (("low", "trylast=True"), ("high", "tryfirst=True"), ("middle", "")):
        bench.write(
            name,
            f"""
            @hookimpl({marks})
            def before_agent_start():
                return AgentStart(prepend_context=" {name} ", system_prompt={name if name != "high" else ""!r})
            """,
        )
    with bench.load() as host, host.run("hello", system_prompt="base") as run:
        assert run.context == "high\n\nmiddle\n\nlow"
        assert run.system_prompt == "middle"


def test_unmarked_plugins_are_called_in_the_order_of_the_list(bench) -> None:
    for name in ("b", "a", "c"):
        bench.write(name, f"@hookimpl\ndef before_agent_start():\n    return AgentStart(prepend_context={name!r})\n")
    with bench.load() as host, host.run("hello") as run:
        listed = [decision.plugin.id for decision in host.activation.decisions if decision.plugin.id in host.plugins]
        assert run.context.split() == [plugin_id for plugin_id in listed if plugin_id in "abc"]


def test_plugins_see_the_conversation_so_far(bench) -> None:
    bench.write("ear", LISTENER)
    with bench.load() as host, host.run("hello", messages=[{"role": "user", "content": "before"}]):
        pass
    assert of_kind(bench.heard("ear"), "before_agent_start") == [
        ("before_agent_start", "hello", [{"role": "user", "content": "before"}])
    ]


SECTIONS = """
@hookimpl
def register_prompt_sections():
    return [
        PromptSection("Echoing", "Use echo.", requires_tools=("echo",)),
        PromptSection("Whispering", "Use whisper.", requires_tools=("echo", "whisper")),
        PromptSection("Flying", "Use wings.", requires_tools=("wings",)),
        PromptSection("Always", lambda run: f"Asked: {run.prompt}", in_minimal=True),
        PromptSection("Blank", "  "),
    ]
"""


def headings(prompt: str) -> list[str]:
    return [line.removeprefix("## ") for line in prompt.splitlines() if line.startswith("## ")]


def test_prompt_sections_need_full_mode_and_their_tools(bench) -> None:
    bench.write("echo", ECHO + SECTIONS, provides=ECHO_TOOLS)
    with bench.load() as host:
        with host.run("hello", system_prompt="base") as run:
            assert run.system_prompt.startswith("base\n\n## Echoing\nUse echo.\n\n## Whispering")
            assert headings(run.system_prompt) == ["Echoing", "Whispering", "Always"]
            assert run.system_prompt.endswith("Asked: hello")
        with host.run("hello", prompt_mode="minimal") as run:
            assert run.system_prompt == "## Always\nAsked: hello"
        with host.run("hello", chat_type="group") as run:
            assert headings(run.system_prompt) == ["Echoing", "Always"]


def test_the_system_prompt_needs_no_run(bench) -> None:
    bench.write("echo", ECHO + SECTIONS, provides=ECHO_TOOLS)
    bench.write("ear", LISTENER)
    with bench.load() as host:
        assert headings(host.system_prompt()) == ["Echoing", "Whispering", "Always"]
        assert headings(host.system_prompt("group")) == ["Echoing", "Always"]
    assert bench.heard("ear") == []


def test_a_section_that_cannot_be_written_is_left_out(bench) -> None:
    bench.write(
        "author",
        """
        def broken(run):
            raise RuntimeError("no ink")

        @hookimpl
        def register_prompt_sections():
            return [PromptSection("A", broken), PromptSection("B", lambda run: 5), PromptSection("C", "fine")]
        """,
    )
    with bench.load() as host, host.run("hello") as run:
        assert run.system_prompt == "## C\nfine"
        assert {event.stage for event in host.diagnostics} == {"prompt section 'A'", "prompt section 'B'"}


@pytest.mark.parametrize("chat_type", ["group", "channel"])
def test_tools_limited_to_direct_chats_are_hidden_and_cannot_be_called_elsewhere(bench, chat_type: Any) -> None:
    bench.write("echo", ECHO, provides=ECHO_TOOLS)
    with bench.load() as host, host.run("hello", chat_type=chat_type) as run:
        assert {tool.name for tool in run.tools} == {"echo", "fail"}
        result = run.call_tool("whisper")
        assert result.is_error
        assert result.text == 'there is no tool "whisper" here; the tools are: echo, fail'


def test_an_unknown_chat_type_is_refused(bench) -> None:
    with bench.load(MEMSLOT_DISABLE_PLUGINS="1") as host, pytest.raises(ValueError, match="direct, group, channel"):
        host.run("hello", chat_type="crowd")  # type: ignore[arg-type]


# Tools in a run


def test_calling_a_tool_gives_its_result(bench) -> None:
    bench.write("echo", ECHO, provides=ECHO_TOOLS)
    with bench.load() as host, host.run("hello", session="s1") as run:
        assert run.call_tool("echo", {"word": "hi"}).data == {"echo": "hi", "in": "s1"}
        assert run.call_tool("echo", '{"word": "hi"}').text == '{"echo": "hi", "in": "s1"}'


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("nope", {}, 'there is no tool "nope" here'),
        ("echo", {"word": 5}, "echo: word is 5: must be string"),
        ("echo", "{", "echo: the arguments are not valid JSON"),
        ("fail", {}, "fail failed: RuntimeError: the kettle is empty"),
    ],
)
def test_what_goes_wrong_in_a_call_is_a_result(bench, name: str, args: Any, said: str) -> None:
    bench.write("echo", ECHO, provides=ECHO_TOOLS)
    with bench.load() as host, host.run("hello") as run:
        result = run.call_tool(name, args)
        assert result.is_error
        assert result.text.startswith(said)


def test_a_tool_that_hangs_is_left_after_its_time(bench) -> None:
    bench.write(
        "slow",
        """
        GO_ON = threading.Event()

        @hookimpl
        def register_tools():
            return [Tool("wait", "Waits.", {}, lambda args: GO_ON.wait(60), timeout_seconds=0.2)]
        """,
        provides={"tools": ["wait"]},
    )
    with bench.load() as host, host.run("hello") as run:
        result = run.call_tool("wait")
        assert result.text == "wait failed: did not finish within 0.2 s"
        sys.modules["slow"].GO_ON.set()


def test_a_plugin_may_change_arguments_and_the_next_one_sees_them(bench) -> None:
    bench.write("echo", ECHO, provides=ECHO_TOOLS)
    bench.write(
        "changer",
        """
        @hookimpl(tryfirst=True)
        def before_tool_call(args):
            return ToolCallVerdict(args={**args, "word": args["word"].upper()})
        """,
    )
    bench.write("ear", LISTENER)
    with bench.load() as host, host.run("hello", session="s1") as run:
        assert run.call_tool("echo", {"word": "hi"}).data == {"echo": "HI", "in": "s1"}
    assert of_kind(bench.heard("ear"), "before_tool_call") == [("before_tool_call", "echo", {"word": "HI"})]
    assert of_kind(bench.heard("ear"), "after_tool_call")[0][2] == {"word": "HI"}


def test_arguments_a_plugin_put_there_are_checked_like_any_other(bench) -> None:
    bench.write("echo", ECHO, provides=ECHO_TOOLS)
    bench.write("changer", "@hookimpl\ndef before_tool_call(args):\n    return ToolCallVerdict(args={'word': 5})\n")
    with bench.load() as host, host.run("hello") as run:
        assert run.call_tool("echo", {"word": "hi"}).text == "echo: word is 5: must be string"
    assert bench.heard("echo") == []


def test_a_refused_call_does_not_happen(bench) -> None:
    bench.write("echo", ECHO, provides=ECHO_TOOLS)
    bench.write("guard", "@hookimpl\ndef before_tool_call(tool):\n    return ToolCallVerdict(block='not\\nnow')\n")
    with bench.load() as host, host.run("hello") as run:
        result = run.call_tool("echo", {"word": "hi"})
        assert result.is_error
        assert result.text == "echo was refused: not now"
    assert bench.heard("echo") == []


def test_after_a_call_plugins_see_what_came_back(bench) -> None:
    bench.write("echo", ECHO, provides=ECHO_TOOLS)
    bench.write("ear", LISTENER)
    with bench.load() as host, host.run("hello", session="s1") as run:
        run.call_tool("echo", {"word": "hi"})
        run.call_tool("fail")
    assert of_kind(bench.heard("ear"), "after_tool_call") == [
        ("after_tool_call", "echo", {"word": "hi"}, '{"echo": "hi", "in": "s1"}', False),
        ("after_tool_call", "fail", {}, "fail failed: RuntimeError: the kettle is empty", True),
    ]


def test_a_tool_can_be_called_outside_a_run(bench) -> None:
    bench.write("echo", ECHO, provides=ECHO_TOOLS)
    with bench.load() as host:
        session = Session(host.agent_id, "s9", "group")
        assert host.call_tool("echo", {"word": "hi"}, session=session).data == {"echo": "hi", "in": "s9"}
        assert host.call_tool("whisper", session=session).is_error
        assert host.call_tool("whisper").text == "psst"


# Ends


def test_finishing_tells_plugins_the_messages_once(bench) -> None:
    bench.write("ear", LISTENER)
    with bench.load() as host, host.run("hello") as run:
        run.finish([{"role": "assistant", "content": "hi"}])
        run.finish([{"role": "assistant", "content": "again"}], success=False)
    assert of_kind(bench.heard("ear"), "agent_end") == [
        ("agent_end", "hello", [{"role": "assistant", "content": "hi"}], True, None)
    ]


def test_a_run_that_is_only_left_ended_well(bench) -> None:
    bench.write("ear", LISTENER)
    with bench.load() as host, host.run("hello"):
        pass
    assert of_kind(bench.heard("ear"), "agent_end") == [("agent_end", "hello", [], True, None)]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no tea"), "ValueError: no tea"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (SystemExit(3), "called sys.exit(3)"),
    ],
    ids=["error", "ctrl-c", "exit"],
)
def test_leaving_with_an_exception_is_a_failed_run_and_the_exception_goes_on(bench, error: BaseException, text: str):
    bench.write("ear", LISTENER)
    with bench.load() as host:
        with pytest.raises(type(error)) as caught, host.run("hello"):
            raise error
        assert caught.value is error
    assert of_kind(bench.heard("ear"), "agent_end") == [("agent_end", "hello", [], False, text)]


def test_an_exception_after_finish_changes_nothing(bench) -> None:
    bench.write("ear", LISTENER)
    with bench.load() as host:
        run = host.run("hello")
        run.finish([], success=True)
        with pytest.raises(ValueError, match="late"), run:
            raise ValueError("late")
    assert of_kind(bench.heard("ear"), "agent_end") == [("agent_end", "hello", [], True, None)]


def test_ends_come_once_each_and_in_order_for_every_plugin(bench) -> None:
    jitter = "    time.sleep(0.002 * (len(HEARD) % 3))\n"
    for name in ("ear", "slow-ear"):
        bench.write(
            name,
            LISTENER.replace(
                "def agent_end(run, messages, success, error):\n",
                "def agent_end(run, messages, success, error):\n" + jitter,
            ),
        )
    prompts = [f"prompt {number}" for number in range(40)]
    with bench.load() as host:
        for prompt in prompts:
            with host.run(prompt, session="s1"):
                pass
    for name in ("ear", "slow-ear"):
        assert [item[1] for item in of_kind(bench.heard(name), "agent_end")] == prompts


def test_an_end_does_not_keep_the_agent_waiting(bench) -> None:
    bench.write(
        "slow",
        """
        GO_ON = threading.Event()

        @hookimpl
        def agent_end(run):
            GO_ON.wait(60)
            HEARD.append(run.prompt)
        """,
    )
    with bench.load() as host:
        with host.run("hello"):
            pass
        assert bench.heard("slow") == []
        sys.modules["slow"].GO_ON.set()
    assert bench.heard("slow") == ["hello"]  # closing waited


# Conversations


def test_a_conversation_starts_once_and_ends_when_told(bench) -> None:
    bench.write("ear", LISTENER)
    with bench.load() as host:
        for prompt in ("one", "two"):
            with host.run(prompt, session="s1"):
                pass
        host.end_session("s1")
        host.end_session("s1")
        host.end_session("never seen")
    kinds = [item[:2] for item in bench.heard("ear") if item[0] != "before_agent_start"]
    assert kinds == [("session_start", "s1"), ("agent_end", "one"), ("agent_end", "two"), ("session_end", "s1")]


def test_a_conversation_that_ended_can_start_again(bench) -> None:
    bench.write("ear", LISTENER)
    with bench.load() as host:
        for _ in range(2):
            with host.run("hello", session="s1"):
                pass
            host.end_session(Session(host.agent_id, "s1"))
    assert len(of_kind(bench.heard("ear"), "session_start")) == 2
    assert len(of_kind(bench.heard("ear"), "session_end")) == 2


def test_a_run_without_a_session_is_a_conversation_of_its_own(bench) -> None:
    bench.write("ear", LISTENER)
    with bench.load() as host:
        with host.run("one") as first:
            pass
        with host.run("two") as second:
            pass
    assert first.session.id != second.session.id
    heard = [item[:2] for item in bench.heard("ear") if item[0] in ("session_start", "session_end")]
    ids = (first.session.id, second.session.id)
    assert sorted(heard) == sorted((kind, each) for each in ids for kind in ("session_start", "session_end"))


def test_closing_ends_open_conversations(bench) -> None:
    bench.write("ear", LISTENER)
    host = bench.load()
    with host.run("hello", session="s1"), host.run("hello", session="s2"):
        pass
    assert of_kind(bench.heard("ear"), "session_end") == []
    host.close()
    host.close()
    assert sorted(of_kind(bench.heard("ear"), "session_end")) == [("session_end", "s1"), ("session_end", "s2")]
    # The end of a conversation comes after the ends of its runs.
    assert [item[0] for item in bench.heard("ear")][-2:] == ["session_end", "session_end"]


def test_compaction_is_announced(bench) -> None:
    bench.write("ear", LISTENER)
    with bench.load() as host:
        host.before_compaction(Session(host.agent_id, "s1"), [{"role": "user", "content": "x"}] * 3, 1234)
        assert of_kind(bench.heard("ear"), "before_compaction") == [("before_compaction", "s1", 3, 1234)]


# Plugins that misbehave

EVERY_HOOK = (
    "session_start",
    "before_agent_start",
    "before_tool_call",
    "after_tool_call",
    "agent_end",
    "before_compaction",
    "session_end",
)
MISDEEDS = {
    "raises": "raise RuntimeError('boom')",
    "exits": "sys.exit(3)",
    "interrupts": "raise KeyboardInterrupt",
    "raises-base": "raise BaseException('odd')",
    "generator-exit": "raise GeneratorExit",
    "hangs": "time.sleep(1.5)",
    "returns-text": "return 'text'",
    "returns-number": "return 5",
    "returns-class": "return AgentStart",
    "wrong-fields": "return AgentStart(prepend_context=5, system_prompt=[1])",
    "wrong-verdict": "return ToolCallVerdict(args=[1], block=7)",
    "unprintable": "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})()",
}


def use_everything(host: Any) -> tuple[Any, ...]:
    with host.run("hello", session="s1", messages=[{"role": "user", "content": "x"}], system_prompt="base") as run:
        result = run.call_tool("echo", {"word": "hi", "more": [1]})
        host.before_compaction(run.session, [], 1)
        run.finish([{"role": "assistant", "content": "hi"}])
    host.end_session("s1")
    return run.context, run.system_prompt, result


@pytest.mark.parametrize("misdeed", sorted(MISDEEDS))
def test_nothing_a_plugin_does_reaches_the_caller_or_another_plugin(bench, misdeed: str) -> None:
    code = "".join(
        f"@hookimpl(tryfirst=True)\ndef {hook}():\n    HEARD.append({hook!r})\n    {MISDEEDS[misdeed]}\n"
        for hook in EVERY_HOOK
    )
    bench.write("bad", code, timeout_ms=100)
    bench.write("echo", ECHO, provides=ECHO_TOOLS)
    bench.write("ear", LISTENER)
    with bench.load() as host:
        context, system_prompt, result = use_everything(host)
    assert (context, system_prompt) == ("", "base")
    assert result.data == {"echo": "hi", "in": "s1"}
    assert sorted(item[0] for item in bench.heard("ear")) == sorted(EVERY_HOOK)
    assert "before_agent_start" in bench.heard("bad")
    blamed = {event.plugin for event in host.diagnostics}
    assert blamed == {"bad"}


def test_what_a_plugin_does_to_the_arguments_it_was_given_stays_with_it(bench) -> None:
    bench.write("echo", ECHO, provides=ECHO_TOOLS)
    bench.write(
        "vandal",
        """
        @hookimpl(tryfirst=True)
        def before_tool_call(args):
            args["more"].append("graffiti")
            args["word"] = "graffiti"
        """,
    )
    bench.write("ear", LISTENER)
    args = {"word": "hi", "more": [1]}
    with bench.load() as host, host.run("hello") as run:
        assert run.call_tool("echo", args).data["echo"] == "hi"
    assert args == {"word": "hi", "more": [1]}
    assert bench.heard("echo") == [{"word": "hi", "more": [1]}]
    assert of_kind(bench.heard("ear"), "before_tool_call")[0][2] == {"word": "hi", "more": [1]}


def test_what_a_plugin_does_to_a_result_it_is_shown_stays_with_it(bench) -> None:
    bench.write("echo", ECHO, provides=ECHO_TOOLS)
    bench.write(
        "vandal",
        """
        @hookimpl(tryfirst=True)
        def after_tool_call(args, result):
            args["more"].append("graffiti")
            args["word"] = "graffiti"
            result.data["echo"] = "graffiti"
            HEARD.append("done")
        """,
    )
    bench.write(
        "witness",
        """
        @hookimpl
        def after_tool_call(args, result):
            time.sleep(0.2)
            HEARD.append((args, result.data))
        """,
    )
    args = {"word": "hi", "more": [1]}
    with bench.load() as host, host.run("hello", session="s1") as run:
        result = run.call_tool("echo", args)
    assert bench.heard("vandal") == ["done"]
    assert bench.heard("witness") == [({"word": "hi", "more": [1]}, {"echo": "hi", "in": "s1"})]
    assert result.data == {"echo": "hi", "in": "s1"}
    assert args == {"word": "hi", "more": [1]}


def test_what_a_plugin_does_to_the_messages_it_was_given_stays_with_it(bench) -> None:
    bench.write(
        "vandal",
        """
        def spoil(messages):
            for message in messages:
                message["content"] = "graffiti"
                message["parts"].append("graffiti")
            HEARD.append("done")

        @hookimpl(tryfirst=True)
        def before_agent_start(messages):
            spoil(messages)

        @hookimpl(tryfirst=True)
        def agent_end(messages):
            spoil(messages)
        """,
    )
    bench.write(
        "witness",
        """
        @hookimpl
        def before_agent_start(messages):
            time.sleep(0.2)
            HEARD.append(list(messages))

        @hookimpl
        def agent_end(messages):
            time.sleep(0.2)
            HEARD.append(list(messages))
        """,
    )
    messages = [{"role": "user", "content": "x", "parts": ["a"]}]
    before = copy.deepcopy(messages)
    with bench.load() as host, host.run("hello", messages=messages) as run:
        run.finish(messages)
    assert bench.heard("vandal") == ["done", "done"]
    assert messages == before
    assert bench.heard("witness") == [before, before]


def test_messages_changed_after_finish_are_not_what_plugins_see(bench) -> None:
    bench.write("slow", "@hookimpl\ndef agent_end(messages):\n    time.sleep(0.2)\n    HEARD.append(list(messages))\n")
    messages = [{"role": "user", "content": ["x"]}]
    with bench.load() as host:
        with host.run("hello") as run:
            run.finish(messages)
        messages[0]["content"].append("later")  # type: ignore[attr-defined]
        messages.clear()
    assert bench.heard("slow") == [[{"role": "user", "content": ["x"]}]]


def test_a_huge_context_does_not_break_the_run(bench) -> None:
    bench.write(
        "big", "@hookimpl\ndef before_agent_start():\n    return AgentStart(prepend_context='x' * 20_000_000)\n"
    )
    bench.write(
        "small", "@hookimpl(trylast=True)\ndef before_agent_start():\n    return AgentStart(prepend_context='note')\n"
    )
    with bench.load() as host, host.run("hello") as run:
        assert run.context.endswith("note")
        assert run.prompt.endswith("\n\nhello")


def test_a_model_whose_validator_breaks_or_hangs_does_not_reach_the_caller(bench) -> None:
    bench.write(
        "strange",
        """
        from pydantic import BaseModel, field_validator

        class Arguments(BaseModel):
            word: str

            @field_validator("word")
            @classmethod
            def look(cls, value):
                if value == "exit":
                    sys.exit(3)
                raise TypeError("not today")

        @hookimpl
        def register_tools():
            return [Tool("odd", "Odd.", Arguments, lambda args: "x")]
        """,
        provides={"tools": ["odd"]},
    )
    with bench.load() as host, host.run("hello") as run:
        assert run.call_tool("odd", {"word": "x"}).is_error
        assert run.call_tool("odd", {"word": "exit"}).is_error


@pytest.mark.parametrize(
    "misdeed", ["raise RuntimeError('boom')", "sys.exit(3)", "raise KeyboardInterrupt", "return {1: object}"]
)
def test_nothing_a_tool_does_reaches_the_caller(bench, misdeed: str) -> None:
    bench.write(
        "odd",
        f"""
        def work(args):
            {misdeed}

        @hookimpl
        def register_tools():
            return [Tool("odd", "Odd.", {{}}, work)]
        """,
        provides={"tools": ["odd"]},
    )
    with bench.load() as host, host.run("hello") as run:
        assert isinstance(run.call_tool("odd").text, str)


def test_finish_takes_whatever_an_agent_calls_its_messages(bench) -> None:
    bench.write("ear", LISTENER)
    with bench.load() as host, host.run("hello") as run:
        run.finish([{"role": "user"}, "text", None, 5])  # type: ignore[list-item]
    assert of_kind(bench.heard("ear"), "agent_end") == [("agent_end", "hello", [{"role": "user"}], True, None)]


# Many at once


def test_fifty_threads_can_run_on_one_host(bench) -> None:
    bench.write("echo", ECHO, provides=ECHO_TOOLS)
    bench.write("ear", LISTENER)
    wrong: list[str] = []
    ready = threading.Barrier(50)

    with bench.load() as host:

        def work(number: int) -> None:
            ready.wait()
            for turn in range(3):
                with host.run(f"{number}/{turn}", session=f"s{number}") as run:
                    result = run.call_tool("echo", {"word": str(number)})
                    if result.data != {"echo": str(number), "in": f"s{number}"}:
                        wrong.append(result.text)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    assert list(host.diagnostics) == []
    heard = bench.heard("ear")
    assert sorted(item[1] for item in of_kind(heard, "session_start")) == sorted(f"s{n}" for n in range(50))
    assert len(of_kind(heard, "after_tool_call")) == 150
    for number in range(50):
        mine = [item[1] for item in of_kind(heard, "agent_end") if item[1].startswith(f"{number}/")]
        assert mine == [f"{number}/{turn}" for turn in range(3)]


# Whole processes


def start_script(bench: Any, code: str, folder: Path) -> subprocess.Popen[str]:
    script = folder / "script.py"
    script.write_text(
        "import os, sys, time\nfrom memslot import Host\n"
        f"host = Host.load({bench.config!r}, home={str(bench.home)!r})\n" + textwrap.dedent(code),
        encoding="utf-8",
    )
    return subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    )


WRITER = """
@hookimpl
def agent_end(run):
    time.sleep(0.3)
    print("end of", run.prompt, flush=True)

@hookimpl
async def session_end(session):
    await asyncio.sleep(0.1)
    print("end of", session.id, flush=True)
"""


@pytest.mark.parametrize(
    "ending", ["", "sys.exit(0)\n", "raise ValueError('the program broke')\n"], ids=["end", "exit", "error"]
)
def test_a_forgotten_host_still_tells_plugins_before_python_ends(bench, tmp_path: Path, ending: str) -> None:
    bench.write("writer", WRITER)
    process = start_script(bench, f"with host.run('hello', session='s1'):\n    pass\n{ending}", tmp_path)
    out, err = process.communicate(timeout=30)
    assert out.splitlines() == ["end of hello", "end of s1"]
    assert process.returncode == (1 if "raise" in ending else 0)
    assert ("Traceback" in err) == ("raise" in ending)


def interrupt_when_ready(process: subprocess.Popen[str]) -> str:
    """What it says when it is interrupted; it must not wait for the plugin, which hangs for much longer than we do."""
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    time.sleep(0.1)  # the caller goes from printing to waiting
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)[1]


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_ctrl_c_while_a_hook_hangs_ends_promptly(bench, tmp_path: Path, kind: str) -> None:
    pause = "await asyncio.sleep(600)" if kind == "async def" else "time.sleep(600)"
    bench.write("stuck", f"@hookimpl\n{kind} before_agent_start():\n    print('ready', flush=True)\n    {pause}\n")
    process = start_script(bench, "with host, host.run('hello'):\n    print('never')\n", tmp_path)
    err = interrupt_when_ready(process)
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT


def test_ctrl_c_while_a_tool_hangs_ends_promptly(bench, tmp_path: Path) -> None:
    bench.write(
        "stuck",
        """
        def wait(args):
            print("ready", flush=True)
            time.sleep(600)

        @hookimpl
        def register_tools():
            return [Tool("wait", "Waits.", {}, wait)]
        """,
        provides={"tools": ["wait"]},
    )
    process = start_script(bench, "with host, host.run('hello') as run:\n    run.call_tool('wait')\n", tmp_path)
    err = interrupt_when_ready(process)
    assert err.rstrip().endswith("KeyboardInterrupt")


def test_ctrl_c_while_closing_waits_for_a_plugin_ends_promptly(bench, tmp_path: Path) -> None:
    bench.write("stuck", "@hookimpl\ndef agent_end():\n    print('ready', flush=True)\n    time.sleep(600)\n")
    process = start_script(bench, "with host, host.run('hello'):\n    pass\n", tmp_path)
    err = interrupt_when_ready(process)
    assert err.rstrip().endswith("KeyboardInterrupt")
