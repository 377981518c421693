"""Providers cache a prompt from its beginning: over fifty turns with writes between, a chat only adds to its end."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

TURNS = 50
FRUITS = ("papaya", "lychee", "quince", "guava", "persimmon")


@pytest.mark.slow
def test_each_request_begins_with_the_one_before(chat: Any, wire: Any) -> None:
    workspace = chat.command.home / "workspace"
    (workspace / "memory").mkdir(parents=True)
    chat.configure("memory-core", memorySearch={"provider": "none"})
    terminal = chat.terminal("--session", "ana", columns=200)
    for number in range(TURNS):
        note = {"text": f"In the morning Ana likes the fruit {FRUITS[number % 5]} number {number}."}
        chat.script(wire.call(("memory_write", note), first=number + 1), wire.say(f"Answer {number}."))
        terminal.line(f"Question {number}: which fruit does Ana like in the morning?")
        terminal.expect(f"Answer {number}.")
        terminal.prompt()
    terminal.line("/exit")
    assert terminal.wait() == 0

    bodies = [exchange.body for exchange in chat.server.seen]
    assert len(bodies) == 2 * TURNS
    assert len({json.dumps(body["messages"][0]) for body in bodies}) == 1
    assert bodies[0]["messages"][0]["role"] == "system"
    assert len({json.dumps(body["tools"]) for body in bodies}) == 1
    for before, after in itertools.pairwise(bodies):
        assert after["messages"][: len(before["messages"])] == before["messages"]
    asked = [body["messages"][-1]["content"] for body in bodies[::2]]
    recalled = [text for text in asked if "<relevant-memories>" in text and "Ana likes the fruit" in text]
    assert len(recalled) > TURNS / 2, [text[:300] for text in asked]
