"""LangGraph: tools in a tool node, and graphs run with recall and capture."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from memslot import Host
from memslot_adapters.langgraph import memory_tools, remembering, with_recall

from tests.plugins.adapters.chat_model import ScriptedChat, call, make_async_graph, make_graph, say
from tests.plugins.adapters.conftest import PRIVATE, Ear

Value = TypeVar("Value")
PROMPT = "What does Ana like in the morning?"


def run(work: Coroutine[Any, Any, Value]) -> Value:
    async def main() -> Value:
        return await asyncio.wait_for(work, 60)

    return asyncio.run(main())


def said(ear: Ear) -> list[list[str]]:
    return [[message["content"] for message in end["messages"]] for end in ear.ends]


class TestTools:
    def test_a_result_has_its_data_beside_the_text(self, host: Host) -> None:
        (tool,) = [tool for tool in memory_tools(host) if tool.name == "memory_search"]
        message = tool.invoke({"name": tool.name, "args": {"query": "mango"}, "id": "1", "type": "tool_call"})

        assert isinstance(message, ToolMessage)
        assert message.status == "success"
        assert PRIVATE in message.artifact["results"][0]["snippet"]

    def test_a_failure_is_a_message_of_status_error(self, host: Host) -> None:
        (tool,) = [tool for tool in memory_tools(host) if tool.name == "fail"]
        message = tool.invoke({"name": tool.name, "args": {"name": "x"}, "id": "1", "type": "tool_call"})

        assert message.status == "error"
        assert "it is broken" in message.content

    def test_arguments_may_have_any_name(self, host: Host) -> None:
        (tool,) = [tool for tool in memory_tools(host) if tool.name == "odd"]
        arguments = {"config": "a", "self": "b", "run_manager": "c"}

        assert tool.invoke(arguments) == '{"config": "a", "self": "b", "run_manager": "c"}'
        assert run(tool.ainvoke(arguments)) == '{"config": "a", "self": "b", "run_manager": "c"}'

    def test_of_a_run_they_belong_to_that_run(self, host: Host, ear: Ear) -> None:
        with host.run("hello there", session="ana") as memory:
            (tool,) = [tool for tool in memory_tools(memory) if tool.name == "wait"]
            assert tool.invoke({"name": "tea"}) == "waited for tea"
        assert ear.calls == [("hello there", "ana", "wait")]

    def test_in_a_group_tools_of_private_chats_refuse(self, host: Host) -> None:
        """A list that was made for private chats: the model may call the tool, and is told that there is none."""
        model = ScriptedChat(
            [call("memory_write", {"text": "no"}), call("memory_search", {"query": "mango"}), say("Hm.")]
        )
        graph = make_graph(model, memory_tools(host))
        with remembering(host, "hello", session="team", chat_type="group") as memory:
            state = memory.invoke(graph)

        refused, searched = [message for message in state["messages"] if isinstance(message, ToolMessage)]
        assert 'there is no tool "memory_write" here' in str(refused.content)
        assert PRIVATE not in str(searched.content)


class TestRuns:
    def test_a_synchronous_graph(self, host: Host, ear: Ear) -> None:
        model = ScriptedChat([call("wait", {"name": "tea"}), say("Mango.")])
        graph = make_graph(model, memory_tools(host))
        with remembering(host, PROMPT, session="ana") as memory:
            memory.invoke(graph)

        assert ear.calls == [(PROMPT, "ana", "wait")]
        assert all(PRIVATE in str(request[1].content) for request in model.requests)
        host.close()
        assert said(ear) == [[PROMPT, "Mango."]]

    def test_a_thread_keeps_what_was_said_and_not_what_was_recalled(self, host: Host, ear: Ear) -> None:
        model = ScriptedChat([say("Mango."), say("As I said.")])
        graph = make_graph(model, memory_tools(host), checkpointer=InMemorySaver())
        config = {"configurable": {"thread_id": "t1"}}
        for prompt in (PROMPT, "mango, you say?"):
            with remembering(host, prompt, session="ana") as memory:
                memory.invoke(graph, config)

        kept = [message.content for message in graph.get_state(config).values["messages"]]
        assert kept == [PROMPT, "Mango.", "mango, you say?", "As I said."]
        system, first, answer, recalled, last = model.requests[1]
        assert isinstance(system, SystemMessage)
        assert [first.content, answer.content, last.content] == kept[:3]
        assert PRIVATE in str(recalled.content)
        host.close()
        assert said(ear) == [[PROMPT, "Mango."], ["mango, you say?", "As I said."]]

    def test_a_streamed_graph(self, host: Host, ear: Ear) -> None:
        model = ScriptedChat([say("Mango.")])
        graph = make_async_graph(model, memory_tools(host))

        async def main() -> None:
            async with remembering(host, PROMPT) as memory:
                states = [state async for state in graph.astream(memory.input, stream_mode="values")]
                memory.finish(states[-1])

        run(main())
        assert PRIVATE in str(model.requests[0][1].content)
        host.close()
        assert said(ear) == [[PROMPT, "Mango."]]

    def test_graphs_at_once_do_not_mix(self, host: Host, ear: Ear) -> None:
        async def talk(name: str) -> str:
            model = ScriptedChat([call("wait", {"name": name}), say(name)])
            graph = make_async_graph(model, memory_tools(host))
            async with remembering(host, f"I am {name}, and like mango.", session=name) as memory:
                state = await memory.ainvoke(graph)
            return str(state["messages"][-1].content)

        async def main() -> list[str]:
            return await asyncio.gather(*(talk(f"guest-{number}") for number in range(5)))

        assert run(main()) == [f"guest-{number}" for number in range(5)]
        assert sorted(ear.calls) == [(f"I am guest-{n}, and like mango.", f"guest-{n}", "wait") for n in range(5)]

    def test_a_graph_that_fails_ends_the_run_as_failed(self, host: Host, ear: Ear) -> None:
        graph = make_graph(ScriptedChat([]), memory_tools(host))
        with pytest.raises(IndexError), remembering(host, PROMPT) as memory:
            memory.invoke(graph)
        host.close()
        assert [(end["success"], end["messages"]) for end in ear.ends] == [(False, [])]


class TestWithRecall:
    def test_outside_a_run_messages_are_as_they_were(self) -> None:
        messages = [SystemMessage("Be kind."), HumanMessage("hi")]
        assert with_recall(messages) == messages

    def test_a_system_message_that_is_there_comes_first(self, host: Host) -> None:
        with remembering(host, "hello there"):
            first, *rest = with_recall([("system", "Be kind."), ("user", "hi")], "Be brief.")
        assert str(first.content).startswith("Be kind.\n\nBe brief.\n\n## Memory Recall")
        assert [message.type for message in rest] == ["human", "human"]

    def test_blocks_inside_each_other_are_left_in_turn(self, host: Host) -> None:
        with remembering(host, PROMPT) as outer:
            with remembering(host, "hello", session="team", chat_type="group"):
                assert all(PRIVATE not in str(each.content) for each in with_recall([HumanMessage("hi")]))
            assert outer.context in [each.content for each in with_recall([HumanMessage("hi")])]
        assert with_recall([HumanMessage("hi")]) == [HumanMessage("hi")]
