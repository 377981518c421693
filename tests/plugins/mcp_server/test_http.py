"""The server over HTTP: who gets in, who does not, and many at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from memslot import MemslotError, listen
from memslot_mcp_server.server.http_access import read_or_make_token

from tests.plugins.mcp_server.conftest import World, make_world

WAIT = 60


@dataclass(frozen=True)
class Serving:
    world: World
    url: str
    token: str
    process: subprocess.Popen[bytes]

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@contextlib.contextmanager
def serving_over_http(world: World) -> Iterator[Serving]:
    process = world.start("mcp", "--http", "--port", "0", stderr=(world.folder / "stderr.txt").open("wb"))
    assert process.stdout is not None
    url = process.stdout.readline().decode().strip()
    token = (world.home / "plugins" / "mcp-server" / "http-token").read_text(encoding="utf-8").strip()
    try:
        deadline = time.monotonic() + WAIT
        while True:  # the socket is there from the start; what answers comes later
            with contextlib.suppress(httpx2.HTTPError):
                httpx2.get(url, timeout=WAIT)
                break
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield Serving(world, url, token, process)
    finally:
        process.terminate()
        assert process.wait(WAIT) == 0
        process.stdout.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving_over_http(make_world(tmp_path_factory.mktemp("http"))) as serving:
        yield serving


@contextlib.asynccontextmanager
async def client_of(served: Serving, mode: str, **options: Any) -> Any:
    async with (
        httpx2.AsyncClient(headers=served.headers, timeout=WAIT) as http,
        Client(streamable_http_client(served.url, http_client=http), mode=mode, **options) as client,
    ):
        yield client


HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdk_client_works_over_http(served: Serving, mode: str) -> None:
    async def main() -> tuple[Any, ...]:
        async with client_of(served, mode) as client:
            found = await client.call_tool("memory_search", {"query": "PostgreSQL harbour"})
            return client.instructions, client.server_capabilities, found, await client.list_resources()

    instructions, capabilities, found, notes = asyncio.run(main())
    assert "Memory Recall" in instructions
    assert capabilities.tools.list_changed is True
    assert found.structured_content["results"][0]["path"] == "MEMORY.md"
    assert notes.resources[0].name == "MEMORY.md"


def test_eight_clients_at_once(served: Serving) -> None:
    async def one(number: int) -> list[str]:
        async with client_of(served, "legacy" if number % 2 else "auto") as client:
            texts = [f"{number}-{turn}" for turn in range(5)]
            answers = await asyncio.gather(*(client.call_tool("echo", {"text": text}) for text in texts))
            assert (await client.call_tool("memory_search", {"query": "orchid"})).structured_content["results"]
            return [answer.content[0].text for answer in answers]

    async def main() -> list[list[str]]:
        return await asyncio.gather(*(one(number) for number in range(8)))

    assert asyncio.run(main()) == [[f"{number}-{turn}" for turn in range(5)] for number in range(8)]


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "2023-01-01"])
def test_every_version_of_the_handshake_is_spoken(served: Serving, version: str) -> None:
    with httpx2.Client(headers={**ACCEPT, **served.headers}, timeout=WAIT) as http:
        opened = http.post(served.url, json={**HELLO, "params": {**HELLO["params"], "protocolVersion": version}})
        agreed = _answer_in(opened)["protocolVersion"]
        assert agreed == (version if version in HANDSHAKE_PROTOCOL_VERSIONS else "2025-11-25")
        http.headers.update({"Mcp-Session-Id": opened.headers["mcp-session-id"], "Mcp-Protocol-Version": agreed})
        http.post(served.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})

        def ask(method: str, **params: Any) -> Any:
            message = {"jsonrpc": "2.0", "id": 2, "method": method, "params": params}
            return _answer_in(http.post(served.url, json=message))

        assert {"memory_search", "echo"} <= {tool["name"] for tool in ask("tools/list")["tools"]}
        found = ask("tools/call", name="memory_search", arguments={"query": "orchid"})
        assert "2026-01-02.md" in found["content"][0]["text"]
        assert ask("resources/list")["resources"][0]["name"] == "MEMORY.md"
        assert ask("prompts/list")["prompts"][0]["name"] == "recall"
        assert http.delete(served.url).status_code == 200


def _answer_in(response: httpx2.Response) -> Any:
    """The result in a stream of events."""
    data = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
    return json.loads(data[-1])["result"]


class TestGuard:
    def post(self, served: Serving, headers: dict[str, str], **options: Any) -> httpx2.Response:
        return httpx2.post(served.url, json=HELLO, headers={**ACCEPT, **headers}, timeout=WAIT, **options)

    def test_the_token_opens(self, served: Serving) -> None:
        assert self.post(served, served.headers).status_code == 200

    @pytest.mark.parametrize("said", [None, "", "Bearer", "Bearer x", "Basic {}", "{}", "Bearer {}x", "Bearer {} {}"])
    def test_without_the_token_nobody_gets_in(self, served: Serving, said: str | None) -> None:
        headers = {} if said is None else {"Authorization": said.format(served.token, served.token)}
        answer = self.post(served, headers)

        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert served.token not in answer.text

    @pytest.mark.parametrize(
        "host",
        ["evil.example", "evil.example:{}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:{}.evil.example", "[::1]:{}", ""],
    )
    def test_dns_rebinding_is_refused(self, served: Serving, host: str) -> None:
        """A page of evil.example, whose name leads to 127.0.0.1 by now, even if it had the token."""
        answer = self.post(served, {**served.headers, "Host": host.format(served.port)})

        assert answer.status_code in (400, 421)

    def test_the_machines_own_name_is_fine(self, served: Serving) -> None:
        assert self.post(served, {**served.headers, "Host": f"localhost:{served.port}"}).status_code == 200

    @pytest.mark.parametrize(
        "origin", ["http://evil.example", "null", "https://localhost", "http://localhost:1", "file://"]
    )
    def test_web_pages_are_refused(self, served: Serving, origin: str) -> None:
        assert self.post(served, {**served.headers, "Origin": origin}).status_code == 403

    def test_a_page_of_the_server_itself_is_fine(self, served: Serving) -> None:
        assert self.post(served, {**served.headers, "Origin": f"http://127.0.0.1:{served.port}"}).status_code == 200

    def test_it_guards_every_path_and_method(self, served: Serving) -> None:
        base = served.url.removesuffix("/mcp")
        with httpx2.Client(timeout=WAIT) as http:
            for method in ("GET", "POST", "DELETE", "OPTIONS", "PUT"):
                for path in ("/mcp", "/", "/.well-known/oauth-protected-resource"):
                    assert http.request(method, base + path).status_code == 401

    def test_two_hosts_in_one_request_are_refused(self, served: Serving) -> None:
        with socket.create_connection(("127.0.0.1", served.port), timeout=WAIT) as raw:
            head = f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nHost: evil.example\r\n"
            raw.sendall(f"{head}Authorization: Bearer {served.token}\r\nConnection: close\r\n\r\n".encode())
            status = raw.recv(100).split()[1]
        assert status in (b"400", b"421")

    def test_it_listens_on_this_machine_alone(self, served: Serving) -> None:
        table = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
        addresses = {line.split()[1] for line in table if line.split()[3] == "0A"}
        assert {each for each in addresses if each.endswith(f":{served.port:04X}")} == {f"0100007F:{served.port:04X}"}


class TestBadInput:
    def test_what_is_no_message_is_an_error(self, served: Serving) -> None:
        headers = {**ACCEPT, **served.headers, "Content-Type": "application/json"}
        for body in (b"{", b"[1]", b"\xff\xfe", b"{}", b"7", b""):
            answer = httpx2.post(served.url, content=body, headers=headers, timeout=WAIT)
            assert answer.status_code == 400
            assert "error" in answer.json()
        self._goes_on(served)

    def test_50_mb_are_refused(self, served: Serving) -> None:
        headers = {**ACCEPT, **served.headers, "Content-Type": "application/json"}
        with contextlib.suppress(httpx2.WriteError, httpx2.RemoteProtocolError):
            answer = httpx2.post(served.url, content=b"x" * 50_000_000, headers=headers, timeout=WAIT)
            assert answer.status_code == 413
        self._goes_on(served)

    def test_a_client_that_vanishes_in_the_middle_of_a_call_loses_nothing(self, served: Serving) -> None:
        async def main() -> None:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(WAIT), client_of(served, "auto") as client:
                    task = asyncio.create_task(client.call_tool("slow", {"seconds": 1}))
                    await asyncio.sleep(0.3)
                    task.cancel()
                    raise RuntimeError

        asyncio.run(main())
        self._goes_on(served)
        done = served.world.home / "done.txt"
        deadline = time.monotonic() + 30
        while not done.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def _goes_on(self, served: Serving) -> None:
        async def main() -> str:
            async with client_of(served, "legacy") as client:
                found: str = (await client.call_tool("echo", {"text": "still here"})).content[0].text
                return found

        assert asyncio.run(main()) == "still here"


class TestToken:
    def test_is_made_once_and_kept_private(self, tmp_path: Path) -> None:
        first = read_or_make_token(tmp_path)
        again = read_or_make_token(tmp_path)
        fresh = read_or_make_token(tmp_path, fresh=True)

        assert (first[1], again, fresh[1]) == (True, (first[0], False), True)
        assert fresh[0] != first[0]
        assert len(first[0]) >= 32
        assert stat.S_IMODE((tmp_path / "http-token").stat().st_mode) == 0o600
        assert len(list(tmp_path.iterdir())) == 1

    def test_that_others_can_read_is_not_used(self, tmp_path: Path) -> None:
        read_or_make_token(tmp_path)
        (tmp_path / "http-token").chmod(0o644)

        with pytest.raises(MemslotError, match="--new-token"):
            read_or_make_token(tmp_path)
        assert read_or_make_token(tmp_path, fresh=True)[1]

    @pytest.mark.parametrize("text", ["", "short", "with space " * 5, "\n"])
    def test_that_is_none_is_made_anew(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "http-token").write_text(text, encoding="utf-8")
        (tmp_path / "http-token").chmod(0o600)

        token, is_new = read_or_make_token(tmp_path)
        assert is_new
        assert len(token) >= 32

    def test_is_shown_once(self, served: Serving) -> None:
        said = (served.world.folder / "stderr.txt").read_text(encoding="utf-8")
        assert said.count(served.token) == 1


def test_a_port_that_is_taken_is_a_readable_error(world: World) -> None:
    with listen(0) as taken:
        taken.listen()
        done = world.run("mcp", "--http", "--port", str(taken.getsockname()[1]))

    assert done.returncode == 1
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_token_option_is_for_http(world: World) -> None:
    done = world.run("mcp", "--new-token")

    assert done.returncode == 2
    assert json.dumps(done.stdout) == '""'


def test_connected_clients_hear_of_changes(served: Serving) -> None:
    """The last one here, since it changes what the server offers."""

    async def main() -> set[str]:
        heard = asyncio.Event()

        async def listen_to(message: Any) -> None:
            if "ToolListChanged" in type(getattr(message, "root", message)).__name__:
                heard.set()

        async with (
            client_of(served, "legacy", message_handler=listen_to) as old,
            client_of(served, "auto") as new,
            new.listen(tools_list_changed=True) as changes,
        ):
            await asyncio.sleep(0.5)  # until the old one's own stream is open
            served.world.write_config(only=["echo"])
            async with asyncio.timeout(WAIT):
                await anext(aiter(changes))
                await heard.wait()
            return {tool.name for tool in (await old.list_tools()).tools}

    assert asyncio.run(main()) & {"echo", "slow"} == {"echo"}
