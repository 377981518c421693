"""The Claude Agent SDK with its own program, which talks to a scripted model on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, query
from memslot import Host, Session
from memslot_adapters.claude_agent import allowed_tools, memory_mcp_config, memory_server, with_memory

from tests.plugins.adapters.claude_model import ClaudeModel, call, claude_model, say
from tests.plugins.adapters.conftest import PRIVATE, Ear

Value = TypeVar("Value")
PROMPT = "What does Ana like in the morning?"
SEARCH = call("mcp__memslot__memory_search", {"query": "mango"})


def run(work: Coroutine[Any, Any, Value]) -> Value:
    async def main() -> Value:
        return await asyncio.wait_for(work, 120)

    return asyncio.run(main())


async def ask(options: ClaudeAgentOptions, prompt: str = PROMPT) -> None:
    async for _ in query(prompt=prompt, options=options):
        pass


def results(model: ClaudeModel) -> list[dict[str, Any]]:
    messages = [message["content"] for message in model.requests[-1]["messages"]]
    blocks = [block for content in messages if isinstance(content, list) for block in content]
    return [block for block in blocks if block.get("type") == "tool_result"]


def test_the_server_alone_gives_tools_and_nothing_else(host: Host, ear: Ear, tmp_path: Path) -> None:
    with claude_model([[SEARCH], [say("Mango.")]]) as model:
        base = model.options(
            tmp_path / "claude", mcp_servers={"memslot": memory_server(host)}, allowed_tools=allowed_tools(host)
        )
        run(ask(base))

    assert PRIVATE in json.dumps(results(model))
    assert "relevant-memories" not in json.dumps(model.requests)
    host.close()
    assert ear.ends == []


def test_a_failure_is_marked_as_one(host: Host, tmp_path: Path) -> None:
    with claude_model([[call("mcp__memslot__fail", {"name": "x"})], [say("Sorry.")]]) as model:
        run(ask(with_memory(host, model.options(tmp_path / "claude"))))

    (result,) = results(model)
    assert result["is_error"]
    assert "it is broken" in json.dumps(result)


def test_the_server_outside_is_the_command(host: Host, memslot_home: Path, tmp_path: Path) -> None:
    config = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
    (memslot_home / "memslot.json5").write_text(json.dumps(config), encoding="utf-8")
    with claude_model([[SEARCH], [say("Mango.")]]) as model:
        base = model.options(
            tmp_path / "claude", mcp_servers={"memslot": memory_mcp_config(host)}, allowed_tools=allowed_tools(host)
        )
        run(ask(base))

    assert PRIVATE in json.dumps(results(model))


def test_a_client_has_one_conversation_with_many_prompts(host: Host, ear: Ear, tmp_path: Path) -> None:
    with claude_model([[say("Mango.")], [say("Yes.")]]) as model:
        options = with_memory(host, model.options(tmp_path / "claude"))

        async def main() -> None:
            async with ClaudeSDKClient(options) as client:
                for prompt in (PROMPT, "mango, you say?"):
                    await client.query(prompt)
                    async for _ in client.receive_response():
                        pass

        run(main())

    host.close()
    assert [(end["prompt"], end["messages"][1]["content"]) for end in ear.ends] == [
        (PROMPT, "Mango."),
        ("mango, you say?", "Yes."),
    ]
    (session,) = {end["session"] for end in ear.ends}
    assert session.startswith("claude-code-")
    assert ear.sessions == [(session, "direct")]
    assert json.dumps(model.requests[-1]).count("## Memory Recall") == 1, "it is told once"


def test_what_the_options_have_stays(host: Host, tmp_path: Path) -> None:
    heard: list[str] = []

    async def listen(event: Any, tool_use_id: str | None, context: Any) -> Any:
        heard.append(event["hook_event_name"])
        return {}

    with claude_model([[say("Mango.")]]) as model:
        base = model.options(tmp_path / "claude", hooks={"Stop": [HookMatcher(hooks=[listen])]}, allowed_tools=["Read"])
        options = with_memory(host, base)
        run(ask(options))

    assert heard == ["Stop"]
    assert options.allowed_tools[0] == "Read"
    assert base.allowed_tools == ["Read"]
    assert base.mcp_servers == {}
    assert PRIVATE in json.dumps(model.requests[0])


def test_a_prompt_that_was_interrupted_ends_as_failed(host: Host, ear: Ear) -> None:
    """Claude says nothing of it, so the next prompt does."""
    options = with_memory(host, session="ana")
    assert options.hooks is not None
    recall: Any = options.hooks["UserPromptSubmit"][0].hooks[0]
    capture: Any = options.hooks["Stop"][0].hooks[0]

    async def main() -> None:
        await recall({"session_id": "1", "prompt": "first"}, None, None)
        await recall({"session_id": "1", "prompt": "second"}, None, None)
        await capture({"session_id": "1", "last_assistant_message": "Done."}, None, None)
        await capture({"session_id": "1", "last_assistant_message": "Done again."}, None, None)

    run(main())
    host.close()
    assert [(end["prompt"], end["success"], len(end["messages"])) for end in ear.ends] == [
        ("first", False, 0),
        ("second", True, 2),
    ]


def test_a_prompt_that_is_cancelled_while_it_begins_is_not_forgotten(host: Host, ear: Ear) -> None:
    options = with_memory(host, session="ana")
    assert options.hooks is not None
    recall: Any = options.hooks["UserPromptSubmit"][0].hooks[0]

    async def main() -> None:
        first = asyncio.ensure_future(recall({"session_id": "1", "prompt": "first"}, None, None))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await recall({"session_id": "1", "prompt": "second"}, None, None)

    run(main())
    host.close()
    assert [(end["prompt"], end["success"]) for end in ear.ends] == [("first", False)]


def test_a_session_of_a_group_brings_its_restrictions(host: Host, tmp_path: Path) -> None:
    write = call("mcp__memslot__memory_write", {"text": "no"}, 1)
    with claude_model([[SEARCH], [write], [say("Hm.")]]) as model:
        base = model.options(tmp_path / "claude")
        options = with_memory(host, base, session=Session(host.agent_id, "team", "group"))
        run(ask(options))

    assert PRIVATE not in json.dumps(model.requests)
    assert "mcp__memslot__memory_write" not in options.allowed_tools
    assert "mcp__memslot__memory_write" not in {tool["name"] for tool in model.requests[0]["tools"]}


def test_the_path_of_a_config_cannot_be_added_to(host: Host) -> None:
    with pytest.raises(TypeError, match="mcp_servers as a dict"):
        with_memory(host, ClaudeAgentOptions(mcp_servers="servers.json"))
