"""Ctrl-C, SIGTERM and kill -9 in the middle of things."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

import pytest


def test_ctrl_c_stops_an_answer_and_keeps_the_conversation(chat: Any, wire: Any) -> None:
    chat.script(wire.stall("The gate", " is bl"), wire.say("Blue."))
    shown = chat.terminal("--session", "work")

    shown.line("what colour?")
    shown.expect("The gate is bl")
    shown.send("\x03")
    shown.expect("stopped; the answer so far is kept")
    assert chat.server.hung_up.wait(60), "the connection was kept"
    shown.prompt()
    shown.line("go on")
    shown.expect("Blue.")
    shown.prompt()
    shown.line("/quit")

    assert shown.wait() == 0
    assert chat.server.seen[1].texts == [
        ("user", "what colour?"),
        ("assistant", "The gate is bl\n\n[interrupted]"),
        ("user", "go on"),
    ]
    first = json.loads(chat.file("ends").splitlines()[0])
    assert (first["success"], first["error"]) == (False, "cancelled")


def test_ctrl_c_before_the_first_word(chat: Any, wire: Any) -> None:
    chat.script(wire.stall(before_headers=True), wire.say("Here."))
    shown = chat.terminal("--session", "work")

    shown.line("hello?")
    assert chat.server.stalled.wait(60)
    shown.send("\x03")
    shown.expect("stopped")
    assert chat.server.hung_up.wait(60)
    shown.prompt()
    shown.line("hello!")
    shown.expect("Here.")

    assert chat.server.seen[1].texts == [("user", "hello?\n\nhello!")]


def test_ctrl_c_leaves_a_tool_behind(chat: Any, wire: Any) -> None:
    chat.script(wire.call(("keep", {"word": "a"}), ("hang", {})), wire.say("Good."))
    shown = chat.terminal("--session", "work")

    shown.line("go")
    chat.wait_for_file("hanging")
    shown.expect('keep {"word": "a"} · ')
    shown.send("\x03")
    shown.expect("stopped")
    shown.prompt()
    shown.line("never mind")
    shown.expect("Good.")
    shown.prompt()
    shown.send("\x04")

    assert shown.wait() == 0
    assert [(each["role"], each["content"]) for each in chat.transcript("work")][1:4] == [
        ("assistant", ""),
        ("tool", "kept"),
        ("tool", "cancelled: the call was stopped before it gave a result"),
    ]
    roles = [role for role, _ in chat.server.seen[1].texts]
    assert roles == ["user", "assistant", "tool", "tool", "user"]


def test_ctrl_c_while_a_plugin_recalls(chat: Any, wire: Any) -> None:
    chat.script(wire.say("Quick."))
    shown = chat.terminal("--session", "work")

    shown.line("slow recall")
    chat.wait_for_file("recalling")
    shown.send("\x03")
    shown.expect("stopped")
    shown.prompt()
    shown.line("again")
    shown.expect("Quick.")

    assert chat.server.seen[0].texts == [("user", "again")]


def test_ctrl_c_at_the_prompt_asks_and_then_ends(chat: Any) -> None:
    shown = chat.terminal()

    shown.send("half a thought")
    shown.expect("half a thought")
    shown.send("\x03")
    shown.prompt()
    shown.send("\x03")
    shown.expect("Ctrl-C again, Ctrl-D or /quit ends the chat.")
    shown.prompt()
    shown.send("\x03")

    assert shown.wait() == 0
    assert chat.server.seen == []


def test_sigterm_ends_cleanly_and_waits_for_plugins(chat: Any, wire: Any) -> None:
    chat.script(wire.say("Hello."), wire.stall("The gate"))
    shown = chat.terminal("--session", "work")
    shown.line("hi")
    shown.expect("Hello.")
    shown.prompt()
    shown.line("what colour?")
    shown.expect("The gate")

    os.kill(shown.process.pid, signal.SIGTERM)

    assert shown.wait() == 143
    assert chat.said("work")[-1] == ("assistant", "The gate\n\n[interrupted]")
    assert [json.loads(line)["prompt"] for line in chat.file("ends").splitlines()] == ["hi", "what colour?"]


def test_sigterm_at_the_prompt(chat: Any, wire: Any) -> None:
    chat.script(wire.say("Hello."))
    shown = chat.terminal()
    shown.line("hi")
    shown.expect("Hello.")
    shown.prompt()

    os.kill(shown.process.pid, signal.SIGTERM)

    assert shown.wait() == 143
    assert len(chat.file("ends").splitlines()) == 1


def test_a_terminal_that_is_closed_ends_the_chat(chat: Any, wire: Any) -> None:
    chat.script(wire.say("Hello."))
    shown = chat.terminal("--session", "work")
    shown.line("hi")
    shown.expect("Hello.")
    shown.prompt()

    shown.hang_up()

    assert shown.process.wait(60) is not None
    assert len(chat.file("ends").splitlines()) == 1
    assert chat.said("work")[-1] == ("assistant", "Hello.")


def test_a_single_answer_is_stopped_by_ctrl_c(chat: Any, wire: Any) -> None:
    chat.script(wire.stall("so far"))
    process = chat.start("go", "--session", "work")
    assert chat.server.stalled.wait(60)
    assert process.stdout.read(6) == "so far"

    process.send_signal(signal.SIGINT)

    assert process.wait(60) == 130
    assert "cancelled" in process.stderr.read()
    assert chat.said("work")[-1] == ("assistant", "so far\n\n[interrupted]")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_ends_it_while_plugins_finish_waits_for_them(chat: Any, wire: Any, number: int) -> None:
    chat.script(wire.say("Hello."))
    process = chat.start("a slow end")
    chat.wait_for_file("ending")

    process.send_signal(number)

    assert process.wait(60) == 0, "the answer was given"
    assert len(chat.file("ends").splitlines()) == 1


def test_ctrl_c_does_not_wait_for_plugins_that_finish(chat: Any, wire: Any) -> None:
    chat.script(wire.say("Hello."))
    shown = chat.terminal()
    shown.line("a stuck end")
    shown.expect("Hello.")
    shown.prompt()
    shown.line("/quit")
    shown.expect("plugins are still working; press Ctrl-C to end the chat now")

    shown.send("\x03")

    assert shown.wait() == 130
    assert "Traceback" not in shown.text
    assert chat.file("ends") == ""


def test_after_kill_9_in_a_tool_the_conversation_goes_on(chat: Any, wire: Any) -> None:
    chat.script(wire.call(("keep", {"word": "a"}), ("hang", {})), wire.say("Where were we?"))
    process = chat.start("go", "--session", "work")
    chat.wait_for_file("hanging")
    _wait_for_result(chat)

    process.kill()
    process.wait(60)
    done = chat.run("are you there?", "--session", "work")

    assert done.stdout == "Where were we?\n"
    assert [role for role, _ in chat.said("work")] == ["user", "assistant", "tool", "user", "assistant"]
    sent = chat.server.seen[1].messages
    assert [each["role"] for each in sent[1:]] == ["user", "assistant", "tool", "tool", "user"]
    assert [each["content"] for each in sent if each["role"] == "tool"] == [
        "kept",
        "no result: the program ended before the call came back",
    ]


def _wait_for_result(chat: Any) -> None:
    path = chat.command.home / "agents" / "main" / "sessions" / "work.jsonl"
    chat.wait_for_file("kept")
    deadline = time.monotonic() + 60
    while '"role":"tool"' not in path.read_text(encoding="utf-8"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_after_kill_9_in_an_answer_the_conversation_goes_on(chat: Any, wire: Any) -> None:
    chat.script(wire.stall("half an ans"), wire.say("Whole."))
    process = chat.start("go", "--session", "work")
    assert chat.server.stalled.wait(60)

    process.kill()
    process.wait(60)

    assert chat.run("again", "--session", "work").stdout == "Whole.\n"
    assert chat.server.seen[1].texts == [("user", "go\n\nagain")]
