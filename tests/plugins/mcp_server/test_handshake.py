"""The first answer: the same as the SDK's, given before the SDK and the memory are loaded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import anyio
import mcp_types as types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import version
from memslot import Hosts, PromptSection, Workers, hookimpl
from memslot.testing import HostOpener, InlinePlugin
from memslot_mcp_server.server.handshake import HANDSHAKE_VERSIONS, MODERN_VERSION, answer_handshake
from memslot_mcp_server.server.mcp_server import MemslotServer

from tests.plugins.mcp_server.conftest import World
from tests.plugins.mcp_server.talk import talking

GUIDE = "Grüße: call echo."
META = "io.modelcontextprotocol/"
NO_MEMORY = {"plugins": {"slots": {"memory": "none"}}}


class Guide:
    @hookimpl
    def register_prompt_sections(self) -> list[PromptSection]:
        return [PromptSection("Guide", GUIDE)]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with HostOpener(tmp_path_factory.mktemp("home")) as open_host:
        host = open_host(InlinePlugin(Guide()), config=NO_MEMORY)
        yield Hosts(lambda: host)


def initialize(client: Any, capabilities: Any, protocol: Any) -> dict[str, Any]:
    params = {"protocolVersion": protocol, "capabilities": capabilities, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def discover(client: Any, capabilities: Any, protocol: Any) -> dict[str, Any]:
    meta = {
        f"{META}protocolVersion": protocol,
        f"{META}clientInfo": client,
        f"{META}clientCapabilities": capabilities,
    }
    return {"jsonrpc": "2.0", "id": "probe", "method": "server/discover", "params": {"_meta": meta}}


CLIENT = {"name": "claude-code", "title": "Claude Code", "version": "2.1", "websiteUrl": "https://claude.com"}
CAPABILITIES = {"roots": {"listChanged": True}, "elicitation": {"form": {}}, "sampling": {}}
USUAL = [
    *(initialize(CLIENT, CAPABILITIES, each) for each in version.HANDSHAKE_PROTOCOL_VERSIONS),
    *(discover(CLIENT, {}, each) for each in version.MODERN_PROTOCOL_VERSIONS),
]


def answer_here(hosts: Hosts, request: dict[str, Any]) -> dict[str, Any] | None:
    with hosts.borrow() as host:
        found = answer_handshake(json.dumps(request, ensure_ascii=False).encode(), host.system_prompt)
    if found is None:
        return None
    assert found.request_id == request["id"]
    answer: dict[str, Any] = json.loads(found.line)
    return answer


def answer_of_sdk(hosts: Hosts, request: dict[str, Any]) -> dict[str, Any]:
    async def main() -> dict[str, Any]:
        server = MemslotServer(hosts, Workers())
        to_server, inbound = anyio.create_memory_object_stream[SessionMessage | Exception](1)
        outbound, from_server = anyio.create_memory_object_stream[SessionMessage](1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run, inbound, outbound, server.create_initialization_options())
            await to_server.send(SessionMessage(types.JSONRPCRequest.model_validate(request)))
            answer = await from_server.receive()
            tasks.cancel_scope.cancel()
        found: dict[str, Any] = answer.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return found

    return asyncio.run(main())


@pytest.mark.parametrize("request_", USUAL, ids=lambda request: request["method"])
def test_usual_requests_get_the_answer_of_the_sdk(hosts: Hosts, request_: dict[str, Any]) -> None:
    found = answer_here(hosts, request_)

    assert found == answer_of_sdk(hosts, request_)
    assert found is not None
    assert GUIDE in found["result"]["instructions"]


def test_every_protocol_version_of_the_sdk_is_known() -> None:
    assert (HANDSHAKE_VERSIONS, (MODERN_VERSION,)) == (
        version.HANDSHAKE_PROTOCOL_VERSIONS,
        version.MODERN_PROTOCOL_VERSIONS,
    )


ODD = st.none() | st.integers() | st.just("text") | st.booleans()
OBJECTS = st.recursive(
    st.just({}) | st.fixed_dictionaries({"listChanged": st.booleans()}),
    lambda inner: st.dictionaries(st.sampled_from(["form", "tools", "requests", "x"]), inner | ODD, max_size=2),
    max_leaves=3,
)
CLIENTS = st.just(CLIENT) | st.dictionaries(st.sampled_from(["name", "version", "title", "icons"]), ODD)
NAMES = ["roots", "sampling", "elicitation", "tasks", "extensions", "experimental", "x"]
ODD_CAPABILITIES = st.dictionaries(st.sampled_from(NAMES), OBJECTS, max_size=3)
VERSIONS = st.sampled_from([*version.KNOWN_PROTOCOL_VERSIONS, "2099-01-01", None])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([initialize, discover]), CLIENTS, ODD_CAPABILITIES, VERSIONS)
def test_odd_requests_are_left_to_the_sdk_or_get_its_answer(
    hosts: Hosts, make: Any, client: Any, capabilities: Any, protocol: Any
) -> None:
    request = make(client, capabilities, protocol)
    found = answer_here(hosts, request)

    assert found is None or found == answer_of_sdk(hosts, request)


@pytest.mark.parametrize(
    "line",
    [
        b"hello",
        b"\xff",
        b"[1]",
        b"null",
        b"[" * 100_000,
        json.dumps({**USUAL[0], "id": None}).encode(),
        json.dumps({**USUAL[0], "id": True}).encode(),
        json.dumps({**USUAL[0], "id": "\ud800"}).encode(),
        json.dumps({**USUAL[0], "id": float("nan")}).encode(),
        json.dumps({**USUAL[0], "jsonrpc": "1.0"}).encode(),
        json.dumps({**USUAL[0], "params": None}).encode(),
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}).encode(),
    ],
    ids=range(12),
)
def test_other_lines_are_left_to_the_sdk(line: bytes) -> None:
    assert answer_handshake(line, lambda: GUIDE) is None


WATCHER = """

import sys
from memslot import PromptSection


def write_section(run):
    with (HOME / "modules.txt").open("a") as file:
        file.write(" ".join(sys.modules) + "\\n")
    return "Be watchful."


@hookimpl
def register_prompt_sections():
    return [PromptSection("Watch", write_section)]


@hookimpl
def session_start(session):
    for _ in range(1000):
        if (HOME / "answered").exists():
            (HOME / "session.txt").write_text("after the first answer")
            return
        time.sleep(0.01)
"""
HEAVY = ("mcp", "mcp_types", "pydantic", "starlette", "uvicorn", "httpx2", "numpy", "lancedb", "sentencepiece")


@pytest.mark.parametrize("request_", [USUAL[2], USUAL[-1]], ids=lambda request: request["method"])
def test_nothing_heavy_is_loaded_and_no_plugin_set_to_work_before_the_first_answer(
    world: World, request_: dict[str, Any]
) -> None:
    odd = world.folder / "plugins" / "odd" / "__init__.py"
    odd.write_text(odd.read_text(encoding="utf-8") + WATCHER, encoding="utf-8")
    world.run("plugins", "list")  # what is found is kept, so that the server reads it
    with talking(world) as talk:
        talk.send(request_)
        answer = talk.receive()
        (world.home / "answered").touch()
        meta = request_["params"].get("_meta")
        talk.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        listed = talk.ask(7, "tools/list", **({"_meta": meta} if meta else {}))
        assert talk.close() == (0, b"")

    loaded = (world.home / "modules.txt").read_text(encoding="utf-8").splitlines()[0].split()
    assert "Be watchful." in answer["result"]["instructions"]
    assert [name for name in HEAVY if name in loaded] == []
    assert {tool["name"] for tool in listed["result"]["tools"]} >= {"memory_search", "memory_write", "echo", "slow"}
    assert (world.home / "session.txt").read_text(encoding="utf-8") == "after the first answer"


def test_a_request_that_is_unusual_is_answered_by_the_sdk(world: World) -> None:
    client = {**CLIENT, "icons": [{"src": "https://example.org/i.png"}]}
    with talking(world) as talk:
        answer = talk.ask(0, "initialize", protocolVersion="2099-01-01", capabilities={}, clientInfo=client)

        assert answer["result"]["protocolVersion"] == version.LATEST_HANDSHAKE_VERSION
        assert talk.call(1, "echo", text="hello")["result"]["content"][0]["text"] == "hello"
        assert talk.close() == (0, b"")
