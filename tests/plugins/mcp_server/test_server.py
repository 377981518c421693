"""The server in this process, asked by the SDK's own client, in the old and the new protocol."""

from __future__ import annotations

import asyncio
import functools
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from memslot import Host, Hosts, MemslotError, PromptSection, Tool, Workers, hookimpl
from memslot.testing import HostOpener, InlinePlugin
from memslot_mcp_server.server import mcp_server
from memslot_mcp_server.server.mcp_server import MemslotServer

NO_MEMORY = {"plugins": {"slots": {"memory": "none"}}}
QUIET = {"agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"watch": False}}}}}
TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
NOTHING: dict[str, Any] = {"type": "object", "additionalProperties": False}


class Odd:
    """Tools of every kind."""

    @hookimpl
    def register_tools(self) -> list[Tool]:
        return [
            Tool("echo", "Repeats.", TEXT, lambda args: args["text"], title="Echo", read_only=True),
            Tool("facts", "Gives data.", NOTHING, lambda args: {"answer": 42, "parts": ["ü"]}, idempotent=True),
            Tool("rows", "Gives a list.", NOTHING, lambda args: [1, 2]),
            Tool("broken", "Fails.", NOTHING, _fail, destructive=True),
            Tool("surrogate", "Gives what is no text.", NOTHING, lambda args: {"odd": "a\ud800b"}),
            Tool("public", "For groups only.", NOTHING, lambda args: "x", chat_types=("group",)),
        ]

    @hookimpl
    def register_prompt_sections(self) -> list[PromptSection]:
        return [PromptSection("Oddities", "Call echo when you are lonely.", requires_tools=("echo",))]


def _fail(args: Any) -> None:
    raise ValueError("it is broken")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    memory = folder / "workspace" / "memory"
    (memory / "sub").mkdir(parents=True)
    (memory.parent / "MEMORY.md").write_text("We decided on PostgreSQL for the harbour API.\n", encoding="utf-8")
    (memory / "2026-01-02.md").write_text("The orchid was watered.\n", encoding="utf-8")
    (memory / "sub" / "Zürich trip.md").write_text("Trains leave at nine.\n" * 500, encoding="utf-8")
    (memory / "empty.md").write_text("", encoding="utf-8")
    (memory / "secret.md").symlink_to(folder / "secret.txt")
    (folder / "secret.txt").write_text("outside", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def hosts(home: Path) -> Iterator[Hosts]:
    """One host with the notes and the odd tools, for all tests here: none of them changes it."""
    with HostOpener(home) as open_host:
        host = open_host("memory-core", InlinePlugin(Odd()), config=QUIET, strict=False)
        host.call_tool("memory_search", {"query": "waits for the first index"})
        yield Hosts(lambda: host)


@asynccontextmanager
async def connected(hosts: Hosts, mode: str) -> AsyncIterator[Client]:
    workers = Workers()
    server = await workers.run(MemslotServer, hosts, workers)
    async with Client(server, mode=mode) as client:
        yield client


def run_with_client(hosts: Hosts, mode: str, work: Callable[[Client], Coroutine[Any, Any, Any]]) -> Any:
    async def main() -> Any:
        async with connected(hosts, mode) as client:
            try:
                return await work(client)
            except MCPError as error:  # taken out of here, where the client would wrap it
                return error

    found = asyncio.run(main())
    if isinstance(found, MCPError):
        raise found
    return found


@pytest.fixture(params=["legacy", "2026-07-28"])
def ask(request: pytest.FixtureRequest, hosts: Hosts) -> Any:
    """Run something with a client, in the old protocol and in the new one."""
    return functools.partial(run_with_client, hosts, request.param)


class TestTools:
    def test_have_schema_and_annotations(self, ask: Any) -> None:
        tools = {tool.name: tool for tool in ask(lambda client: client.list_tools()).tools}

        assert {"memory_search", "memory_get", "memory_write", "echo"} <= tools.keys()
        assert "public" not in tools
        assert tools["echo"].input_schema == TEXT
        assert tools["echo"].annotations.title == "Echo"
        assert tools["echo"].annotations.read_only_hint is True
        assert tools["broken"].annotations.destructive_hint is True
        assert tools["facts"].annotations.idempotent_hint is True
        assert tools["memory_search"].input_schema["properties"]["query"]["type"] == "string"

    def test_give_text_and_data(self, ask: Any) -> None:
        facts = ask(lambda client: client.call_tool("facts"))
        rows = ask(lambda client: client.call_tool("rows"))

        assert facts.structured_content == {"answer": 42, "parts": ["ü"]}
        assert "42" in facts.content[0].text
        assert (rows.structured_content, rows.content[0].text) == (None, "[1, 2]")

    def test_find_notes(self, ask: Any) -> None:
        found = ask(lambda client: client.call_tool("memory_search", {"query": "PostgreSQL harbour"}))

        assert found.structured_content["results"][0]["path"] == "MEMORY.md"

    @pytest.mark.parametrize("arguments", [{"text": 7}, {}, {"text": "x", "more": 1}, {"text": None}])
    def test_refuse_wrong_arguments_so_that_a_model_can_mend_them(self, ask: Any, arguments: dict[str, Any]) -> None:
        result = ask(lambda client: client.call_tool("echo", arguments))

        assert result.is_error
        assert "text" in result.content[0].text or "more" in result.content[0].text

    def test_that_fail_say_so(self, ask: Any) -> None:
        async def work(client: Client) -> tuple[Any, Any]:
            return await client.call_tool("broken"), await client.call_tool("echo", {"text": "still here"})

        broken, after = ask(work)
        assert broken.is_error
        assert "it is broken" in broken.content[0].text
        assert after.content[0].text == "still here"

    @pytest.mark.parametrize("name", ["nothing", "public", ""])
    def test_that_are_not_there_are_an_error_of_the_protocol(self, ask: Any, name: str) -> None:
        with pytest.raises(MCPError, match="there is no tool") as caught:
            ask(lambda client: client.call_tool(name))
        assert caught.value.error.code == -32602

    def test_may_give_what_is_no_text(self, ask: Any) -> None:
        assert "odd" in ask(lambda client: client.call_tool("surrogate")).content[0].text

    def test_eight_at_once(self, ask: Any) -> None:
        async def work(client: Client) -> list[Any]:
            return await asyncio.gather(*(client.call_tool("echo", {"text": str(n)}) for n in range(8)))

        assert [result.content[0].text for result in ask(work)] == [str(n) for n in range(8)]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_prompt_sections_are_the_instructions(hosts: Hosts, mode: str) -> None:
    async def work(client: Client) -> tuple[Any, ...]:
        return client.instructions, client.server_capabilities, client.protocol_version

    instructions, capabilities, version = run_with_client(hosts, mode, work)
    assert "## Memory Recall" in instructions
    assert "Call echo when you are lonely." in instructions
    assert capabilities.tools.list_changed is True
    assert version == ("2025-11-25" if mode == "legacy" else "2026-07-28")


class TestNotes:
    def test_are_listed_with_the_lasting_ones_first(self, ask: Any) -> None:
        notes = ask(lambda client: client.list_resources()).resources

        assert [note.name for note in notes] == [
            "MEMORY.md",
            "memory/sub/Zürich trip.md",
            "memory/empty.md",
            "memory/2026-01-02.md",
        ]
        assert str(notes[1].uri) == "memslot://notes/memory/sub/Z%C3%BCrich%20trip.md"
        assert notes[0].mime_type == "text/markdown"
        assert notes[0].size == 46

    def test_are_read_whole(self, ask: Any) -> None:
        async def work(client: Client) -> list[str]:
            uris = [note.uri for note in (await client.list_resources()).resources]
            return [(await client.read_resource(str(uri))).contents[0].text for uri in uris]

        texts = ask(work)
        assert texts[0] == "We decided on PostgreSQL for the harbour API."
        assert texts[1].count("Trains leave at nine.") == 500
        assert texts[2] == ""

    def test_with_long_lines_are_read_whole(self, ask: Any, home: Path) -> None:
        """A tool returns so much at once; a resource is not a tool."""
        lines = ["first", *(f"{number} " + "x" * 5_000 for number in range(40)), "y" * 60_000, "last"]
        note = home / "workspace" / "USER.md"
        note.write_text("\n".join(lines), encoding="utf-8")
        try:
            text = ask(lambda client: client.read_resource("memslot://notes/USER.md")).contents[0].text
        finally:
            note.unlink()

        assert text.split("\n") == lines

    @pytest.mark.parametrize(
        "uri",
        [
            "memslot://notes/none.md",
            "memslot://notes/",
            "memslot://notes/../secret.txt",
            "memslot://notes/%2e%2e/secret.txt",
            "memslot://notes/memory/secret.md",
            "memslot://notes/MEMORY.md%00",
            "memslot://other/MEMORY.md",
            "file:///etc/passwd",
            "",
        ],
    )
    def test_that_are_none_cannot_be_read(self, ask: Any, uri: str) -> None:
        with pytest.raises(MCPError) as caught:
            ask(lambda client: client.read_resource(uri))
        assert "outside" not in str(caught.value)

    def test_come_in_pages(self, ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(mcp_server, "PAGE", 3)

        async def work(client: Client) -> tuple[list[str], list[str]]:
            first = await client.list_resources()
            second = await client.list_resources(cursor=first.next_cursor)
            assert second.next_cursor is None
            return [note.name for note in first.resources], [note.name for note in second.resources]

        first, second = ask(work)
        assert (len(first), second) == (3, ["memory/2026-01-02.md"])

    @pytest.mark.parametrize("cursor", ["x", "-1", "9" * 30, "²"])
    def test_a_cursor_that_nobody_gave_is_an_error(self, ask: Any, cursor: str) -> None:
        with pytest.raises(MCPError, match="cursor"):
            ask(lambda client: client.list_resources(cursor=cursor))

    def test_are_none_where_the_memory_has_none(self, tmp_path: Path) -> None:
        async def work(client: Client) -> tuple[Any, Any]:
            return await client.list_resources(), await client.list_resource_templates()

        with HostOpener(tmp_path) as open_host:
            host = open_host(InlinePlugin(Odd()), config=NO_MEMORY)
            resources, templates = run_with_client(Hosts(lambda: host), "legacy", work)
        assert (resources.resources, templates.resource_templates) == ([], [])


class TestRecall:
    def test_is_a_prompt(self, ask: Any) -> None:
        async def work(client: Client) -> tuple[Any, Any]:
            listed = await client.list_prompts()
            return listed, await client.get_prompt("recall", {"query": "which database for the harbour API?"})

        listed, found = ask(work)
        assert [(prompt.name, prompt.arguments[0].required) for prompt in listed.prompts] == [("recall", True)]
        text = found.messages[0].content.text
        assert "PostgreSQL" in text
        assert text.endswith("which database for the harbour API?")

    def test_gives_the_same_each_time_and_not_the_notes_of_the_day(self, ask: Any) -> None:
        async def work(client: Client) -> list[str]:
            query = {"query": "zebra crossings in Lisbon"}
            return [(await client.get_prompt("recall", query)).messages[0].content.text for _ in range(2)]

        first, second = ask(work)
        assert first == second == "zebra crossings in Lisbon\n\n(Nothing relevant in memory.)"

    @pytest.mark.parametrize("arguments", [None, {}, {"query": "  "}, {"query": "x" * 10_001}])
    def test_without_a_query_is_an_error(self, ask: Any, arguments: dict[str, str] | None) -> None:
        with pytest.raises(MCPError, match="query"):
            ask(lambda client: client.get_prompt("recall", arguments))

    def test_other_prompts_are_not_there(self, ask: Any) -> None:
        with pytest.raises(MCPError, match="recall"):
            ask(lambda client: client.get_prompt("forget", {"query": "x"}))


class TestHosts:
    def test_a_call_under_way_keeps_its_host_open(self, tmp_path: Path) -> None:
        with HostOpener(tmp_path) as open_host:
            hosts = Hosts(lambda: open_host(InlinePlugin(Odd()), config=NO_MEMORY))
            with hosts.borrow() as old:
                hosts.reload()
                assert old.call_tool("echo", {"text": "x"}).text == "x"
                with hosts.borrow() as new:
                    assert new is not old
            with pytest.raises(MemslotError, match="closed"):
                old.call_tool("echo", {"text": "x"})

    def test_a_config_that_cannot_be_used_changes_nothing(self, tmp_path: Path) -> None:
        with HostOpener(tmp_path) as open_host:
            first = open_host(InlinePlugin(Odd()), config=NO_MEMORY)
            loads = iter([lambda: first, _refuse])
            hosts = Hosts(lambda: next(loads)())

            with pytest.raises(MemslotError, match="no"):
                hosts.reload()
            with hosts.borrow() as host:
                assert host is first
                assert host.call_tool("echo", {"text": "x"}).text == "x"

    @pytest.mark.parametrize("stderr", ["open", "closed"])
    @pytest.mark.parametrize("error", [MemslotError("no"), OSError("the disk is away"), KeyError("odd")], ids=repr)
    def test_whatever_a_new_config_does_clients_keep_their_server(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, stderr: str
    ) -> None:
        said: list[str] = []

        def say(message: str) -> None:
            said.append(message)
            if stderr == "closed":
                raise BrokenPipeError

        monkeypatch.setattr("memslot_mcp_server.server.stderr.say_warning", say)
        stamps = itertools.count()
        monkeypatch.setattr(mcp_server, "WATCH_SECONDS", 0.01)
        monkeypatch.setattr(mcp_server, "config_stamp", lambda: (("config", next(stamps), 0, 0),))
        tried = threading.Event()

        def fail() -> Host:
            tried.set()
            raise error

        async def work(client: Client) -> Any:
            await asyncio.to_thread(tried.wait, 10)
            await asyncio.sleep(0.05)
            return await client.call_tool("echo", {"text": "still here"})

        with HostOpener(tmp_path) as open_host:
            first = open_host(InlinePlugin(Odd()), config=NO_MEMORY)
            loads = itertools.chain([lambda: first], itertools.repeat(fail))
            answer = run_with_client(Hosts(lambda: next(loads)()), "legacy", work)

        assert answer.content[0].text == "still here"
        assert str(error.args[0]) in said[0]


def _refuse() -> Host:
    raise MemslotError("no")


class TestWorkers:
    def test_an_error_reaches_whoever_waits(self) -> None:
        async def main() -> None:
            await Workers().run(_fail, None)

        with pytest.raises(ValueError, match="it is broken"):
            asyncio.run(main())

    def test_what_nobody_waits_for_still_ends(self) -> None:
        done, go = threading.Event(), threading.Event()

        def work() -> None:
            go.wait(5)
            done.set()

        async def main() -> None:
            workers = Workers()
            task = asyncio.create_task(workers.run(work))
            await asyncio.sleep(0.05)
            task.cancel()
            go.set()
            workers.drain(5)

        asyncio.run(main())
        assert done.is_set()
