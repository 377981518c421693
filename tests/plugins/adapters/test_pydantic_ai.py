"""Pydantic AI: the capability in every way to run an agent, and the toolset alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

import pytest
from memslot import Host
from memslot_adapters.pydantic_ai import Memory, MemoryToolset
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.plugins.adapters.conftest import PRIVATE, Ear

Value = TypeVar("Value")
PROMPT = "What does Ana like in the morning?"


def run(work: Coroutine[Any, Any, Value]) -> Value:
    async def main() -> Value:
        return await asyncio.wait_for(work, 60)

    return asyncio.run(main())


class Script:
    """A model that says one thing, or calls one tool first; it keeps what it was given."""

    def __init__(self, answer: str = "Mango.", call: ToolCallPart | None = None) -> None:
        self.answer, self.call = answer, call
        self.requests: list[list[ModelMessage]] = []
        self.infos: list[AgentInfo] = []

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(self._say, stream_function=self._stream)

    def _say(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append(messages)
        self.infos.append(info)
        if self.call is not None and len(self.requests) == 1:
            return ModelResponse(parts=[self.call])
        return ModelResponse(parts=[TextPart(self.answer)])

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        self.requests.append(messages)
        for word in self.answer.split(" "):
            yield word

    def prompts(self) -> list[Any]:
        return [p.content for m in self.requests[-1] for p in m.parts if isinstance(p, UserPromptPart)]


def said(ear: Ear) -> list[list[str]]:
    return [[message["content"] for message in end["messages"]] for end in ear.ends]


async def by_run(agent: Agent[None, str]) -> None:
    await agent.run(PROMPT)


async def by_stream(agent: Agent[None, str]) -> None:
    async with agent.run_stream(PROMPT) as stream:
        assert await stream.get_output() == "Mango."


async def by_iter(agent: Agent[None, str]) -> None:
    async with agent.iter(PROMPT) as nodes:
        async for _ in nodes:
            pass


async def by_events(agent: Agent[None, str]) -> None:
    async with agent.run_stream_events(PROMPT) as events:
        async for _ in events:
            pass


@pytest.mark.parametrize("way", [by_run, by_stream, by_iter, by_events])
def test_every_way_to_run_recalls_and_captures_once(host: Host, ear: Ear, way: Any) -> None:
    script = Script()
    agent = Agent(script.model, capabilities=[Memory(host)])

    run(way(agent))

    recalled, prompt = script.prompts()
    assert PRIVATE in recalled
    assert prompt == PROMPT
    host.close()
    assert said(ear) == [[PROMPT, "Mango."]]


def test_a_synchronous_run_works(host: Host, ear: Ear) -> None:
    assert Agent(Script().model, capabilities=[Memory(host)]).run_sync(PROMPT).output == "Mango."
    host.close()
    assert said(ear) == [[PROMPT, "Mango."]]


def test_runs_at_once_have_conversations_of_their_own(host: Host, ear: Ear) -> None:
    script = Script(call=None)
    agent: Agent[str, str] = Agent(
        script.model, deps_type=str, capabilities=[Memory(host, session=lambda ctx: f"with-{ctx.deps}")]
    )

    async def main() -> None:
        names = [f"{number}" for number in range(6)]
        await asyncio.gather(*(agent.run(f"I am guest {name}.", deps=name) for name in names))

    run(main())
    host.close()
    found = {end["session"]: end["prompt"] for end in ear.ends}
    assert found == {f"with-{number}": f"I am guest {number}." for number in range(6)}


def test_what_was_recalled_is_not_in_the_history_that_goes_on(host: Host) -> None:
    script = Script()
    agent = Agent(script.model, capabilities=[Memory(host, session="ana")])

    async def main() -> None:
        first = await agent.run(PROMPT)
        await agent.run("mango, you say?", message_history=first.all_messages())

    run(main())
    prompts = script.prompts()
    assert prompts[0] == PROMPT
    assert PRIVATE in prompts[1], "recalled for this prompt, before it"
    assert prompts[2:] == ["mango, you say?"]


def test_a_prompt_with_a_picture_is_recalled_by_its_words(host: Host, ear: Ear) -> None:
    script = Script()
    picture = BinaryContent(b"x", media_type="image/png")
    run(Agent(script.model, capabilities=[Memory(host)]).run([PROMPT, picture]))

    assert PRIVATE in script.prompts()[0]
    host.close()
    assert said(ear) == [[PROMPT, "Mango."]]


def test_an_answer_that_is_data_is_no_speech(host: Host, ear: Ear) -> None:
    class Fruit(BaseModel):
        name: str

    script = Script(call=ToolCallPart("final_result", {"name": "mango"}))
    result = run(Agent(script.model, output_type=Fruit, capabilities=[Memory(host)]).run(PROMPT))

    assert result.output == Fruit(name="mango")
    host.close()
    assert said(ear) == [[PROMPT]]


def test_a_run_that_fails_ends_as_failed(host: Host, ear: Ear) -> None:
    def broken(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ValueError("the model is gone")

    with pytest.raises(ValueError, match="the model is gone"):
        run(Agent(FunctionModel(broken), capabilities=[Memory(host)]).run(PROMPT))
    host.close()
    (end,) = ear.ends
    assert not end["success"]
    assert "the model is gone" in end["error"]


def test_a_cancelled_run_ends_as_failed(host: Host, ear: Ear) -> None:
    ear.gate.clear()
    agent = Agent(Script(call=ToolCallPart("wait", {"name": "tea"})).model, capabilities=[Memory(host)])

    async def main() -> None:
        task = asyncio.ensure_future(agent.run(PROMPT))
        while ear.calls == []:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        ear.gate.set()

    run(main())
    host.close()
    assert [end["success"] for end in ear.ends] == [False]


def test_a_failing_tool_uses_up_no_retries(host: Host) -> None:
    calls = iter([*(ToolCallPart("fail", {"name": "x"}) for _ in range(5)), TextPart("I give up.")])
    model = FunctionModel(lambda messages, info: ModelResponse(parts=[next(calls)]))

    assert run(Agent(model, capabilities=[Memory(host)]).run(PROMPT)).output == "I give up."


class TestToolset:
    def test_it_gives_tools_and_what_plugins_say_of_them(self, host: Host, ear: Ear) -> None:
        script = Script(call=ToolCallPart("memory_search", {"query": "mango"}))
        result = run(Agent(script.model, toolsets=[MemoryToolset(host)]).run(PROMPT))

        assert PRIVATE in str(result.all_messages()[2].parts[0])
        assert "## Memory Recall" in str(script.infos[0].instructions)
        assert script.prompts() == [PROMPT], "it does not recall"

    def test_of_a_run_it_belongs_to_that_run(self, host: Host, ear: Ear) -> None:
        script = Script(call=ToolCallPart("wait", {"name": "tea"}))

        async def main() -> None:
            async with host.arun("hello there", session="ana") as memory:
                await Agent(script.model, toolsets=[MemoryToolset(memory)]).run(memory.prompt)

        run(main())
        assert ear.calls == [("hello there", "ana", "wait")]

    def test_for_a_group_it_has_the_tools_of_groups(self, host: Host) -> None:
        script = Script()
        run(Agent(script.model, toolsets=[MemoryToolset(host, chat_type="group")]).run(PROMPT))

        assert {tool.name for tool in script.infos[0].function_tools} == {tool.name for tool in host.tools("group")}

    def test_two_of_them_do_not_clash_if_they_are_prefixed(self, host: Host) -> None:
        script = Script(call=ToolCallPart("mine_memory_search", {"query": "mango"}))
        toolsets = [MemoryToolset(host, id="one").prefixed("mine"), MemoryToolset(host, id="two")]
        result = run(Agent(script.model, toolsets=toolsets).run(PROMPT))

        assert PRIVATE in str(result.all_messages()[2].parts[0])
