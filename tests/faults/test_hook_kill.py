"""kill -9 after a Stop hook's answer: every acknowledged memory is kept, once; and no hook leaves a process behind.

This file is also the program that is killed: run as a script it forks a server for each line it is sent, so that
loading LanceDB is paid once and not in each round.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from memslot import Host

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
LONGEST_LIFE = 1.0
LONGEST_CAPTURE = 10.0
"""On a busy machine; a run whose process ends fifty times during its capture is given up."""
PLUGINS = "memory-lancedb,embed-universal"
CONFIG: dict[str, Any] = {
    "plugins": {
        "slots": {"memory": "memory-lancedb"},
        "entries": {"memory-lancedb": {"config": {"autoCapture": True}}},
    }
}
NOUNS = ["harbour", "orchid", "violin", "glacier", "compass", "lantern", "saddle", "walnut", "mosaic", "anchor"]


def load(home: Path) -> Host:
    return Host.load(CONFIG, home=home, env={"MEMSLOT_LOAD_PLUGINS": PLUGINS})


def fact(number: int) -> str:
    """Facts that no embedder takes for each other."""
    dice = random.Random(number)
    return (
        f"Remember that my {dice.choice(NOUNS)} code {dice.getrandbits(64):x} belongs to {dice.choice(NOUNS)} {number}."
    )


# The program that is killed


def forge() -> None:
    import lancedb  # noqa: F401
    import pyarrow  # type: ignore[import-untyped]  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                serve(Path(order["home"]), order["number"], write)
            os._exit(1)
        os.close(write)
        answer = os.read(read, 1)  # the hook's answer; from here on nothing may be lost
        os.close(read)
        print(pid, len(answer), flush=True)


def serve(home: Path, number: int, answer: int) -> None:
    """What a server does for a Stop hook: read the transcript, finish the run, answer, go on."""
    from memslot_mcp_server.hooks.events import after_reply
    from memslot_mcp_server.hooks.payload import Payload

    transcript = home / f"{number}.jsonl"
    said = {"type": "user", "uuid": f"line-{number}", "message": {"role": "user", "content": fact(number)}}
    transcript.write_text(json.dumps(said) + "\n", encoding="utf-8")
    host = load(home)
    after_reply(host, Payload(session_id=f"claude-code-{number % 7}", transcript=transcript))
    os.write(answer, b"x")
    time.sleep(60)


# The one who kills and looks


@pytest.fixture(scope="module")
def forger() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    yield process
    process.kill()
    process.wait()


def take_up_all(home: Path) -> None:
    """Start hosts until nothing is left to take up; on a busy machine one has no time for all."""
    import lancedb  # noqa: F401  part of the first capture's time limit otherwise

    for _ in range(10):
        host = load(home)
        host.close()
        if not list(home.glob("agents/main/spool/*/*")):
            return
    pytest.fail(f"not taken up: {list(map(str, host.diagnostics))}")


@pytest.mark.parametrize("rounds", [20, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_a_memory_acknowledged_to_a_hook_survives_any_kill_and_is_there_once(
    forger: subprocess.Popen[str], tmp_path: Path, rounds: int
) -> None:
    dice = random.Random(rounds)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    interrupted, usual = 0, 0.3
    assert forger.stdin is not None
    assert forger.stdout is not None
    for number in range(rounds):
        print(json.dumps({"home": str(home), "number": number}), file=forger.stdin, flush=True)
        pid, answered = map(int, forger.stdout.readline().split())
        assert answered, f"round {number} was not answered"
        time.sleep(dice.random() * usual)
        os.kill(pid, signal.SIGKILL)
        is_interrupted = any(home.glob("agents/main/spool/*/*/*.json"))
        interrupted += is_interrupted
        # However fast the machine is: about as many are killed while they capture as after it.
        usual = min(LONGEST_CAPTURE, usual * 1.1) if is_interrupted else usual * 0.9
    assert interrupted, "no server was killed while it captured"
    take_up_all(home)
    with load(home) as host:
        table = host.memory.store.live()  # type: ignore[union-attr]
        texts = [memory.text for memory in table.read()]
    assert sorted(texts) == sorted(fact(number) for number in range(rounds))


@pytest.mark.parametrize("calls", [12, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_killed_hook_calls_leave_no_process_behind(tmp_path: Path, calls: int) -> None:
    """Each call has its own process group; once its hook is killed, nobody is in it."""
    dice = random.Random(calls)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    config = {**CONFIG, "agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
    (home / "memslot.json5").write_text(json.dumps(config), encoding="utf-8")
    transcript = tmp_path / "t.jsonl"
    said = {"type": "user", "uuid": "line-1", "message": {"role": "user", "content": fact(0)}}
    transcript.write_text(json.dumps(said) + "\n", encoding="utf-8")
    payload = {"session_id": "a", "prompt": "which code?", "transcript_path": str(transcript)}
    env = {**os.environ, "MEMSLOT_HOME": str(home), "MEMSLOT_LOAD_PLUGINS": f"{PLUGINS},mcp-server"}

    def call_and_kill(event: str, seconds: float) -> None:
        hook = subprocess.Popen(
            [sys.executable, "-m", "memslot_mcp_server.hook_client", "claude-code", event],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert hook.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            hook.stdin.write(json.dumps(payload).encode())
            hook.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            hook.wait(seconds)
        hook.kill()
        hook.wait()
        with pytest.raises(ProcessLookupError):
            os.killpg(hook.pid, 0)

    events = dice.choices(["prompt", "stop"], k=calls)
    lives = [dice.random() * 2 * LONGEST_LIFE for _ in range(calls)]
    with ThreadPoolExecutor(4) as crew:
        list(crew.map(call_and_kill, events, lives))


if __name__ == "__main__":
    forge()
