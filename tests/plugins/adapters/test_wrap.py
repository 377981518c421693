"""`memslot.wrap`: the real SDKs' clients with a memory, against a model on loopback."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anthropic
import memslot
import openai
import pydantic
import pytest
from memslot import Host

from tests.plugins.adapters.conftest import PRIVATE, Ear
from tests.plugins.adapters.model_server import ModelServer, Refuse, Say, Use, say

PROMPT = "Which fruit does Ana like in the morning?"
TAG = "<relevant-memories>"
DOORS = ("chat", "responses", "messages")
IMAGES: dict[str, dict[str, Any]] = {
    "chat": {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}},
    "responses": {"type": "input_image", "image_url": "data:image/png;base64,", "detail": "auto"},
    "messages": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}},
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def make(door: str, server: ModelServer, is_async: bool = False) -> Any:
    if door == "messages":
        kind: Any = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        return kind(api_key="not-a-key", base_url=server.url, max_retries=0)
    kind = openai.AsyncOpenAI if is_async else openai.OpenAI
    return kind(api_key="not-a-key", base_url=f"{server.url}/v1", max_retries=0)


def ask(client: Any, door: str, messages: Any, **more: Any) -> Any:
    """The door's `create`: an answer or a stream, or what gives them when awaited."""
    if door == "chat":
        return client.chat.completions.create(model="m", messages=messages, **more)
    if door == "responses":
        return client.responses.create(model="m", input=messages, **more)
    return client.messages.create(model="m", max_tokens=100, messages=messages, **more)


def helper(client: Any, door: str, messages: Any) -> Any:
    """The door's `stream`."""
    if door == "chat":
        return client.chat.completions.stream(model="m", messages=messages)
    if door == "responses":
        return client.responses.stream(model="m", input=messages)
    return client.messages.stream(model="m", max_tokens=100, messages=messages)


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def sent(server: ModelServer, number: int = -1) -> list[dict[str, Any]]:
    request = server.requests[number]
    messages: list[dict[str, Any]] = request.get("messages") or request["input"]
    return messages


def heard(host: Host, ear: Ear) -> list[dict[str, Any]]:
    host.close()
    return ear.ends


def said(*answers: str, prompt: str = PROMPT) -> list[dict[str, Any]]:
    return [user(prompt), *({"role": "assistant", "content": each} for each in answers)]


@pytest.mark.parametrize("door", DOORS)
class TestRequests:
    def test_recalls_before_and_captures_after(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        client = memslot.wrap(make(door, server), host=host, session="ana")
        server.steps = [say("Mango, ", "of course.")]
        answer = ask(client, door, [user(PROMPT)])

        [message] = sent(server)
        assert message["content"].startswith(f"{PROMPT}\n\n{TAG}")
        assert PRIVATE in message["content"]
        assert json.dumps(answer.model_dump(), default=str).count("Mango, of course.") >= 1
        [end] = heard(host, ear)
        assert end["messages"] == said("Mango, of course.")
        assert (end["session"], end["success"]) == ("ana", True)

    @pytest.mark.parametrize("stream", [False, True])
    def test_async(self, door: str, stream: bool, server: ModelServer, host: Host, ear: Ear) -> None:
        async def main() -> None:
            async with make(door, server, is_async=True) as plain:
                client = memslot.wrap(plain, host=host)
                if not stream:
                    await ask(client, door, [user(PROMPT)])
                    return
                events = [event async for event in await ask(client, door, [user(PROMPT)], stream=True)]
                assert len(events) > 2

        server.steps = [say("Mango, ", "of course.")]
        asyncio.run(main())
        assert PRIVATE in json.dumps(sent(server))
        [end] = heard(host, ear)
        assert end["messages"] == said("Mango, of course.")

    def test_the_callers_messages_are_not_changed(self, door: str, server: ModelServer, host: Host) -> None:
        text = {"type": "input_text" if door == "responses" else "text", "text": PROMPT}
        messages = [user("Hello."), {"role": "assistant", "content": "Hello!"}, user([text])]
        before = copy.deepcopy(messages)
        server.steps = [say("Mango.")]
        ask(memslot.wrap(make(door, server), host=host), door, messages)
        assert messages == before
        assert sent(server)[:2] == before[:2], "the history is as it was"
        own, recalled = sent(server)[2]["content"]
        assert own == text
        assert recalled["type"] == text["type"]
        assert PRIVATE in recalled["text"]

    def test_the_client_itself_stays_without_a_memory(self, door: str, server: ModelServer, host: Host) -> None:
        plain = make(door, server)
        server.steps = [say("?"), say("?")]
        ask(plain, door, [user(PROMPT)])  # its resources are cached now
        client = memslot.wrap(plain, host=host)
        assert isinstance(client, type(plain))
        ask(plain, door, [user(PROMPT)])
        assert TAG not in json.dumps(server.requests)

    def test_copies_of_the_client_have_the_memory(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        client = memslot.wrap(make(door, server), host=host).with_options(timeout=7)
        server.steps = [say("Mango.")]
        ask(client, door, [user(PROMPT)])
        assert client.timeout == 7
        assert PRIVATE in json.dumps(sent(server))
        assert len(heard(host, ear)) == 1

    def test_a_prompt_and_its_tools_are_one_run(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        client = memslot.wrap(make(door, server), host=host)
        server.steps = [Use("look", text="Let me look."), say("Mango.")]
        first = ask(client, door, [user(PROMPT)])
        ask(client, door, [user(PROMPT), *tool_turn(door, first)])

        assert sent(server, 0)[0] == sent(server, 1)[0], "the provider finds the first request in its cache"
        [end] = heard(host, ear)
        assert end["messages"] == said("Let me look.", "Mango.")

    def test_prompts_in_several_threads_do_not_mix(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        client = memslot.wrap(make(door, server), host=host)
        server.answer = lambda request: answer_to(json.dumps(request))
        prompts = [f"Number {number}: {PROMPT}" for number in range(16)]

        def talk(prompt: str) -> None:
            first = ask(client, door, [user(prompt)])
            for _ in ask(client, door, [user(prompt), *tool_turn(door, first)], stream=True):
                pass

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(talk, prompts))

        told = sorted(heard(host, ear), key=lambda end: prompts.index(end["messages"][0]["content"]))
        assert [end["messages"] for end in told] == [
            said(f"Looking for {number}.", f"Mango for {number}.", prompt=prompt)
            for number, prompt in enumerate(prompts)
        ]

    def test_without_text_of_the_user_nothing_happens(
        self, door: str, server: ModelServer, host: Host, ear: Ear
    ) -> None:
        messages = [{"role": "assistant", "content": "Ana likes mango."}]
        server.steps = [say("?")]
        ask(memslot.wrap(make(door, server), host=host), door, messages)
        assert sent(server) == messages
        assert heard(host, ear) == []

    def test_an_image_without_a_word_is_not_the_prompt_before_it(
        self, door: str, server: ModelServer, host: Host, ear: Ear
    ) -> None:
        """What is recalled would stand in the history, and the answer would be kept as that of another question."""
        messages = [user(PROMPT), {"role": "assistant", "content": "Mango."}, user([IMAGES[door]])]
        server.steps = [say("A boat.")]
        ask(memslot.wrap(make(door, server), host=host), door, messages)
        assert sent(server) == messages
        assert heard(host, ear) == []

    def test_capture_can_be_turned_off(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        server.steps = [say("Mango.")]
        ask(memslot.wrap(make(door, server), host=host, capture=False), door, [user(PROMPT)])
        assert PRIVATE in json.dumps(sent(server))
        assert [end["messages"] for end in heard(host, ear)] == [[]]

    def test_a_group_recalls_nothing_private(self, door: str, server: ModelServer, host: Host) -> None:
        server.steps = [say("?")]
        ask(memslot.wrap(make(door, server), host=host, chat_type="group"), door, [user(PROMPT)])
        assert PRIVATE not in json.dumps(sent(server))

    def test_errors_of_the_sdk_pass_through(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        server.steps = [Refuse(429)]
        error = (anthropic if door == "messages" else openai).RateLimitError
        with pytest.raises(error):
            ask(memslot.wrap(make(door, server), host=host), door, [user(PROMPT)])
        [end] = heard(host, ear)
        assert (end["success"], end["messages"]) == (False, [])

    def test_raw_responses(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        client = memslot.wrap(make(door, server), host=host)
        server.steps = [say("Mango.")]
        if door == "chat":
            raw: Any = client.chat.completions.with_raw_response.create(model="m", messages=[user(PROMPT)])
        elif door == "responses":
            raw = client.responses.with_raw_response.create(model="m", input=[user(PROMPT)])
        else:
            raw = client.messages.with_raw_response.create(model="m", max_tokens=9, messages=[user(PROMPT)])
        assert raw.headers["content-type"] == "application/json"
        assert raw.parse().id
        [end] = heard(host, ear)
        assert end["messages"] == said("Mango.")


def answer_to(request: str) -> Use | Say:
    """A call of a tool, and then what names the prompt's number."""
    number = re.findall(r"Number (\d+):", request)[-1]
    return say(f"Mango for {number}.") if "It is green." in request else Use("look", text=f"Looking for {number}.")


def tool_turn(door: str, answer: Any) -> list[Any]:
    """What a program adds after a call of a tool: the answer, as the SDK's object, and a result."""
    if door == "chat":
        return [answer.choices[0].message, {"role": "tool", "tool_call_id": "call_1", "content": "It is green."}]
    if door == "responses":
        return [*answer.output, {"type": "function_call_output", "call_id": "call_1", "output": "It is green."}]
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": "It is green."}
    return [{"role": "assistant", "content": answer.content}, user([result])]


@pytest.mark.parametrize("door", DOORS)
class TestStreams:
    def test_events_are_the_same(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        plain = make(door, server)
        server.steps = [say("Mango, ", "of course."), say("Mango, ", "of course.")]
        without = list(ask(plain, door, [user(PROMPT)], stream=True))
        stream = ask(memslot.wrap(plain, host=host), door, [user(PROMPT)], stream=True)
        assert isinstance(stream, (anthropic if door == "messages" else openai).Stream)
        assert list(stream) == without
        [end] = heard(host, ear)
        assert end["messages"] == said("Mango, of course.")

    def test_helpers(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        server.steps = [say("Mango, ", "of course.")]
        with helper(memslot.wrap(make(door, server), host=host), door, [user(PROMPT)]) as stream:
            assert len(list(stream)) > 2
        assert PRIVATE in json.dumps(sent(server))
        [end] = heard(host, ear)
        assert end["messages"] == said("Mango, of course.")

    def test_async_helpers(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        async def main() -> None:
            async with make(door, server, is_async=True) as plain:
                client = memslot.wrap(plain, host=host)
                async with helper(client, door, [user(PROMPT)]) as stream:
                    assert len([event async for event in stream]) > 2

        server.steps = [say("Mango, ", "of course.")]
        asyncio.run(main())
        [end] = heard(host, ear)
        assert end["messages"] == said("Mango, of course.")

    def test_what_was_said_before_a_close_is_captured(
        self, door: str, server: ModelServer, host: Host, ear: Ear
    ) -> None:
        server.steps = [say("Mango, ", stalls=True)]
        stream = ask(memslot.wrap(make(door, server), host=host), door, [user(PROMPT)], stream=True)
        read_until(stream, "Mango, ")
        stream.close()
        [end] = heard(host, ear)
        assert end["messages"] == said("Mango, ")

    def test_leaving_a_helper_early_is_a_close(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        server.steps = [say("Mango, ", stalls=True)]
        with helper(memslot.wrap(make(door, server), host=host), door, [user(PROMPT)]) as stream:
            read_until(stream, "Mango, ")
        [end] = heard(host, ear)
        assert end["messages"] == said("Mango, ")

    def test_a_dropped_stream_captures_nothing(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        server.steps = [say("Mango, ", stalls=True)]
        stream = ask(memslot.wrap(make(door, server), host=host), door, [user(PROMPT)], stream=True)
        read_until(stream, "Mango, ")
        del stream
        gc.collect()
        assert heard(host, ear) == []

    def test_a_broken_stream_fails_the_run(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        server.steps = [say("Mango, ", stalls=True)]
        client = memslot.wrap(make(door, server), host=host).with_options(timeout=1)
        with pytest.raises(Exception, match=r"(?i)time"):
            list(ask(client, door, [user(PROMPT)], stream=True))
        [end] = heard(host, ear)
        assert (end["success"], end["messages"]) == (False, [])

    def test_cancellation_is_not_swallowed(self, door: str, server: ModelServer, host: Host, ear: Ear) -> None:
        async def main() -> None:
            async with make(door, server, is_async=True) as plain:
                client = memslot.wrap(plain, host=host)

                async def read() -> None:
                    async for _ in await ask(client, door, [user(PROMPT)], stream=True):
                        pass

                task = asyncio.create_task(read())
                await asyncio.to_thread(server.stalled.wait, 30)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

        server.steps = [say("Mango, ", stalls=True)]
        asyncio.run(main())
        [end] = heard(host, ear)
        assert (end["success"], end["messages"]) == (False, [])


def read_until(stream: Any, text: str) -> None:
    for event in stream:
        if text in json.dumps(event.model_dump(), default=str):
            return
    raise AssertionError(f"the stream never said {text!r}")


class TestCacheMarks:
    """Anthropic caches what a mark stands at; with recalled text before a mark no later request would find it."""

    def test_a_mark_for_the_whole_request_moves_to_the_users_text(self, server: ModelServer, host: Host) -> None:
        mark = {"type": "ephemeral"}
        server.steps = [say("Mango.")]
        ask(memslot.wrap(make("messages", server), host=host), "messages", [user(PROMPT)], cache_control=mark)
        assert "cache_control" not in server.requests[0]
        own, recalled = sent(server)[0]["content"]
        assert own == {"type": "text", "text": PROMPT, "cache_control": mark}
        assert "cache_control" not in recalled

    def test_blocks_may_be_the_sdks_objects(self, server: ModelServer, host: Host) -> None:
        mark, block = {"type": "ephemeral"}, anthropic.types.TextBlock(type="text", text=PROMPT)
        server.steps = [say("Mango.")]
        ask(memslot.wrap(make("messages", server), host=host), "messages", [user([block])], cache_control=mark)
        assert sent(server)[0]["content"][0] == {"type": "text", "text": PROMPT, "cache_control": mark}

    def test_a_users_own_mark_stays_before_recalled_text(self, server: ModelServer, host: Host) -> None:
        own = {"type": "text", "text": PROMPT, "cache_control": {"type": "ephemeral"}}
        server.steps = [say("Mango.")]
        ask(memslot.wrap(make("messages", server), host=host), "messages", [user([own])])
        assert sent(server)[0]["content"][0] == own
        assert TAG in sent(server)[0]["content"][1]["text"]

    def test_a_result_of_a_tool_stays_the_first_block(self, server: ModelServer, host: Host) -> None:
        result = {"type": "tool_result", "tool_use_id": "call_1", "content": "It is green."}
        use = {"type": "tool_use", "id": "call_1", "name": "look", "input": {}}
        messages = [
            user("Look."),
            {"role": "assistant", "content": [use]},
            user([result, {"type": "text", "text": PROMPT}]),
        ]
        server.steps = [say("Mango.")]
        ask(memslot.wrap(make("messages", server), host=host), "messages", messages)
        assert [block["type"] for block in sent(server)[2]["content"]] == ["tool_result", "text", "text"]
        assert sent(server)[2]["content"][0] == result


class TestOtherMethods:
    """All methods that ask a model go the same way."""

    def test_parse(self, server: ModelServer, host: Host, ear: Ear) -> None:
        class Fruit(pydantic.BaseModel):
            name: str

        answer = say('{"name": "mango"}')
        server.steps = [answer, answer, answer]
        chat, messages = (memslot.wrap(make(door, server), host=host) for door in ("chat", "messages"))
        done = chat.chat.completions.parse(model="m", messages=[user(PROMPT)], response_format=Fruit)
        assert done.choices[0].message.parsed == Fruit(name="mango")
        assert chat.responses.parse(model="m", input=PROMPT, text_format=Fruit).output_parsed == Fruit(name="mango")
        parsed = messages.messages.parse(model="m", max_tokens=9, messages=[user(PROMPT)], output_format=Fruit)
        assert parsed.parsed_output == Fruit(name="mango")
        assert all(PRIVATE in json.dumps(sent(server, number)) for number in range(3))
        assert [end["messages"] for end in heard(host, ear)] == [said('{"name": "mango"}')] * 3

    def test_beta(self, server: ModelServer, host: Host, ear: Ear) -> None:
        client = memslot.wrap(make("messages", server), host=host)
        server.steps = [say("Mango.")]
        client.beta.messages.create(model="m", max_tokens=9, messages=[user(PROMPT)])
        assert PRIVATE in json.dumps(sent(server))
        assert len(heard(host, ear)) == 1

    def test_azure(self, server: ModelServer, host: Host, ear: Ear) -> None:
        plain = openai.AzureOpenAI(api_key="not-a-key", api_version="1", base_url=f"{server.url}/v1", max_retries=0)
        client = memslot.wrap(plain, host=host)
        server.steps = [say("Mango.")]
        ask(client, "chat", [user(PROMPT)])
        assert isinstance(client, openai.AzureOpenAI)
        assert PRIVATE in json.dumps(sent(server))
        assert len(heard(host, ear)) == 1

    def test_other_requests_are_not_touched(self, server: ModelServer, host: Host, ear: Ear) -> None:
        client = memslot.wrap(make("chat", server), host=host)
        with pytest.raises(openai.NotFoundError):
            client.embeddings.create(model="m", input=PROMPT)
        assert heard(host, ear) == []

    def test_a_streamed_raw_response_recalls_and_is_the_callers_to_read(
        self, server: ModelServer, host: Host, ear: Ear
    ) -> None:
        client = memslot.wrap(make("chat", server), host=host)
        server.steps = [say("Mango.")]
        create = client.chat.completions.with_streaming_response.create
        with create(model="m", messages=[user(PROMPT)]) as response:
            assert response.parse().choices[0].message.content == "Mango."
        assert PRIVATE in json.dumps(sent(server))
        assert [end["messages"] for end in heard(host, ear)] == [[]]

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize(
        ("first", "then"),
        [
            ({}, {"previous_response_id": "r1"}),
            ({"conversation": "conv_1"}, {"conversation": "conv_1"}),
            ({"conversation": {"id": "conv_1"}}, {"conversation": {"id": "conv_1"}}),
        ],
        ids=["previous response", "conversation", "conversation as an object"],
    )
    def test_results_of_tools_may_come_without_the_messages_before(
        self, first: dict[str, Any], then: dict[str, Any], stream: bool, server: ModelServer, host: Host, ear: Ear
    ) -> None:
        client = memslot.wrap(make("responses", server), host=host)
        server.steps = [Use("look", text="Let me look."), say("Mango.")]
        results = [{"type": "function_call_output", "call_id": "call_1", "output": "It is green."}]
        for messages, more in (([user(PROMPT)], first), (results, then)):
            answer = ask(client, "responses", messages, stream=stream, **more)
            assert not stream or len(list(answer)) > 2

        assert sent(server) == results
        [end] = heard(host, ear)
        assert end["messages"] == said("Let me look.", "Mango.")

    @pytest.mark.parametrize("stream", [False, True])
    def test_what_anthropics_tool_runner_asks_is_one_run(
        self, stream: bool, server: ModelServer, host: Host, ear: Ear
    ) -> None:
        """It has the vendor keep the conversation, and sends the results of tools alone."""

        @anthropic.beta_tool
        def look() -> str:
            """Look at it."""
            return "It is green."

        client = memslot.wrap(make("messages", server), host=host).beta.messages
        server.steps = [Use("look", text="Let me look."), say("Mango.")]
        options: dict[str, Any] = {"model": "m", "max_tokens": 9, "tools": [look], "stream": stream}
        for answer in client.tool_runner(messages=[user(PROMPT)], **options):
            assert not stream or len(list(answer)) > 2

        assert PRIVATE in json.dumps(sent(server, 0))
        assert [block["type"] for block in sent(server, 1)[0]["content"]] == ["tool_result"]
        assert len(sent(server, 1)) == 1
        [end] = heard(host, ear)
        assert end["messages"] == said("Let me look.", "Mango.")

    @pytest.mark.parametrize("stream", [False, True])
    def test_nothing_is_captured_of_an_answer_that_failed(
        self, stream: bool, server: ModelServer, host: Host, ear: Ear
    ) -> None:
        client = memslot.wrap(make("responses", server), host=host)
        server.steps = [Say(("Mang",), fails=True)]
        answer = ask(client, "responses", [user(PROMPT)], stream=stream)
        assert not stream or [event.type for event in answer][-1] == "response.failed"
        [end] = heard(host, ear)
        assert (end["messages"], end["success"], end["error"]) == ([], False, "out of thoughts")

    def test_an_approval_is_a_part_of_the_turn(self, server: ModelServer, host: Host, ear: Ear) -> None:
        asks = {"type": "mcp_approval_request", "id": "a1", "name": "look", "arguments": "{}", "server_label": "s"}
        client = memslot.wrap(make("responses", server), host=host)
        server.steps = [Use("look", item=asks), say("Mango.")]
        ask(client, "responses", [user(PROMPT)])
        yes = {"type": "mcp_approval_response", "approval_request_id": "a1", "approve": True}
        ask(client, "responses", [yes], previous_response_id="r1")
        [end] = heard(host, ear)
        assert end["messages"] == said("Mango.")

    def test_the_newest_turn_of_a_conversation_continues(self, server: ModelServer, host: Host, ear: Ear) -> None:
        client = memslot.wrap(make("responses", server), host=host)
        server.steps = [Use("look"), Use("look"), say("Mango.")]
        for text in ("Given up.", PROMPT):
            ask(client, "responses", [user(text)], conversation="conv_1")
        results = [{"type": "function_call_output", "call_id": "call_1", "output": "It is green."}]
        ask(client, "responses", results, conversation="conv_1")
        client.close()
        assert [end["messages"] for end in heard(host, ear)] == [said("Mango."), said(prompt="Given up.")]

    def test_a_summary_is_made_of_what_was_said_alone(self, server: ModelServer, host: Host, ear: Ear) -> None:
        client = memslot.wrap(make("messages", server), host=host)
        server.steps = [say("A summary.")]
        messages = [user("Hello."), {"role": "assistant", "content": "Hello!"}, user(PROMPT)]
        compaction: Any = {"type": "summarize"}
        client.beta.messages.create(model="m", max_tokens=9, messages=messages, compaction=compaction)
        assert sent(server) == messages
        assert heard(host, ear) == []

    def test_many_turns_that_wait_for_tools_end(self, server: ModelServer, host: Host, ear: Ear) -> None:
        client = memslot.wrap(make("chat", server), host=host)
        prompts = [f"Number {number}: {PROMPT}" for number in range(66)]
        server.steps = [Use("look", text="Let me look.") for _ in prompts]
        for prompt in prompts:
            ask(client, "chat", [user(prompt)])
        client.close()
        assert len(heard(host, ear)) == len(prompts)
        assert ear.ends[0]["messages"] == said("Let me look.", prompt=prompts[0])


class TestDoor:
    def test_two_lines_are_enough(self, server: ModelServer, tmp_path: Path) -> None:
        """In a process of its own: the host is loaded and closed by the wrapper."""
        home = tmp_path / "home"
        (home / "workspace").mkdir(parents=True)
        (home / "workspace" / "MEMORY.md").write_text(f"{PRIVATE}\n", encoding="utf-8")
        (home / "memslot.json5").write_text(
            "{agents: {defaults: {memorySearch: {provider: 'none'}}}}", encoding="utf-8"
        )
        code = (
            "import memslot, openai\n"
            f"client = memslot.wrap(openai.OpenAI(api_key='not-a-key', base_url='{server.url}/v1'))\n"
            f"messages = [{{'role': 'user', 'content': '{PROMPT}'}}]\n"
            "print(client.chat.completions.create(model='m', messages=messages).choices[0].message.content)\n"
        )
        server.steps = [say("Mango.")]
        env = {"MEMSLOT_HOME": str(home), "PATH": ""}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (0, "Mango.\n", "")
        assert PRIVATE in json.dumps(sent(server))

    def test_closing_a_client_closes_the_host_that_was_loaded_for_it(
        self, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MEMSLOT_HOME", str(tmp_path / "home"))
        server.steps = [say("?")]
        with memslot.wrap(make("chat", server)) as client:
            ask(client, "chat", [user(PROMPT)])
        with pytest.raises(memslot.MemslotError, match="closed"):
            ask(client, "chat", [user(PROMPT)])

    def test_closing_a_client_leaves_a_given_host_open(self, server: ModelServer, host: Host) -> None:
        memslot.wrap(make("chat", server), host=host).close()
        assert host.run("still there?").prompt

    @pytest.mark.parametrize("messages", [5, None, "text", ["text"], [{"role": "user", "content": 7}]], ids=str)
    def test_what_the_server_must_refuse_reaches_it(self, messages: Any, server: ModelServer, host: Host) -> None:
        server.steps = [Refuse(400)]
        with pytest.raises(openai.BadRequestError):
            ask(memslot.wrap(make("chat", server), host=host), "chat", messages)
        assert TAG not in json.dumps(server.requests)

    def test_something_else_is_refused(self, host: Host) -> None:
        with pytest.raises(TypeError, match=r"takes a client of anthropic or openai, not builtins\.int"):
            memslot.wrap(3, host=host)

    def test_a_client_is_wrapped_once(self, server: ModelServer, host: Host) -> None:
        with pytest.raises(TypeError, match="already"):
            memslot.wrap(memslot.wrap(make("chat", server), host=host), host=host)

    def test_without_wrappers_the_extra_is_named(self, monkeypatch: pytest.MonkeyPatch, server: ModelServer) -> None:
        monkeypatch.setattr("memslot.clients.GROUP", "memslot.no-such-group")
        with pytest.raises(ImportError, match=r"no wrapper for openai\.OpenAI is installed; install one with: pip"):
            memslot.wrap(make("chat", server))
