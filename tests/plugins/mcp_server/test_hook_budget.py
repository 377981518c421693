"""Whatever a server or a plugin does, a prompt waits for its budget and no longer."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from memslot_mcp_server import hook_client

from tests.plugins.mcp_server.conftest import World

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs unix sockets")
WAIT = 60
GAVE_UP = b"memslot: gave up after 2 seconds\n"


def ask(world: World, seconds: int = 2) -> subprocess.CompletedProcess[bytes]:
    """A prompt's hook with this budget."""
    code = f"from memslot_mcp_server import hook_client; hook_client.ANSWER_SECONDS = {seconds}; hook_client.main()"
    return subprocess.run(
        [sys.executable, "-c", code, "claude-code", "prompt"],
        env=world.env,
        cwd=world.folder / "project",
        input=json.dumps({"session_id": "a", "prompt": "what did we decide for the harbour API?"}).encode(),
        capture_output=True,
        timeout=WAIT,
        check=True,
    )


@contextlib.contextmanager
def fake_server(world: World, name: str, behave: Callable[[socket.socket], None], backlog: int = 5) -> Iterator[None]:
    folder = Path(hook_client.socket_folder() or "")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    env = {**world.env, "CLAUDE_PROJECT_DIR": str(world.folder / "project")}
    path = folder / f"{hook_client.MemoryAddress.from_env('', env).prefix()}{os.getpid()}{name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen(backlog)
        threading.Thread(target=behave, args=(listener,), daemon=True).start()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def drip(listener: socket.socket) -> None:
    """Answer one byte at a time, for longer than anybody waits."""
    with contextlib.suppress(OSError):
        wire, _ = listener.accept()
        with wire:
            for byte in hook_client.ANSWER_HEADER + b" " * 10_000:
                wire.sendall(bytes([byte]))
                time.sleep(0.1)


def hang_up(listener: socket.socket) -> None:
    """Take the event and answer a part of it, as a server that is killed."""
    wire, _ = listener.accept()
    with wire:
        while wire.recv(65536):
            pass
        wire.sendall(hook_client.ANSWER_HEADER[:5])


def never_accept(listener: socket.socket) -> None:
    """Fill the backlog, so that whoever connects waits."""
    with contextlib.ExitStack() as held, contextlib.suppress(OSError):
        for _ in range(5):
            wire = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            wire.setblocking(False)
            wire.connect(listener.getsockname())
        held.pop_all()
    time.sleep(WAIT)


def test_a_server_that_answers_byte_by_byte_has_one_budget(world: World) -> None:
    with fake_server(world, "", drip):
        done = ask(world)
    assert (done.stdout, done.stderr) == (b"", GAVE_UP)


def test_a_server_that_is_killed_while_it_has_the_event_is_done_without(world: World) -> None:
    with fake_server(world, "", hang_up):
        done = ask(world, seconds=50)
    assert b"PostgreSQL" in done.stdout
    assert done.stderr == b""


def test_dead_servers_share_one_budget(world: World) -> None:
    with contextlib.ExitStack() as servers:
        for number in range(12):
            servers.enter_context(fake_server(world, f"-{number}", never_accept, backlog=0))
        time.sleep(0.2)
        done = ask(world)
    # Where the system refuses such connections at once, there is time left to answer without a server.
    assert (done.stdout, done.stderr) == (b"", GAVE_UP) or (b"additionalContext" in done.stdout and not done.stderr)


def test_a_plugin_that_hangs_while_it_is_loaded_is_given_up(world: World) -> None:
    odd = world.folder / "plugins" / "odd" / "__init__.py"
    odd.write_text(f"import time\ntime.sleep({WAIT})\n", encoding="utf-8")
    done = ask(world)
    assert (done.stdout, done.stderr) == (b"", GAVE_UP)


def test_an_agent_that_holds_stdin_open_is_given_up(world: World) -> None:
    code = "from memslot_mcp_server import hook_client; hook_client.ANSWER_SECONDS = 2; hook_client.main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "claude-code", "prompt"],
        env=world.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as hook:
        try:
            assert hook.stdin is not None
            hook.stdin.write(b'{"session_id": "a", ')
            hook.stdin.flush()
            code_of_it = hook.wait(WAIT)
            assert hook.stdout is not None
            assert hook.stderr is not None
            assert (code_of_it, hook.stdout.read(), hook.stderr.read()) == (0, b"", GAVE_UP)
        finally:
            hook.kill()
