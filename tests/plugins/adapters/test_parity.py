"""One conversation in every framework: the same tools, results, recall and capture."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from memslot import Host, Session

from tests.plugins.adapters.conftest import PRIVATE, SHARED, Ear
from tests.plugins.adapters.frameworks import FRAMEWORKS, Call, Script, Seen, Talk

Have = Callable[..., Seen]
PROMPT = "Which fruit does Ana like in the morning?"
SEARCH = Call("memory_search", {"query": "mango morning"})


@pytest.fixture(params=sorted(FRAMEWORKS))
def have(request: pytest.FixtureRequest, host: Host, tmp_path: Path) -> Have:
    """Have a conversation in a framework."""
    framework: Callable[[Talk], Awaitable[Seen]] = FRAMEWORKS[request.param]

    def run(script: Script, prompt: str = PROMPT, session: str = "ana", chat_type: Any = "direct") -> Seen:
        talk = Talk(host, tmp_path, prompt, script, session, chat_type)

        async def main() -> Seen:
            return await asyncio.wait_for(framework(talk), 120)

        return asyncio.run(main())

    return run


def ends(host: Host, ear: Ear) -> list[dict[str, Any]]:
    """What was heard of runs, once all of it has been."""
    host.close()
    return ear.ends


@pytest.mark.parametrize("chat_type", ["direct", "group"])
def test_the_model_is_given_the_tools_of_the_chat_with_their_schemas(have: Have, host: Host, chat_type: Any) -> None:
    seen = have(["Hello."], chat_type=chat_type)

    assert seen.tools == {tool.name: tool.schema for tool in host.tools(chat_type)}
    assert ("memory_write" in seen.tools) == (chat_type == "direct")
    assert ("raise_hand" in seen.tools) == (chat_type == "group")


def test_the_model_gets_a_result_as_the_host_gives_it(have: Have, host: Host) -> None:
    expected = host.call_tool(*SEARCH, session=Session(host.agent_id, "ana")).text
    assert PRIVATE in expected

    seen = have([SEARCH, "Mango."])

    assert seen.results == [expected]
    assert seen.answer == "Mango."


def test_wrong_arguments_and_failures_are_told_to_the_model_which_goes_on(have: Have, host: Host) -> None:
    wrong = [
        Call("memory_search", {"query": 5}),
        Call("memory_search", {"query": "mango", "colour": "red"}),
        Call("fail", {"name": "x"}),
    ]
    expected = [host.call_tool(*each).text for each in wrong]
    assert "query is 5: must be string" in expected[0]
    assert "it is broken" in expected[2]

    seen = have([*wrong, SEARCH, "Mango."])

    assert seen.results[:3] == expected
    assert PRIVATE in seen.results[3]


def test_what_fits_is_recalled_before_the_prompt_and_not_kept(have: Have) -> None:
    seen = have(["Mango."])

    assert "untrusted data" in seen.request
    assert PRIVATE in seen.request
    assert seen.request.index(PRIVATE) > seen.request.index("<relevant-memories>")
    assert PROMPT in seen.request
    assert "## Memory Recall" in seen.request
    assert "Be brief." in seen.request
    assert "relevant-memories" not in seen.kept


def test_a_group_chat_sees_nothing_private(have: Have) -> None:
    seen = have([SEARCH, Call("memory_search", {"query": "orchid"}), "Hm."], chat_type="group")

    assert PRIVATE not in seen.request
    assert PRIVATE not in "".join(seen.results)
    assert SHARED in seen.results[1]


def test_a_run_is_captured_once_with_what_was_said(have: Have, host: Host, ear: Ear) -> None:
    have([SEARCH, "Mango."])

    assert ends(host, ear) == [
        {
            "prompt": PROMPT,
            "session": "ana",
            "success": True,
            "error": None,
            "messages": [{"role": "user", "content": PROMPT}, {"role": "assistant", "content": "Mango."}],
        }
    ]


def test_tool_calls_belong_to_the_run(have: Have, host: Host, ear: Ear) -> None:
    have([SEARCH, Call("wait", {"name": "tea"}), "Mango."])

    assert ear.calls == [(PROMPT, "ana", "memory_search"), (PROMPT, "ana", "wait")]
    assert ear.sessions == [("ana", "direct")]


def test_a_note_that_the_model_writes_is_found_later(have: Have, host: Host) -> None:
    have([Call("memory_write", {"text": "The plumber comes on Tuesday.", "target": "memory"}), "Noted."])

    notes = host.config.workspace(host.agent_id, host.places) / "MEMORY.md"
    assert "The plumber comes on Tuesday." in notes.read_text(encoding="utf-8")
    host.memory.sync()  # type: ignore[union-attr]
    assert "plumber" in host.call_tool("memory_search", {"query": "plumber Tuesday"}).text
