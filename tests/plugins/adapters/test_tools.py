"""What all adapters share: whose tools are called, and how a run's block begins and ends."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from memslot import Host, MemslotError, Session
from memslot_adapters.memory_run import Remembering, run_to_completion
from memslot_adapters.tools import Toolbox, active_run

from tests.plugins.adapters.conftest import PRIVATE, Ear


def names(box: Toolbox) -> set[str]:
    return {tool.name for tool in box.tools}


class TestToolbox:
    def test_it_follows_the_run_under_way(self, host: Host, ear: Ear) -> None:
        box = Toolbox(host)
        assert "memory_write" in names(box)
        with Remembering(host, "hello there", session="team", chat_type="group"):
            assert "memory_write" not in names(box)
            assert box.has("raise_hand")
            assert box.call("memory_write", {"text": "no"}).is_error
            assert PRIVATE not in box.call("memory_search", {"query": "mango"}).text
        assert PRIVATE in box.call("memory_search", {"query": "mango"}).text
        assert ear.calls[0][:2] == ("hello there", "team")

    def test_it_does_not_follow_a_run_of_another_host_or_session(self, host: Host, ear: Ear, open_host: Any) -> None:
        with Remembering(host, "hello there", session="ana"):
            for box in (Toolbox(host, "ben"), Toolbox(host, chat_type="group")):
                box.call("wait", {"name": "x"})
            Toolbox(host, "ana").call("wait", {"name": "x"})
            Toolbox(host, chat_type="direct").call("wait", {"name": "x"})
        assert [prompt for prompt, _, _ in ear.calls] == ["", "", "hello there", "hello there"]
        assert ear.calls[0][1] == "ben"

    def test_a_chat_type_said_twice_must_be_the_same(self, host: Host) -> None:
        team = Session(host.agent_id, "team", "group")
        assert names(Toolbox(host, team)) == names(Toolbox(host, team, "group"))
        for make in (Toolbox, lambda *given: Remembering(given[0], "hi", session=given[1], chat_type=given[2])):
            with pytest.raises(ValueError, match="session 'team' is a group chat, not direct"):
                make(host, team, "direct")

    def test_all_tools_that_any_chat_may_have(self, host: Host) -> None:
        both = {tool.name for kind in ("direct", "group") for tool in host.tools(kind)}  # type: ignore[arg-type]
        assert {tool.name for tool in Toolbox(host).possible_tools} == both
        assert {tool.name for tool in Toolbox(host, chat_type="group").possible_tools} == names(
            Toolbox(host, chat_type="group")
        )

    def test_of_a_closed_host_it_says_so(self, host: Host) -> None:
        box = Toolbox(host)
        host.close()
        with pytest.raises(MemslotError, match="this host is closed"):
            box.call("wait", {"name": "x"})


class TestBlocks:
    def test_outside_the_block_there_is_no_run(self, host: Host) -> None:
        block = Remembering(host, "hello there")
        with pytest.raises(RuntimeError, match="the run has not begun"):
            block.context
        with block:
            found = active_run()
            assert found is not None
            assert found.run is block.memory_run
        assert active_run() is None

    def test_tasks_beside_it_do_not_see_it(self, host: Host) -> None:
        async def main() -> None:
            inside, seen = asyncio.Event(), asyncio.Event()

            async def talk() -> None:
                async with Remembering(host, "hello there"):
                    inside.set()
                    await seen.wait()

            task = asyncio.ensure_future(talk())
            await inside.wait()
            assert active_run() is None
            seen.set()
            await task

        asyncio.run(asyncio.wait_for(main(), 60))

    def test_who_is_cancelled_while_it_begins_leaves_no_run_open(self, host: Host, ear: Ear) -> None:
        begun, go_on = threading.Event(), threading.Event()

        class Slow(Remembering):
            def _begin(self) -> None:
                begun.set()
                go_on.wait(30)
                super()._begin()

        async def talk() -> None:
            async with Slow(host, "hello there"):
                pytest.fail("it was cancelled before")

        async def main() -> None:
            task = asyncio.ensure_future(talk())
            await asyncio.to_thread(begun.wait, 30)
            task.cancel()
            await asyncio.sleep(0)
            go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(asyncio.wait_for(main(), 60))
        host.close()
        assert [end["success"] for end in ear.ends] == [False]

    def test_what_must_be_done_is_done_for_who_is_cancelled_twice(self) -> None:
        go_on, done = threading.Event(), []

        def work() -> None:
            go_on.wait(30)
            done.append(True)

        async def main() -> None:
            task = asyncio.ensure_future(run_to_completion(work))
            for _ in range(2):
                await asyncio.sleep(0)
                task.cancel()
            await asyncio.sleep(0)
            assert not task.done()
            go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(asyncio.wait_for(main(), 60))
        assert done == [True]

    def test_a_fault_of_it_comes_out(self) -> None:
        def work() -> None:
            raise ValueError("broken")

        with pytest.raises(ValueError, match="broken"):
            asyncio.run(run_to_completion(work))
