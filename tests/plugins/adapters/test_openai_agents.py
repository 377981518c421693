"""The OpenAI Agents SDK: function tools, sessions in memslot's store, and runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from agents import Agent, RunConfig, Runner, Session, SessionSettings
from agents.exceptions import MaxTurnsExceeded
from agents.run_config import CallModelData, ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memslot import Host, SessionStore
from memslot.cli.app import app
from memslot_adapters.openai_agents import MemorySession, memory_tools, remembering
from memslot_adapters.openai_agents.tools import fits_strict_mode

from tests.plugins.adapters.conftest import PRIVATE, Ear

Value = TypeVar("Value")
SILENT = RunConfig(tracing_disabled=True)
ITEMS: list[Any] = [
    {"role": "user", "content": "Which fruit?"},
    {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Look."}],
        "encrypted_content": "x",
    },
    {
        "type": "function_call",
        "call_id": "c1",
        "name": "memory_search",
        "arguments": '{"query": "fruit"}',
        "id": "fc_1",
    },
    {"type": "function_call_output", "call_id": "c1", "output": "mango"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "two"}]},
    {
        "role": "user",
        "content": [{"type": "input_text", "text": "And?"}, {"type": "input_image", "image_url": "x"}],
    },
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Mango.", "annotations": []}],
    },
    {"role": "system", "content": "Be kind.", "openaiItem": {"odd": True}},
    {"role": "assistant", "content": "ok", "takesBack": "not a mark of ours"},
]


def run(work: Coroutine[Any, Any, Value]) -> Value:
    async def main() -> Value:
        return await asyncio.wait_for(work, 60)

    return asyncio.run(main())


class TestTools:
    def test_strict_mode_is_used_only_where_it_changes_nothing(self, host: Host) -> None:
        strict = {tool.name: tool.strict_json_schema for tool in memory_tools(host)}
        assert strict["wait"]
        assert not strict["memory_search"]
        assert not strict["fail"], "it takes other arguments, too"

    @pytest.mark.parametrize(
        ("schema", "fits"),
        [
            ({"type": "object", "properties": {}, "additionalProperties": False}, True),
            ({"type": "object", "properties": {}}, False),
            ({"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": False}, False),
            (
                {
                    "type": "object",
                    "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"b": {}}}}},
                    "required": ["a"],
                    "additionalProperties": False,
                },
                False,
            ),
        ],
    )
    def test_a_schema_fits_if_nothing_is_optional_at_any_depth(self, schema: dict[str, Any], fits: bool) -> None:
        assert fits_strict_mode(schema) is fits

    def test_arguments_that_are_no_json_are_told_to_the_model(self, host: Host) -> None:
        model = ScriptedModel([[function_call("wait", '{"name": ', call_id="c1")], [assistant_message("Sorry.")]])
        agent = Agent(name="helper", tools=memory_tools(host), model=model)

        result = run(Runner.run(agent, "hi", run_config=SILENT))

        (output,) = [item for item in result.to_input_list() if item.get("type") == "function_call_output"]
        assert "wait: the arguments are not valid JSON" in str(output["output"])  # type: ignore[typeddict-item]

    def test_one_agent_serves_private_and_group_chats_at_once(self, host: Host) -> None:
        """The tools are made once; each run has those of its own chat."""
        tools = memory_tools(host)

        async def talk(session: str, chat_type: Any) -> tuple[set[str], str]:
            call = function_call("memory_search", {"query": "mango morning"}, call_id="c1")
            model = ScriptedModel([[call], [assistant_message("ok")]])
            agent = Agent(name="helper", tools=list(tools), model=model)
            async with remembering(host, "What does Ana like?", session=session, chat_type=chat_type) as memory:
                result = await memory.run(agent, run_config=SILENT)
            return {tool.name for tool in model.calls[0].tools}, json.dumps(result.to_input_list(), default=str)

        async def both() -> list[tuple[set[str], str]]:
            return await asyncio.gather(talk("ana", "direct"), talk("team", "group"), talk("ben", "direct"))

        (ana, in_private), (team, in_group), (ben, _) = run(both())

        assert ana == ben == {tool.name for tool in host.tools("direct")}
        assert team == {tool.name for tool in host.tools("group")}
        assert PRIVATE in in_private
        assert PRIVATE not in in_group

    def test_tools_of_a_fixed_chat_type_stay_so_in_any_run(self, host: Host) -> None:
        async def main() -> Any:
            async with remembering(host, "hello there") as memory:
                for_group = {tool.name: tool for tool in memory_tools(host, chat_type="group")}
                of_run = {tool.name: tool for tool in memory_tools(memory.memory_run)}
                arguments = '{"query": "mango"}'
                texts = [await each["memory_search"].on_invoke_tool(None, arguments) for each in (for_group, of_run)]  # type: ignore[arg-type]
                return set(for_group), texts

        names, (in_group, in_run) = run(main())

        assert "memory_write" not in names
        assert PRIVATE not in in_group
        assert PRIVATE in in_run

    def test_a_slow_tool_does_not_hold_up_the_event_loop(self, host: Host, ear: Ear) -> None:
        ear.gate.clear()
        (tool,) = [tool for tool in memory_tools(host) if tool.name == "wait"]

        async def main() -> Any:
            waiting = asyncio.ensure_future(tool.on_invoke_tool(None, '{"name": "tea"}'))  # type: ignore[arg-type]
            while ear.calls == []:
                await asyncio.sleep(0.01)
            assert not waiting.done()
            ear.gate.set()
            return await waiting

        assert run(main()) == "waited for tea"


class TestRuns:
    def test_a_streamed_run_is_captured(self, host: Host, ear: Ear) -> None:
        agent = Agent(name="helper", model=ScriptedModel([[assistant_message("Mango.")]]))

        async def main() -> None:
            async with remembering(host, "What does Ana like?") as memory:
                async for _ in memory.run_streamed(agent, run_config=SILENT).stream_events():
                    pass

        run(main())
        host.close()
        (end,) = ear.ends
        assert [message["content"] for message in end["messages"]] == ["What does Ana like?", "Mango."]

    def test_a_run_that_fails_ends_as_failed_and_says_nothing(self, host: Host, ear: Ear) -> None:
        loop = [[function_call("wait", {"name": "tea"}, call_id=f"c{number}")] for number in range(3)]
        agent = Agent(name="helper", model=ScriptedModel(loop), tools=memory_tools(host))

        async def main() -> None:
            async with remembering(host, "hello there") as memory:
                await memory.run(agent, max_turns=2, run_config=SILENT)

        with pytest.raises(MaxTurnsExceeded):
            run(main())
        host.close()
        (end,) = ear.ends
        assert not end["success"]
        assert "MaxTurnsExceeded" in end["error"]
        assert end["messages"] == []

    def test_a_cancelled_run_ends_as_failed(self, host: Host, ear: Ear) -> None:
        ear.gate.clear()
        model = ScriptedModel([[function_call("wait", {"name": "tea"}, call_id="c1")]])
        agent = Agent(name="helper", model=model, tools=memory_tools(host))

        async def talk() -> None:
            async with remembering(host, "hello there") as memory:
                await memory.run(agent, run_config=SILENT)

        async def main() -> None:
            task = asyncio.ensure_future(talk())
            while ear.calls == []:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            ear.gate.set()

        run(main())
        host.close()
        (end,) = ear.ends
        assert not end["success"]

    def test_a_filter_of_the_program_stays(self, host: Host) -> None:
        model = ScriptedModel([[assistant_message("ok")]])

        async def shorten(data: CallModelData[Any]) -> ModelInputData:
            return ModelInputData(input=data.model_data.input[-1:], instructions="Shortened.")

        async def main() -> None:
            history: Any = [{"role": "user", "content": "old"}, {"role": "user", "content": "What does Ana like?"}]
            config = RunConfig(tracing_disabled=True, call_model_input_filter=shorten)
            async with remembering(host, "What does Ana like?") as memory:
                await memory.run(Agent(name="helper", model=model), history, run_config=config)

        run(main())
        (call,) = model.calls
        assert str(call.system_instructions).startswith("Shortened.\n\n## Memory Recall")
        assert [PRIVATE in item["content"] for item in call.input] == [True, False]
        assert call.input[1]["content"] == "What does Ana like?"

    @pytest.mark.parametrize("kept", [{"conversation_id": "conv_1"}, {"auto_previous_response_id": True}])
    def test_where_openai_keeps_the_conversation_it_is_told_once(self, host: Host, kept: dict[str, Any]) -> None:
        call = function_call("wait", {"name": "tea"}, call_id="c1")
        steps = [[call], [assistant_message("ok")]]
        model = ScriptedModel([{"output": step, "response_id": f"r{n}"} for n, step in enumerate(steps)])

        async def main() -> None:
            async with remembering(host, "What does Ana like?") as memory:
                agent = Agent(name="helper", model=model, tools=memory_tools(host))
                await memory.run(agent, run_config=SILENT, **kept)

        run(main())
        first, second = (json.dumps(call.input, default=str) for call in model.calls)
        assert PRIVATE in first
        assert PRIVATE not in second

    def test_without_anything_to_recall_the_input_is_as_it_was(self, host: Host) -> None:
        model = ScriptedModel([[assistant_message("ok")]])

        async def main() -> None:
            async with remembering(host, "hi", session="team", chat_type="group") as memory:
                await memory.run(Agent(name="helper", model=model), run_config=SILENT)

        run(main())
        assert model.calls[0].input == [{"role": "user", "content": "hi"}]


class TestSession:
    def test_it_is_a_session_of_the_sdk(self, host: Host) -> None:
        assert isinstance(MemorySession(host, "ana"), Session)

    def test_items_come_back_as_they_were_given(self, host: Host) -> None:
        async def main() -> list[Any]:
            session = MemorySession(host, "ana")
            await session.add_items(ITEMS[:4])
            await session.add_items(ITEMS[4:])
            return list(await MemorySession(host, "ana").get_items())

        assert run(main()) == ITEMS

    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(
            st.dictionaries(
                st.sampled_from(["role", "content", "type", "openaiItem", "takesBack", "x"]),
                st.one_of(
                    st.sampled_from(["user", "assistant", "tool", "memslot", "function_call"]),
                    st.text(),
                    st.none(),
                    st.lists(st.dictionaries(st.text(), st.text() | st.booleans())),
                    st.dictionaries(st.text(), st.integers()),
                ),
            ),
            max_size=4,
        )
    )
    def test_any_items_come_back(self, host: Host, items: list[Any]) -> None:
        async def main() -> list[Any]:
            session = MemorySession(host)
            await session.add_items(items)
            return list(await session.get_items())

        assert run(main()) == items

    def test_a_limit_gives_the_newest(self, host: Host) -> None:
        async def main() -> None:
            session = MemorySession(host, "ana", session_settings=SessionSettings(limit=2))
            await session.add_items(ITEMS)
            assert await session.get_items() == ITEMS[-2:]
            assert await session.get_items(3) == ITEMS[-3:]
            assert await session.get_items(0) == []
            assert await session.get_items(100) == ITEMS

        run(main())

    def test_popping_takes_the_newest_until_none_is_left(self, host: Host) -> None:
        async def main() -> None:
            session = MemorySession(host, "ana")
            assert await session.pop_item() is None
            await session.add_items(ITEMS[:2])
            assert await session.pop_item() == ITEMS[1]
            await session.add_items(ITEMS[2:3])
            assert await session.get_items() == [ITEMS[0], ITEMS[2]]
            assert await session.pop_item() == ITEMS[2]
            assert await session.pop_item() == ITEMS[0]
            assert await session.pop_item() is None
            assert await session.get_items() == []

        run(main())

    def test_all_who_pop_at_once_get_another_item(self, host: Host) -> None:
        items: list[Any] = [{"role": "user", "content": f"{number}"} for number in range(8)]

        async def main() -> list[Any]:
            sessions = [MemorySession(host, "ana") for _ in items]
            await sessions[0].add_items(items)
            popped = await asyncio.gather(*(session.pop_item() for session in sessions))
            assert await sessions[0].get_items() == []
            return popped

        assert sorted(item["content"] for item in run(main())) == [item["content"] for item in items]

    def test_clearing_deletes_the_transcript_and_the_session_goes_on(self, host: Host) -> None:
        async def main() -> None:
            session = MemorySession(host, "ana", chat_type="group")
            await session.clear_session()
            await session.add_items(ITEMS)
            await session.clear_session()
            assert await session.get_items() == []
            assert not SessionStore.of_agent(host.places, host.agent_id).path_of("ana").exists()
            await session.add_items(ITEMS[:1])
            assert await session.get_items() == ITEMS[:1]

        run(main())
        record = SessionStore.of_agent(host.places, host.agent_id).record("ana")
        assert record is not None
        assert record.chat_type == "group"

    def test_who_is_cancelled_has_written_all_or_nothing(self, host: Host) -> None:
        async def main() -> int:
            session = MemorySession(host, "ana")
            task = asyncio.ensure_future(session.add_items(ITEMS))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await session.add_items(ITEMS[:1])
            return len(await session.get_items())

        assert run(main()) in (1, len(ITEMS) + 1)

    def test_what_other_programs_said_is_taken_up(self, host: Host) -> None:
        store = SessionStore.of_agent(host.places, host.agent_id)
        store.begin("old")
        parts = [{"type": "text", "text": "Mango."}]
        store.append(
            "old",
            [
                {"role": "user", "content": "Which fruit?", "timestamp": 12},
                {"role": "tool", "content": "a result of another API", "tool_call_id": "1"},
                {"role": "assistant", "content": parts},
            ],
        )
        asked = {"role": "user", "content": "Which fruit?"}
        assert run(MemorySession(host, "old").get_items()) == [asked, {"role": "assistant", "content": "Mango."}]
        store.append_compaction("old", "They spoke of fruit.")
        (summary,) = run(MemorySession(host, "old").get_items())
        assert "They spoke of fruit." in str(summary)

    def test_sessions_show_reads_it(self, host: Host, memslot_home: Path) -> None:
        async def main() -> None:
            session = MemorySession(host, "ana")
            await session.add_items(ITEMS[:7])
            await session.pop_item()

        run(main())
        shown = CliRunner().invoke(app, ["sessions", "show", "ana"]).output
        assert "Which fruit?" in shown
        assert 'memory_search({"query": "fruit"})' in shown
        assert "(the item before was taken back)" in shown

    def test_a_conversation_goes_on_in_another_process_of_the_program(self, host: Host) -> None:
        """What the model is given of the earlier run comes from the transcript, without what was recalled then."""
        first = ScriptedModel([[function_call("wait", {"name": "tea"}, call_id="c1")], [assistant_message("Mango.")]])
        second = ScriptedModel([[assistant_message("As I said.")]])

        async def main() -> None:
            for model, prompt in ((first, "What does Ana like?"), (second, "And now?")):
                agent = Agent(name="helper", model=model, tools=memory_tools(host))
                session = MemorySession(host, "ana")
                async with remembering(host, prompt, session=session) as memory:
                    await memory.run(agent, run_config=SILENT)

        run(main())
        told = json.dumps(second.calls[0].input, default=str)
        assert "Mango." in told
        assert "waited for tea" in told
        assert PRIVATE not in told
