"""The real command over real pipes: the SDK's client, rude clients, and clients that vanish."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.plugins.mcp_server.conftest import World
from tests.plugins.mcp_server.talk import WAIT, Talk, talking


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdk_client_works_over_pipes(world: World, mode: str) -> None:
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "memslot", "mcp"], env=world.env)

    async def main() -> tuple[Any, ...]:
        async with Client(parameters, mode=mode) as client:
            found = await client.call_tool("memory_search", {"query": "PostgreSQL harbour"})
            heard = await client.call_tool("loud")
            note = await client.read_resource("memslot://notes/MEMORY.md")
            recalled = await client.get_prompt("recall", {"query": "PostgreSQL harbour"})
            return client.protocol_version, found, heard, note, recalled

    version, found, heard, note, recalled = asyncio.run(main())
    assert version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    assert found.structured_content["results"][0]["path"] == "MEMORY.md"
    assert heard.structured_content == {"heard": True}
    assert "PostgreSQL" in note.contents[0].text
    assert "PostgreSQL" in recalled.messages[0].content.text


def test_eight_clients_with_a_server_each_lose_nothing_on_one_home(world: World) -> None:
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "memslot", "mcp"], env=world.env)
    facts = {number: [f"Client {number} saw ship {turn}." for turn in range(3)] for number in range(8)}

    async def one(number: int) -> None:
        async with Client(parameters, mode="legacy" if number % 2 else "auto") as client:
            for fact in facts[number]:
                written = await client.call_tool("memory_write", {"text": fact, "target": "memory"})
                assert not written.is_error, written.content[0].text
            found = await client.call_tool("memory_search", {"query": "PostgreSQL harbour"})
            assert found.structured_content["results"]

    async def main() -> None:
        await asyncio.gather(*(one(number) for number in facts))

    asyncio.run(main())
    notes = (world.workspace / "MEMORY.md").read_text(encoding="utf-8")
    assert [fact for each in facts.values() for fact in each if notes.count(fact) != 1] == []


def test_a_rude_client_gets_reasons_and_the_server_goes_on(world: World) -> None:
    with talking(world) as talk:
        talk.send(b"hello", b"[1, 2]", b"\xff", b'{"jsonrpc": "2.0", "id": 5}', b"", b"   ")
        codes = [(answer["id"], answer["error"]["code"]) for answer in (talk.receive() for _ in range(4))]
        assert codes == [(None, -32700), (None, -32600), (None, -32700), (5, -32600)]

        assert talk.ask(6, "tools/call", name="echo")["error"]["code"] < 0  # nobody has shaken hands yet
        assert "Memory Recall" in talk.shake_hands()["instructions"]
        assert talk.ask(7, "no/such/method")["error"]["code"] == -32601
        assert talk.ask(8, "tools/call", name=7)["error"]["code"] == -32602
        assert talk.ask(9, "tools/call", name="echo", arguments="text")["error"]["code"] == -32602
        wrong = talk.call(10, "echo", text=["not", "text"])["result"]
        assert wrong["isError"]
        assert "text" in wrong["content"][0]["text"]

        talk.send({"jsonrpc": "2.0", "id": 11, "method": "tools/call", "params": {"x": "y" * 50_000_000}})
        large = talk.receive()
        assert (large["id"], large["error"]["code"]) == (11, -32600)
        assert "4 MB" in large["error"]["message"]

        assert talk.call(12, "loud")["result"]["structuredContent"] == {"heard": True}
        assert talk.call(13, "echo", text="still here")["result"]["content"][0]["text"] == "still here"
        assert talk.close() == (0, b"")
    said = (world.folder / "stderr.txt").read_text(encoding="utf-8")
    for line in ("printed by a tool", "written to descriptor 1", "printed by a child"):
        assert line in said


PROBE: dict[str, Any] = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}


def test_a_client_whose_probe_timed_out_may_shake_hands(world: World) -> None:
    with talking(world) as talk:
        talk.send({"jsonrpc": "2.0", "id": "probe", "method": "server/discover", "params": PROBE})
        cancelled = {"requestId": "probe", "reason": "timed out"}
        talk.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})

        assert talk.shake_hands("2025-06-18")["protocolVersion"] == "2025-06-18"
        assert talk.call(1, "echo", text="hello")["result"]["content"][0]["text"] == "hello"

        # The era is settled now.
        assert talk.ask(2, "server/discover", **PROBE)["error"]["code"] < 0
        assert talk.call(3, "echo", text="again")["result"]["content"][0]["text"] == "again"
        assert talk.close() == (0, b"")


def test_a_client_of_the_new_protocol_cannot_shake_hands_later(world: World) -> None:
    with talking(world) as talk:
        assert talk.ask(1, "server/discover", **PROBE)["result"]["supportedVersions"]
        assert talk.ask(2, "tools/list", **PROBE)["result"]["tools"]
        client = {"name": "test", "version": "1"}
        late = talk.ask(3, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        assert late["error"]["code"] == -32022
        assert talk.close() == (0, b"")


def test_what_was_asked_before_stdin_closed_is_answered(world: World) -> None:
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow", "arguments": {"seconds": 0.5}}},
    ]

    done = world.run("mcp", stdin="".join(json.dumps(each) + "\n" for each in messages))

    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert answers[1]["result"]["content"][0]["text"] == "slept"
    assert done.returncode == 0


def test_a_client_that_vanishes_in_the_middle_of_a_call_loses_nothing(world: World) -> None:
    with talking(world) as talk:
        talk.shake_hands()
        params = {"name": "slow", "arguments": {"seconds": 1}}
        talk.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        time.sleep(0.3)
        talk.stdout.close()
        talk.stdin.close()

        talk.process.wait(15)
    assert (world.home / "done.txt").read_text(encoding="utf-8") == "done\n"


def test_a_client_that_reads_nothing_and_leaves_is_not_waited_for(world: World) -> None:
    """Somebody else may hold the other end of stdout, so that no write fails."""
    with talking(world) as talk:
        talk.shake_hands()
        for number in range(40):
            params = {"name": "echo", "arguments": {"text": "x" * 20_000}}
            talk.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        talk.stdin.close()

        assert talk.process.wait(20) == 0


@pytest.mark.parametrize("streams", ["<&-", ">&-"])
def test_without_a_pipe_it_says_so(world: World, streams: str) -> None:
    command = f"{shlex.join(world.argv)} mcp {streams}"
    done = subprocess.run(command, shell=True, env=world.env, input=b"", capture_output=True, timeout=WAIT, check=False)

    assert done.returncode == 1
    assert b"one of them is closed" in done.stderr


def test_ends_with_its_parent(world: World) -> None:
    """The parent is killed, and cannot say goodbye."""
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-m', 'memslot', 'mcp'], stdin=subprocess.PIPE, stdout=sys.stdout)\n"
        "print(child.pid, flush=True)\n"
        "child.stdin.write(sys.stdin.buffer.readline()); child.stdin.flush()\n"
        "child.wait()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        env=world.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with parent:
        talk = Talk(parent)
        child = int(talk.stdout.readline())
        talk.ask(
            0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"}
        )
        parent.kill()
        deadline = time.monotonic() + 20
        while _is_alive(child):
            assert time.monotonic() < deadline, "it outlived its parent"
            time.sleep(0.05)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"  # nobody may be there to bury it
    except OSError:
        return False


def test_ends_when_told_to(world: World) -> None:
    with talking(world) as talk:
        talk.shake_hands()
        talk.process.send_signal(signal.SIGTERM)

        assert talk.process.wait(15) == 0


def test_tools_change_with_the_config(world: World) -> None:
    with talking(world) as talk:
        talk.shake_hands()
        before = {tool["name"] for tool in talk.ask(1, "tools/list")["result"]["tools"]}
        world.write_config(only=["echo"])
        heard = {talk.receive()["method"], talk.receive()["method"]}
        after = {tool["name"] for tool in talk.ask(2, "tools/list")["result"]["tools"]}

        assert heard == {"notifications/tools/list_changed", "notifications/resources/list_changed"}
        assert before - after == {"slow", "loud", "broken"}
        assert "there is no tool" in talk.call(3, "slow", seconds=0)["error"]["message"]

        (world.home / "memslot.json5").write_text("{ plugins: ", encoding="utf-8")
        time.sleep(2.5)
        assert talk.call(4, "echo", text="still here")["result"]["content"][0]["text"] == "still here"
        assert talk.close() == (0, b"")
    assert "cannot be used" in (world.folder / "stderr.txt").read_text(encoding="utf-8")


def test_a_client_of_the_new_protocol_hears_of_changes(world: World) -> None:
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "memslot", "mcp"], env=world.env)

    async def main() -> set[str]:
        async with Client(parameters, mode="auto") as client:
            async with client.listen(tools_list_changed=True) as changes:
                world.write_config(only=["echo"])
                async with asyncio.timeout(WAIT):
                    await anext(aiter(changes))
            return {tool.name for tool in (await client.list_tools()).tools}

    assert asyncio.run(main()) & {"echo", "slow", "loud"} == {"echo"}
