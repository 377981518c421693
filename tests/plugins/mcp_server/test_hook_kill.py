"""A thousand hooks beside a server that is killed again and again: each is answered, and nothing is left behind."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from memslot_mcp_server import hook_client

from tests.plugins.mcp_server.conftest import World
from tests.plugins.mcp_server.talk import talking

CALLS = 1_000
MOST_SECONDS = hook_client.ANSWER_SECONDS + 22
"""For one hook, with the time in which a busy machine starts Python."""
PROMPT = json.dumps({"session_id": "a", "prompt": "what did we decide for the harbour API?"}).encode()


def ask(world: World, client: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "memslot_mcp_server.hook_client", client, "prompt"],
        env=world.env,
        cwd=world.folder / "project",
        input=PROMPT,
        capture_output=True,
        timeout=MOST_SECONDS,
        check=False,
    )


def keep_killing(world: World, over: threading.Event) -> int:
    """Start servers and kill each at a random moment; returns how many there were."""
    chance, killed = random.Random(7), 0
    while not over.is_set():
        with talking(world) as talk:
            if chance.random() < 0.7:  # the others are killed while they start
                talk.shake_hands()
                talk.ask(1, "ping")
            over.wait(chance.random())
        killed += 1
    return killed


def processes_of(world: World) -> list[str]:
    """Commands of all processes that work for this home."""
    mark = f"MEMSLOT_HOME={world.home}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:  # it has ended
            continue
    return found


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_hooks_are_answered_while_servers_are_killed(world: World) -> None:
    over = threading.Event()
    with ThreadPoolExecutor(1) as killer, ThreadPoolExecutor(os.cpu_count()) as pool:
        killed = killer.submit(keep_killing, world, over)
        try:
            clients = [hook_client.CLIENTS[each % len(hook_client.CLIENTS)] for each in range(CALLS)]
            done = list(pool.map(lambda client: ask(world, client), clients))
        finally:
            over.set()

    assert killed.result() > 10
    assert {each.returncode for each in done} == {0}
    assert [each.stderr for each in done if b"Traceback" in each.stderr] == []
    # Where other work on the machine makes a hook spend its budget, it says so and lets the prompt pass.
    in_time = [each for each in done if b"gave up" not in each.stderr]
    assert len(in_time) > CALLS / 2
    answers = [json.loads(each.stdout)["hookSpecificOutput"]["additionalContext"] for each in in_time]
    assert [answer for answer in answers if "PostgreSQL" not in answer] == []
    assert processes_of(world) == []
    own = hook_client.MemoryAddress.from_env("", {**world.env, "CLAUDE_PROJECT_DIR": str(world.folder / "project")})
    ask(world, "codex")  # it removes what the last server left
    assert list(Path(hook_client.socket_folder() or "").glob(f"{own.prefix()}*")) == []
