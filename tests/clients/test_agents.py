"""What a person has after one command, in each real agent: tools, recall, capture, and conversations to import."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.agents import AGENTS, Agent, Run, ask_chat, make_agent, make_world
from tests.clients.model_server import Ask, ModelServer, Say, Step
from tests.clients.programs import SLOW

pytestmark = [pytest.mark.clients, pytest.mark.timeout(SLOW)]

PROMPT = "Which database has the harbour API?"
NOTE = "The orchid on the pier likes rain."
REPLY = "It is PostgreSQL, and I wrote down the orchid."


@dataclass(frozen=True)
class Turn:
    """One turn of an agent whose model searched the memory and wrote into it."""

    agent: Agent
    model: ModelServer
    run: Run


@pytest.fixture(scope="module", params=list(AGENTS))
def turn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Turn]:
    steps = (Ask("memory_search", {"query": "harbour API database"}), Ask("memory_write", {"text": NOTE}), Say(REPLY))
    with ModelServer(*steps) as model:
        agent = make_agent(request.param, make_world(tmp_path_factory.mktemp(request.param)), model)
        yield Turn(agent, model, agent.ask(PROMPT))


def test_the_agent_comes_to_its_end(turn: Turn) -> None:
    assert turn.run.status == 0, turn.run.err
    assert REPLY in turn.run.out


def test_the_first_request_has_the_tools(turn: Turn) -> None:
    first = turn.model.requests[0]

    assert [first.find_tool(name) is not None for name in ("memory_search", "memory_get", "memory_write")] == [True] * 3


def test_the_model_gets_what_it_searches_for(turn: Turn) -> None:
    assert "MEMORY.md#L1" in turn.model.requests[1].text


def test_what_the_model_writes_is_a_note(turn: Turn) -> None:
    assert NOTE in turn.agent.world.notes()


def test_what_is_recalled_for_the_prompt_stands_in_the_request(turn: Turn) -> None:
    assert "We decided on PostgreSQL" in turn.model.requests[0].text


def test_the_turn_is_captured_when_it_ends(turn: Turn) -> None:
    captured = turn.agent.world.heard("agent_end")
    assert [each["messages"] for each in captured] == [
        [{"role": "user", "content": PROMPT}, {"role": "assistant", "content": REPLY}]
    ]
    assert captured[0]["session"].startswith(f"{turn.agent.program.id}-")


def test_the_end_of_the_conversation_is_told_once(turn: Turn) -> None:
    session = turn.agent.world.heard("agent_end")[0]["session"]
    assert [each["session"] for each in turn.agent.world.heard("session_end")].count(session) == 1


def test_its_conversations_are_imported_once(turn: Turn) -> None:
    def imported() -> list[tuple[str, str, int]]:
        done = turn.agent.world.memslot("sessions", "import", str(turn.agent.transcripts()), "--json")
        return [(each["program"], each["state"], each["added"]) for each in json.loads(done.stdout)["sessions"]]

    assert imported() == [(turn.agent.program.id, "new", 2)]
    assert imported() == [(turn.agent.program.id, "same", 0)]


TEA = "Remember that I like tea."
NEARLY_FULL = Ask("memory_search", {"query": "tea"}, tokens=95_000)
"""After this an agent compacts by itself."""
COMPACTIONS: dict[str, tuple[tuple[Step, ...], list[tuple[str, ...]]]] = {
    "claude-code": ((Say("Noted."),), [(TEA,), ("/compact", "--continue")]),
    "codex": ((NEARLY_FULL, Say("Noted.")), [(TEA, "-c", "model_auto_compact_token_limit=50000")]),
    "opencode": ((NEARLY_FULL, Say("Noted.")), [(TEA,)]),
    "qwen": ((Say("Noted."),), [(TEA,), ("/compress", "--continue")]),
}
"""Gemini CLI announces a compaction before every request, so nothing is captured then, or all would be many times."""


@pytest.mark.parametrize("name", list(COMPACTIONS))
def test_what_was_said_is_captured_before_a_compaction(name: str, tmp_path: Path) -> None:
    steps, prompts = COMPACTIONS[name]
    with ModelServer(*steps) as model:
        agent = make_agent(name, make_world(tmp_path), model)
        for prompt, *options in prompts:
            agent.ask(prompt, *options)

    told = agent.world.heard("before_compaction")
    assert [each["messages"][0] for each in told] == [{"role": "user", "content": TEA}]
    captured = agent.world.heard("agent_end")
    assert {each["session"] for each in captured} == {told[0]["session"]}
    assert [each["messages"][0]["content"] for each in captured] == [TEA, TEA]
    said = [message["content"] for each in captured for message in each["messages"]]
    assert model.aside not in said
    assert "Noted." in said


def test_a_turn_of_one_reply_is_captured(tmp_path: Path) -> None:
    """Claude Code calls the hook before it has written such a turn down."""
    with ModelServer(Say("Noted.")) as model:
        agent = make_agent("claude-code", make_world(tmp_path), model)
        agent.ask(TEA)

    turn = [{"role": "user", "content": TEA}, {"role": "assistant", "content": "Noted."}]
    assert [each["messages"] for each in agent.world.heard("agent_end")] == [turn]


def test_two_agents_and_a_chat_share_a_home(tmp_path: Path) -> None:
    """All write, none waits for another for ever, and nothing is lost."""
    world = make_world(tmp_path)

    def steps(name: str) -> tuple[Step, ...]:
        return (*(Ask("memory_write", {"text": f"{name} wrote number {each}."}) for each in range(5)), Say("Done."))

    with ModelServer(*steps("claude-code")) as first, ModelServer(*steps("codex")) as second, ModelServer() as third:
        agents = [make_agent("claude-code", world, first), make_agent("codex", world, second)]
        third.script(*steps("chat"))
        with ThreadPoolExecutor() as pool:
            runs = [pool.submit(agent.ask, PROMPT) for agent in agents]
            chat = pool.submit(ask_chat, world, third, PROMPT)
            assert [run.result().status for run in runs] == [0, 0]
            assert chat.result().returncode == 0, chat.result().stderr

    notes = world.notes()
    missing = [
        (name, each)
        for name in ("claude-code", "codex", "chat")
        for each in range(5)
        if notes.count(f"{name} wrote number {each}.") != 1
    ]
    assert missing == []
