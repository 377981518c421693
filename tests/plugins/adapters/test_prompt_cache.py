"""Providers cache a prompt from its beginning: over fifty turns with writes between, only its end changes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import memslot
import pytest
from memslot import CanRefresh, CanRemember, Host
from memslot.testing import HostOpener

from tests.plugins.adapters.conftest import QUIET, OpenHost
from tests.plugins.adapters.model_server import ModelServer, say
from tests.plugins.adapters.test_wrap import DOORS, ask, make, user

TURNS = 50
TAG = "<relevant-memories>"
FRUITS = ("papaya", "lychee", "quince", "guava", "persimmon")
PLACES = ("harbour", "library", "workshop", "garage", "school", "museum", "bakery")
THINGS = ("lamps", "ladders", "shelves", "engines", "tables")


@dataclass(frozen=True)
class Request:
    """What a model was given: what comes first as bytes, then the messages as texts."""

    system: str
    tools: str
    messages: list[str]


@dataclass
class Talk:
    """Fifty prompts about Ana, each followed by a new note."""

    host: Host
    folder: Path
    requests: list[Request] = field(default_factory=list)

    @property
    def prompts(self) -> list[str]:
        return [f"Question {number}: which fruit does Ana like in the morning?" for number in range(TURNS)]

    def write(self, number: int) -> None:
        memory = self.host.memory
        assert isinstance(memory, CanRemember)
        memory.remember(_note(number))
        if isinstance(memory, CanRefresh):
            memory.refresh()

    def add(self, system: Any, tools: Any, messages: list[Any]) -> None:
        self.requests.append(Request(_text(system), _text(tools), [_text(message) for message in messages]))


def _note(number: int) -> str:
    """Some notes are about Ana, most are not."""
    if number % 10 == 0:
        return f"In the morning Ana likes the fruit {FRUITS[number // 10]} best."
    place, thing = PLACES[number % len(PLACES)], THINGS[number % len(THINGS)]
    return f"The {place} has {number} new {thing}, bought in week {number}."


def _text(thing: Any) -> str:
    return thing if isinstance(thing, str) else json.dumps(thing, ensure_ascii=False, default=str)


async def openai_agents(talk: Talk) -> None:
    from agents import Agent, RunConfig
    from agents.testing import ScriptedModel, assistant_message
    from memslot_adapters.openai_agents import MemorySession, memory_tools, remembering

    model = ScriptedModel([[assistant_message(f"Answer {number}.")] for number in range(TURNS)])
    agent = Agent(name="helper", instructions="Be brief.", tools=memory_tools(talk.host), model=model)
    session = MemorySession(talk.host, "ana")
    for number, prompt in enumerate(talk.prompts):
        async with remembering(talk.host, prompt, session=session) as memory:
            await memory.run(agent, run_config=RunConfig(tracing_disabled=True))
        talk.write(number)
    for call in model.calls:
        tools = [[tool.name, tool.description, tool.params_json_schema] for tool in call.tools]  # type: ignore[union-attr]
        talk.add(call.system_instructions, tools, list(call.input))


async def pydantic_ai(talk: Talk) -> None:
    from memslot_adapters.pydantic_ai import Memory
    from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        tools = [[tool.name, tool.description, tool.parameters_json_schema] for tool in info.function_tools]
        parts = [part.content for message in messages for part in message.parts]  # type: ignore[union-attr]
        talk.add(info.instructions, tools, parts)
        return ModelResponse(parts=[TextPart(f"Answer {len(talk.requests)}.")])

    memory = Memory(talk.host, session="ana")
    agent = Agent(FunctionModel(answer), instructions="Be brief.", capabilities=[memory])
    history: list[ModelMessage] = []
    for number, prompt in enumerate(talk.prompts):
        history = (await agent.run(prompt, message_history=history)).all_messages()
        talk.write(number)


async def langgraph(talk: Talk) -> None:
    from langgraph.checkpoint.memory import InMemorySaver
    from memslot_adapters.langgraph import memory_tools, remembering

    from tests.plugins.adapters.chat_model import ScriptedChat, make_async_graph
    from tests.plugins.adapters.chat_model import say as answer

    model = ScriptedChat([answer(f"Answer {number}.") for number in range(TURNS)])
    graph = make_async_graph(model, memory_tools(talk.host), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "ana"}}
    for number, prompt in enumerate(talk.prompts):
        async with remembering(talk.host, prompt, session="ana") as memory:
            await memory.ainvoke(graph, config)
        talk.write(number)
    for request in model.requests:
        first, *messages = [str(message.content) for message in request]
        talk.add(first, model.tools, messages)


async def claude_agent(talk: Talk) -> None:
    from claude_agent_sdk import ClaudeSDKClient
    from memslot_adapters.claude_agent import with_memory

    from tests.plugins.adapters.claude_model import claude_model
    from tests.plugins.adapters.claude_model import say as answer

    with claude_model([[answer(f"Answer {number}.")] for number in range(TURNS)]) as model:
        options = with_memory(talk.host, model.options(talk.folder / "claude"))
        async with ClaudeSDKClient(options) as client:
            for number, prompt in enumerate(talk.prompts):
                await client.query(prompt)
                _ = [message async for message in client.receive_response()]
                talk.write(number)
    for request in model.requests:
        plain = json.loads(re.sub(r', "cache_control": \{[^}]*\}', "", json.dumps(request)))
        # The program signs each of its requests in the first block.
        system = [block for block in plain["system"] if "x-anthropic-billing-header" not in block["text"]]
        talk.add(system, plain["tools"], _blocks(plain["messages"]))


def _blocks(messages: list[dict[str, Any]]) -> list[Any]:
    """One text for each block: the program puts a mark into the last one, as a text or as a block."""
    found = []
    for message in messages:
        content = message["content"]
        found += [content] if isinstance(content, str) else [block.get("text", block) for block in content]
    return found


def wrapped(door: str) -> Callable[[Talk], Awaitable[None]]:
    async def have(talk: Talk) -> None:
        with ModelServer() as server:
            server.steps = [say(f"Answer {number}.") for number in range(TURNS)]
            async with memslot.wrap(make(door, server, is_async=True), host=talk.host, session="ana") as client:
                history: list[Any] = []
                for number, prompt in enumerate(talk.prompts):
                    system: dict[str, Any] = {"system": "Be brief."} if door == "messages" else {}
                    await ask(client, door, [*history, user(prompt)], **system)
                    history += [user(prompt), {"role": "assistant", "content": f"Answer {number}."}]
                    talk.write(number)
        for request in server.requests:
            messages = request.get("messages") or request["input"]
            talk.add(request.get("system", ""), request.get("tools", ""), [each["content"] for each in messages])

    have.__name__ = f"wrap {door}"
    return have


TALKS = [openai_agents, pydantic_ai, langgraph, *map(wrapped, DOORS)]


@pytest.mark.parametrize("have", TALKS, ids=lambda each: each.__name__)
def test_only_the_end_of_the_prompt_changes(
    have: Callable[[Talk], Awaitable[None]], open_host: OpenHost, tmp_path: Path
) -> None:
    talk = Talk(open_host(), tmp_path)
    asyncio.run(asyncio.wait_for(have(talk), 240))  # type: ignore[arg-type]

    _check_stable(talk)
    for number, request in enumerate(talk.requests):
        place = next(each for each, text in enumerate(request.messages) if text.find(talk.prompts[number]) >= 0)
        history, end = request.messages[: 2 * number], request.messages[2 * number :]
        assert place >= 2 * number, "nothing was put before the history"
        assert not any(TAG in text for text in history)
        assert sum(TAG in text for text in end) == 1, "what was recalled is at the end"
        if number:
            assert history[:-2] == talk.requests[number - 1].messages[: 2 * number - 2]


def test_only_the_end_of_claudes_prompt_changes(open_host: OpenHost, tmp_path: Path) -> None:
    """Claude keeps recalled text in its own history, so a prompt is the last one with more at its end."""
    talk = Talk(open_host(), tmp_path)
    asyncio.run(asyncio.wait_for(claude_agent(talk), 240))

    _check_stable(talk)
    for before, after in zip(talk.requests, talk.requests[1:], strict=False):
        assert after.messages[: len(before.messages)] == before.messages
        assert any(TAG in text for text in after.messages[len(before.messages) :])


def _check_stable(talk: Talk) -> None:
    assert len(talk.requests) == TURNS
    assert len({request.system for request in talk.requests}) == 1
    assert len({request.tools for request in talk.requests}) == 1
    later = "\n".join(text for request in talk.requests[1:] for text in request.messages)
    assert all(f"likes the fruit {fruit}" in later for fruit in FRUITS[:2]), "the writes between are recalled"


PLUGINS = {
    "memory-core": ("memory-core",),
    "memory-lancedb": ("memory-lancedb", "embed-universal"),
    "anthropic-memory": ("memory-core", "anthropic-memory"),
}


@pytest.mark.parametrize("subject", PLUGINS)
def test_prompt_and_tools_of_a_host_stay_the_same(subject: str, memslot_host: HostOpener, tmp_path: Path) -> None:
    """What every adapter, the chat and the MCP server hand on, for each memory and for Anthropic's memory tool."""
    entries = {"anthropic-memory": {"config": {"tool": True}}} if subject == "anthropic-memory" else {}
    provider = "universal" if subject == "memory-lancedb" else "none"
    search = {"provider": provider, "sync": QUIET}
    config = {"plugins": {"entries": entries}, "agents": {"defaults": {"memorySearch": search}}}
    talk = Talk(memslot_host(*PLUGINS[subject], config=config), tmp_path)
    for number, prompt in enumerate(talk.prompts):
        with talk.host.run(prompt, session="ana", system_prompt="Be brief.") as run:
            tools = [[tool.to_openai(), tool.to_anthropic(), tool.to_mcp()] for tool in run.tools]
            talk.add(run.system_prompt, tools, [run.prompt])
            if subject == "anthropic-memory":
                wanted = {"command": "create", "path": f"/memories/{number}.md", "file_text": f"Box {number}."}
                assert not run.call_tool("memory", wanted).is_error
        talk.write(number)
    assert talk.requests[0].system.startswith("Be brief.")
    assert ("memory" in [tool.name for tool in talk.host.tools()]) == (subject == "anthropic-memory")
    _check_stable(talk)
