"""Providers cache a prompt from its beginning: what MCP and hooks put there stays the same while notes change."""

from __future__ import annotations

import json

import pytest

from tests.plugins.mcp_server.conftest import World
from tests.plugins.mcp_server.talk import talking

TURNS = 50
FRUITS = ("papaya", "lychee", "quince", "guava", "persimmon")


def note(number: int) -> str:
    return f"In the morning Ana likes the fruit {FRUITS[number % 5]} number {number}."


def test_instructions_and_tools_stay_the_same_while_notes_are_written(world: World) -> None:
    with talking(world) as talk:
        instructions = {json.dumps(talk.shake_hands())}
        lists = set()
        for number in range(TURNS):
            answer = talk.call(10 + 2 * number, "memory_write", text=note(number))
            assert not answer["result"].get("isError"), answer
            lists.add(json.dumps(talk.ask(11 + 2 * number, "tools/list")["result"]))
        assert talk.close()[0] == 0
    with talking(world) as talk:  # a later conversation
        instructions.add(json.dumps(talk.shake_hands()))
        lists.add(json.dumps(talk.ask(1, "tools/list")["result"]))
        talk.close()
    assert len(instructions) == 1
    assert "instructions" in json.loads(instructions.pop())
    assert len(lists) == 1
    assert len(json.loads(lists.pop())["tools"]) >= 3


@pytest.mark.slow
def test_hooks_add_to_the_prompt_and_to_nothing_before_it(world: World) -> None:
    """`additionalContext` of a prompt is all there is: no system message, nothing for the turns before."""
    with talking(world) as talk:  # the server that answers hooks
        talk.shake_hands()
        for number in range(TURNS):
            prompt = {"session_id": "a1", "prompt": f"Question {number}: which fruit does Ana like in the morning?"}
            told = {**prompt, "hook_event_name": "UserPromptSubmit", "transcript_path": "/none.jsonl"}
            done = world.ask_server("claude-code", "prompt", json.dumps(told))
            assert (done.returncode, done.stderr) == (0, "")
            if number:
                answer = json.loads(done.stdout)
                assert set(answer) == {"hookSpecificOutput"}
                output = answer["hookSpecificOutput"]
                assert set(output) == {"hookEventName", "additionalContext"}
                assert output["hookEventName"] == "UserPromptSubmit"
                assert output["additionalContext"].startswith("<relevant-memories>")
                assert "Ana likes the fruit" in output["additionalContext"]
                assert output["additionalContext"].count("<relevant-memories>") == 1
            talk.call(10 + number, "memory_write", text=note(number))
        talk.close()
