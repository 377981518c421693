"""One scripted conversation in each framework, and what its model was given."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from memslot import Host


class Call(NamedTuple):
    """The model calls a tool; in the end it says something instead."""

    tool: str
    arguments: dict[str, Any]


Script = list[Call | str]


@dataclass(frozen=True)
class Seen:
    """What the model was given: tools with their schemas, the text of the first request, and results of its calls."""

    tools: dict[str, dict[str, Any]]
    request: str
    results: list[str]
    answer: str
    kept: str
    """What the framework keeps of the conversation, as text."""


class Talk(NamedTuple):
    """A conversation to be had."""

    host: Host
    folder: Path
    prompt: str
    script: Script
    session: str
    chat_type: Any = "direct"


async def openai_agents(talk: Talk) -> Seen:
    from agents import Agent, RunConfig
    from agents.testing import ScriptedModel, assistant_message, function_call
    from memslot_adapters.openai_agents import MemorySession, memory_tools, remembering

    steps: list[Any] = [
        [assistant_message(step)] if isinstance(step, str) else [function_call(*step, call_id=f"call_{number}")]
        for number, step in enumerate(talk.script)
    ]
    model = ScriptedModel(steps)
    agent = Agent(name="helper", instructions="Be brief.", tools=memory_tools(talk.host), model=model)
    session = MemorySession(talk.host, talk.session, chat_type=talk.chat_type)
    async with remembering(talk.host, talk.prompt, session=session, chat_type=talk.chat_type) as memory:
        result = await memory.run(agent, run_config=RunConfig(tracing_disabled=True))
    first, last = model.calls[0], model.calls[-1]
    return Seen(
        tools={tool.name: tool.params_json_schema for tool in first.tools},  # type: ignore[union-attr]
        request=f"{first.system_instructions}\n{_texts(first.input)}",
        results=[item["output"] for item in last.input if item.get("type") == "function_call_output"],
        answer=result.final_output,
        kept=_texts(await session.get_items()),
    )


async def pydantic_ai(talk: Talk) -> Seen:
    from memslot_adapters.pydantic_ai import Memory
    from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    requests: list[tuple[list[ModelMessage], AgentInfo]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = talk.script[len(requests)]
        requests.append((messages, info))
        part = TextPart(step) if isinstance(step, str) else ToolCallPart(*step)
        return ModelResponse(parts=[part])

    memory = Memory(talk.host, session=lambda ctx: talk.session, chat_type=talk.chat_type)
    agent = Agent(FunctionModel(answer), instructions="Be brief.", capabilities=[memory])
    result = await agent.run(talk.prompt)
    (messages, info), (last, _) = requests[0], requests[-1]
    parts = [part for message in last for part in message.parts]
    return Seen(
        tools={tool.name: tool.parameters_json_schema for tool in info.function_tools},
        request=f"{info.instructions}\n{_texts([part for message in messages for part in message.parts])}",
        results=[str(part.content) for part in parts if isinstance(part, ToolReturnPart)],
        answer=result.output,
        kept=_texts([part for message in result.all_messages() for part in message.parts]),
    )


async def langgraph(talk: Talk) -> Seen:
    from langchain_core.messages import ToolMessage
    from memslot_adapters.langgraph import memory_tools, remembering

    from tests.plugins.adapters.chat_model import ScriptedChat, call, make_async_graph, say

    steps = [say(step) if isinstance(step, str) else call(*step, number) for number, step in enumerate(talk.script)]
    model = ScriptedChat(steps)
    graph = make_async_graph(model, memory_tools(talk.host, chat_type=talk.chat_type))
    async with remembering(talk.host, talk.prompt, session=talk.session, chat_type=talk.chat_type) as memory:
        state = await memory.ainvoke(graph)
    return Seen(
        tools={tool["function"]["name"]: tool["function"]["parameters"] for tool in model.tools},
        request=_texts(model.requests[0]),
        results=[str(each.content) for each in model.requests[-1] if isinstance(each, ToolMessage)],
        answer=state["messages"][-1].content,
        kept=_texts(state["messages"]),
    )


async def claude_agent(talk: Talk) -> Seen:
    from claude_agent_sdk import ResultMessage, query
    from memslot_adapters.claude_agent import with_memory

    from tests.plugins.adapters.claude_model import call, claude_model, say

    prefix = "mcp__memslot__"
    answers = [
        [say(step) if isinstance(step, str) else call(f"{prefix}{step.tool}", step.arguments, number)]
        for number, step in enumerate(talk.script)
    ]
    with claude_model(answers) as model:
        base = model.options(talk.folder / "claude")
        options = with_memory(talk.host, base, session=talk.session, chat_type=talk.chat_type)
        said = [message async for message in query(prompt=talk.prompt, options=options)]
    first, last = model.requests[0], model.requests[-1]
    blocks = [
        block for message in last["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]
    return Seen(
        tools={tool["name"].removeprefix(prefix): tool["input_schema"] for tool in first["tools"]},
        request=_texts([*first["system"], *first["messages"]]),
        results=[_result_text(block) for block in blocks if block.get("type") == "tool_result"],
        answer=next(str(message.result) for message in said if isinstance(message, ResultMessage)),
        kept="",  # in files of Claude's own
    )


def _result_text(block: dict[str, Any]) -> str:
    """What a result says; the program itself puts tags around failures."""
    content = block["content"]
    text = content if isinstance(content, str) else "".join(part["text"] for part in content)
    return text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")


def _texts(parts: Any) -> str:
    return "\n".join(
        str(getattr(part, "content", part)) if not isinstance(part, dict) else json.dumps(part, ensure_ascii=False)
        for part in parts
    )


FRAMEWORKS: dict[str, Callable[[Talk], Awaitable[Seen]]] = {
    each.__name__: each for each in (openai_agents, pydantic_ai, langgraph, claude_agent)
}
