"""Hooks that ask a running server, and what they do where there is none."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from memslot import AgentStart, Hosts, Workers, hookimpl
from memslot.testing import HostOpener, InlinePlugin
from memslot_mcp_server import hook_client
from memslot_mcp_server.server import hook_socket

from tests.plugins.mcp_server.conftest import World
from tests.plugins.mcp_server.talk import WAIT, talking


class TestHooksBesideAServer:
    """A coding agent's hooks ask the server that the agent has started."""

    def hook(self, world: World, event: str, payload: Any, seconds: int = 50) -> subprocess.CompletedProcess[bytes]:
        set_budget = f"hook_client.ANSWER_SECONDS = {seconds}"
        return subprocess.run(
            [
                sys.executable,
                "-c",
                f"from memslot_mcp_server import hook_client; {set_budget}; hook_client.main()",
                "claude-code",
                event,
            ],
            env=world.env,
            cwd=world.folder / "project",
            input=payload if isinstance(payload, bytes) else json.dumps(payload).encode(),
            capture_output=True,
            timeout=WAIT,
            check=True,
        )

    def test_are_answered_by_it(self, world: World) -> None:
        sockets = Path(hook_client.socket_folder() or "")
        left_by_others = set(sockets.glob("*"))  # of processes that were killed; their numbers come again
        conversation = world.folder / "conversation.jsonl"
        said = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "Remember the tea."}}
        conversation.write_text(json.dumps(said) + "\n", encoding="utf-8")
        with talking(world) as talk:
            talk.shake_hands()
            talk.ask(99, "ping")  # its socket is open now
            (world.home / "memslot.json5").write_text("{ broken", encoding="utf-8")  # nobody can load it anew now

            start = self.hook(world, "session-start", {"session_id": "a"})
            again = self.hook(world, "session-start", {"session_id": "a", "source": "compact"})
            prompt = self.hook(
                world, "prompt", {"session_id": "a", "prompt": "what did we decide for the harbour API?"}
            )
            stop = self.hook(world, "stop", {"session_id": "a", "transcript_path": str(conversation)})
            assert talk.close() == (0, b"")

        assert b"PostgreSQL" in start.stdout
        assert again.stdout == start.stdout
        found = json.loads(prompt.stdout)["hookSpecificOutput"]
        assert found["hookEventName"] == "UserPromptSubmit"
        assert "PostgreSQL" in found["additionalContext"]
        assert "From MEMORY.md" not in found["additionalContext"]
        assert (stop.stdout, stop.stderr) == (b"", b"")
        ended = [json.loads(line) for line in (world.home / "ended.jsonl").read_text(encoding="utf-8").splitlines()]
        assert {"role": "user", "content": "Remember the tea."} in [m for each in ended for m in each["messages"]]
        assert not set(sockets.glob(f"*.{talk.process.pid}")) - left_by_others

    def test_are_answered_without_it(self, world: World) -> None:
        """Also where a server was killed, and its socket is still there."""
        with talking(world) as talk:
            talk.shake_hands()
            talk.ask(99, "ping")  # its socket is open now
            (left,) = Path(hook_client.socket_folder() or "").glob(f"*.{talk.process.pid}")
            talk.process.kill()
            talk.process.wait(WAIT)

        found = self.hook(world, "session-start", {"session_id": "a"})

        assert b"PostgreSQL" in found.stdout
        assert not left.exists()

    def test_a_server_that_takes_too_long_is_waited_for_once(self, world: World) -> None:
        """To begin anew without it would take as long again, and end the turn twice."""
        odd = world.folder / "plugins" / "odd" / "__init__.py"
        odd.write_text(odd.read_text(encoding="utf-8") + SLOW, encoding="utf-8")
        with talking(world) as talk:
            talk.shake_hands()
            talk.ask(99, "ping")  # its socket is open now

            done = self.hook(world, "prompt", {"session_id": "a", "prompt": "which database?"}, seconds=1)

        assert (done.stdout, done.stderr) == (b"", b"memslot: gave up after 1 seconds\n")

    def test_a_socket_that_another_hook_has_removed_meanwhile_is_no_matter(self, tmp_path: Path) -> None:
        hook_client._remove(str(tmp_path / "gone"))

    def test_a_malformed_payload_holds_nobody_up(self, world: World) -> None:
        done = self.hook(world, "prompt", b"{")

        assert done.stdout == b""
        assert b"not JSON" in done.stderr

    def test_a_server_of_another_memory_says_nothing(self, tmp_path: Path) -> None:
        """Two memories may have sockets of the same name."""
        own, other = hook_client.MemoryAddress("/a", "", "/p"), hook_client.MemoryAddress("/b", "", "/p")

        async def main() -> list[bytes | None]:
            with HostOpener(tmp_path) as open_host:
                host = open_host(InlinePlugin(Chatty()), config={"plugins": {"slots": {"memory": "none"}}})
                answers = hook_socket._HookServer(Hosts(lambda: host), Workers(), own)
                payload = json.dumps({"session_id": "a", "prompt": "hello there"}).encode()
                requests = [
                    own.line() + b"\0codex prompt\0" + payload,
                    other.line() + b"\0codex prompt\0" + payload,
                    own.line() + b"\0codex format\0" + payload,
                    own.line() + b"\0emacs prompt\0" + payload,
                    own.line() + b"\0codex prompt\0{",
                    b"",
                ]
                return [await answers._answer(request) for request in requests]

        first, *rest = asyncio.run(main())
        assert first is not None
        assert b"words" in first
        assert rest == [None] * 5

    def test_a_hook_that_comes_before_the_server_listens_leaves_its_socket(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Agents start their servers and call the first hook at the same moment."""
        monkeypatch.setenv("MEMSLOT_HOME", str(tmp_path))
        address = hook_client.MemoryAddress.from_env("", os.environ)
        real_listen = socket.socket.listen
        early: list[bytes | None] = []

        def listen(listener: socket.socket, backlog: int) -> None:
            early.append(hook_client.ask(address, "codex prompt", b"{}"))
            real_listen(listener, backlog)

        monkeypatch.setattr(socket.socket, "listen", listen)

        async def main() -> tuple[bool, int]:
            with HostOpener(tmp_path) as open_host:
                host = open_host(InlinePlugin(Chatty()), config={"plugins": {"slots": {"memory": "none"}}})
                async with hook_socket.answering_hooks(Hosts(lambda: host), Workers(), "") as path:
                    assert path is not None
                    return path.is_socket(), stat.S_IMODE(path.stat().st_mode)

        assert asyncio.run(main()) == (True, 0o600)
        assert early == [None]
        assert list(Path(hook_client.socket_folder() or "").glob(f"*{address.prefix()}*")) == []

    def test_a_folder_that_others_can_write_is_not_trusted(self, tmp_path: Path) -> None:
        private, shared, link = tmp_path / "private", tmp_path / "shared", tmp_path / "link"
        private.mkdir(mode=0o700)
        shared.mkdir()
        shared.chmod(0o755)
        link.symlink_to(private)

        trusted = [hook_client.is_private(str(each)) for each in (private, shared, link, tmp_path / "none")]
        assert trusted == [True, False, False, False]


SLOW = """

@hookimpl
def before_agent_start(run):
    time.sleep(3 if run.prompt else 0)
"""


class Chatty:
    @hookimpl
    def before_agent_start(self) -> AgentStart:
        return AgentStart(prepend_context="words")
