"""A full window: notes are saved, a summary takes the place of what was said, and the answer comes."""

from __future__ import annotations

import json
from typing import Any

WINDOW = 8000
"""Flush at 4,001 tokens, compaction at 4,667."""
LONG = "word " * 4000


def summary_request(chat: Any, number: int) -> str:
    request = chat.server.seen[number]
    assert "tools" not in request.body
    assert request.messages[0]["content"].startswith("You are given the older part of a conversation")
    return str(request.messages[1]["content"])


def test_notes_first_then_a_summary_then_the_answer(chat: Any, wire: Any) -> None:
    chat.configure(contextWindow=WINDOW)
    chat.script(
        wire.say("Noted.", usage=(2000, 10)),
        wire.call(("keep", {"word": "the gate is blue"})),
        wire.say("NO_REPLY"),
        wire.say("They spoke of a gate."),
        wire.say("Blue."),
        wire.say("Still blue."),
    )

    chat.run(f"the gate is blue {LONG}", "--session", "work")
    done = chat.run("what colour?", "--session", "work")

    assert done.stdout == "Blue.\n"
    flush = chat.server.seen[1]
    before = chat.server.seen[0]
    assert flush.messages[: len(before.messages)] == before.messages, "the provider finds it in its cache"
    assert flush.body["tools"] == before.body["tools"]
    assert "about to be shortened" in flush.texts[-1][1]
    assert "\n\nAppend decisions" in flush.texts[-1][1]
    assert chat.file("kept") == "the gate is blue\n"
    told = summary_request(chat, 3)
    assert told.startswith("Person: the gate is blue word")
    assert told.endswith("Assistant: Noted.")
    assert "relevant-memories" not in told
    assert chat.server.seen[4].texts == [
        ("user", "Summary of the conversation so far:\n\nThey spoke of a gate.\n\nwhat colour?")
    ]
    assert chat.file("compactions") == "2\n"
    record = chat.command.json("sessions", "show", "work")
    assert (record["compactionCount"], record["memoryFlushCompactionCount"]) == (1, 0)
    assert [role for role, _ in chat.said("work")] == ["user", "assistant"] * 2, "the flush is in no transcript"
    assert record["inputTokens"] == 2000 + 200 + 100 * 3

    chat.run("and now?", "--session", "work")
    assert chat.server.seen[5].texts[0][1].startswith("Summary of the conversation so far:")
    assert chat.server.is_done


def test_the_count_of_the_endpoint_decides_within_one_chat(chat: Any, wire: Any) -> None:
    chat.configure(contextWindow=WINDOW)
    chat.script(wire.say("One.", usage=(6000, 10)), wire.say("NO_REPLY"), wire.say("A summary."), wire.say("Two."))
    shown = chat.terminal("--session", "work")

    shown.line("short")
    shown.expect("One.")
    shown.prompt()
    shown.line("shorter")
    shown.expect("a summary now replaces 2 older messages", "Two.")
    shown.prompt()

    assert "NO_REPLY" not in shown.text
    assert chat.server.is_done


def test_what_a_flush_says_to_the_person_is_shown(chat: Any, wire: Any) -> None:
    chat.configure(contextWindow=WINDOW)
    chat.script(wire.say("Ok."), wire.say("I could not save it."), wire.say("Summary."), wire.say("Yes."))

    chat.run(LONG, "--session", "work")
    done = chat.run("well?", "--session", "work")

    assert done.stdout == "I could not save it.\nYes.\n"


def test_no_flush_where_the_workspace_cannot_be_written(chat: Any, wire: Any) -> None:
    blocked = chat.command.folder / "a-file"
    blocked.write_text("no folder", encoding="utf-8")
    chat.configure(contextWindow=WINDOW, workspace=str(blocked))
    chat.script(wire.say("Ok."), wire.say("Summary."), wire.say("Yes."))

    chat.run(LONG, "--session", "work")
    assert chat.run("well?", "--session", "work").stdout == "Yes.\n"

    summary_request(chat, 1)


def test_a_window_that_is_smaller_than_configured(chat: Any, wire: Any) -> None:
    full = wire.refuse(400, "This model's maximum context length is 4096 tokens")
    chat.script(wire.say("Ok."), full, wire.say("NO_REPLY"), wire.say("Summary."), wire.say("Yes."))

    chat.run("hello", "--session", "work")
    done = chat.run("well?", "--session", "work")

    assert (done.returncode, done.stdout) == (0, "Yes.\n")
    summary_request(chat, 3)
    assert chat.server.seen[4].texts == [("user", "Summary of the conversation so far:\n\nSummary.\n\nwell?")]


def test_a_prompt_that_no_summary_makes_fit(chat: Any, wire: Any) -> None:
    full = wire.refuse(400, "maximum context length exceeded")
    chat.script(full)

    done = chat.run("hello", "--session", "work")

    assert done.returncode == 1
    assert "rejects a conversation of this length" in done.stderr
    assert chat.server.is_done


def test_a_flush_or_summary_that_is_too_long_itself_is_tried_with_less(chat: Any, wire: Any) -> None:
    full = wire.refuse(400, "context length exceeded")
    chat.script(*[wire.say(str(number)) for number in range(4)])
    for number in range(4):
        chat.run(f"{number} " + "x" * 3000, "--session", "work")
    chat.script(full, full, wire.say("NO_REPLY"), full, wire.say("Summary."), wire.say("Yes."))

    done = chat.run("well?", "--session", "work")

    assert (done.returncode, done.stdout) == (0, "Yes.\n")
    first, second = chat.server.seen[5], chat.server.seen[6]
    assert len(first.texts) > len(second.texts) > 1
    assert len(summary_request(chat, 8)) <= len(summary_request(chat, 7))


def test_without_a_summary_the_oldest_turns_go(chat: Any, wire: Any) -> None:
    chat.configure(contextWindow=WINDOW)
    chat.script(wire.say("Ok."), wire.say("NO_REPLY"), wire.refuse(418, "no summaries today"), wire.say("Yes."))

    chat.run(LONG, "--session", "work")
    done = chat.run("well?", "--session", "work")

    assert (done.returncode, done.stdout) == (0, "Yes.\n")
    assert "2 older messages were dropped without a summary" in done.stderr
    assert "no summaries today" in done.stderr
    (only,) = chat.server.seen[3].texts
    assert "there is no summary of it" in only[1]
    assert only[1].endswith("well?")


def test_a_flush_that_fails_is_said_and_due_again(chat: Any, wire: Any) -> None:
    chat.configure(contextWindow=WINDOW)
    chat.script(wire.say("Ok."), wire.refuse(418, "not now"), wire.say("Summary."), wire.say("Yes."))

    chat.run(LONG, "--session", "work")
    done = chat.run("well?", "--session", "work")

    assert done.stdout == "Yes.\n"
    assert "no notes were saved" in done.stderr
    assert "memoryFlushCompactionCount" not in chat.command.json("sessions", "show", "work")


def test_results_of_tools_may_fill_the_window_within_a_turn(chat: Any, wire: Any) -> None:
    chat.configure(contextWindow=WINDOW)
    chat.script(
        wire.say("Ok.", usage=(1000, 10)),
        wire.call(("long", {}), ("long", {}), ("long", {})),
        wire.say("NO_REPLY"),
        wire.say("Summary."),
        wire.say("Long indeed."),
    )

    chat.run("hello", "--session", "work")
    done = chat.run("get it", "--session", "work")

    assert done.stdout == "Long indeed.\n"
    assert [role for role, _ in chat.server.seen[4].texts] == ["user", "assistant", "tool", "tool", "tool"]
    assert chat.server.seen[4].texts[0][1].endswith("Summary.\n\nget it")


def test_recent_turns_stay_as_they_are(chat: Any, wire: Any) -> None:
    chat.configure(contextWindow=WINDOW)
    chat.script(wire.say("Ok."), wire.say("Near."), wire.say("NO_REPLY"), wire.say("Summary."), wire.say("Yes."))

    chat.run("word " * 2200, "--session", "work")
    chat.run("recent", "--session", "work")
    chat.run("word " * 2200, "--session", "work")

    assert [text for _, text in chat.server.seen[4].texts][:2] == [
        "Summary of the conversation so far:\n\nSummary.\n\nrecent",
        "Near.",
    ]


def test_a_model_without_tools_is_not_asked_to_save_notes(chat: Any, wire: Any) -> None:
    chat.configure(contextWindow=WINDOW)
    chat.script(
        wire.refuse(400, "gemma does not support tools"),
        wire.say("One.", usage=(6000, 10)),
        wire.say("A summary."),
        wire.say("Two."),
    )
    shown = chat.terminal("--session", "work")

    shown.line("first")
    shown.expect("One.")
    shown.prompt()
    shown.line("second")
    shown.expect("Two.")

    assert chat.server.is_done
    assert "no notes were saved" not in shown.text


def test_a_transcript_of_another_program_is_summarised_as_far_as_it_is_understood(chat: Any, wire: Any) -> None:
    chat.configure(contextWindow=WINDOW)
    calls = [5, None, {"id": "a", "function": None}, {"id": "b", "function": {"name": "look", "arguments": {"at": 1}}}]
    messages: list[dict[str, Any]] = [
        {"role": 5, "content": {}},
        {"role": "assistant", "content": None, "tool_calls": 5},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": ["b"], "content": "lost"},
        {"role": "tool", "tool_call_id": "b", "content": "seen"},
        {"role": "user", "content": [7, {"text": LONG}]},
    ]
    folder = chat.command.home / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    lines = [json.dumps({"type": "message", "id": str(place), "message": each}) for place, each in enumerate(messages)]
    (folder / "odd.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    chat.script(wire.say("NO_REPLY"), wire.say("A summary."), wire.say("Yes."))

    done = chat.run("well?", "--session", "odd")

    assert done.stdout == "Yes.\n"
    assert summary_request(chat, 1).startswith(
        'Tool call: look {"unreadable": {"at": 1}}\n\nTool result: seen\n\nPerson'
    )
