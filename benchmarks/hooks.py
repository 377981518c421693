"""What a coding agent's hooks cost a person who waits for the prompt: ratios to `python -c pass`, measured in one run.

    python benchmarks/hooks.py             11 rounds
    python benchmarks/hooks.py --quick     3 rounds
    python benchmarks/hooks.py --json FILE write the numbers, too

Each round runs every hook once as Claude Code would, one after the other, on a home with 200 notes that are indexed:
alone, and beside a server (`memslot mcp`) that has everything loaded, as it is where the agent has memslot as an MCP
server.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ratios import Ratio, median_ratio, publish

NOTES = 200
PASS, CLICK, MODELS = "python -c pass", "import click", "import pluggy, pydantic"
GOAL = 8.0
"""Nobody notices a tenth of a second before a model's answer."""
HOOK_CLIENT = "from memslot_mcp_server.hook_client import main; main()"
"""What pip writes as the command `memslot-hook`."""
SUBJECTS = ("harbour", "orchid", "billing", "compiler", "kitchen", "train", "database", "garden")


@dataclass(frozen=True)
class Command:
    """One thing to time: what it is given on stdin, and a word that its answer must hold."""

    name: str
    argv: tuple[str, ...]
    stdin: bytes = b""
    expects: str = ""


def make_home(folder: Path) -> tuple[dict[str, str], Path]:
    """A home with notes and an index; gives the environment, and a conversation's transcript."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSLOT_", "PYTHON"))}
    env["MEMSLOT_HOME"] = str(folder / "home")
    notes = folder / "home" / "workspace" / "memory"
    notes.mkdir(parents=True)
    (notes.parent / "MEMORY.md").write_text("# About\nTea, never coffee.\n", encoding="utf-8")
    for number in range(NOTES):
        subject = SUBJECTS[number % len(SUBJECTS)]
        text = f"# {subject} {number}\n" + f"We decided that the {subject} gets number {number} in spring.\n" * 10
        (notes / f"note-{number:03d}.md").write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "memslot", "memory", "index"], env=env, check=True, capture_output=True)
    transcript = folder / "conversation.jsonl"
    said = [("user", "Remember that the harbour opens at six."), ("assistant", "Noted.")] * 50
    lines = [json.dumps({"type": role, "message": {"role": role, "content": text}}) for role, text in said]
    transcript.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return env, transcript


def make_commands(transcript: Path) -> list[Command]:
    def python(name: str, code: str) -> Command:
        return Command(name, (sys.executable, "-c", code))

    def hook(event: str, expects: str, **payload: str) -> list[Command]:
        told = json.dumps({"session_id": "bench", "transcript_path": str(transcript), "cwd": "/", **payload}).encode()
        alone = (sys.executable, "-m", "memslot", "hook", "claude-code", event)
        beside = (sys.executable, "-c", HOOK_CLIENT, "claude-code", event)
        return [
            Command(f"hook {event}", alone, told, expects),
            Command(f"hook {event}, beside a server", beside, told, expects),
        ]

    return [
        python(PASS, "pass"),
        python(CLICK, "import click"),
        python(MODELS, "import pluggy, pydantic; pydantic.BaseModel"),
        *hook("session-start", "never coffee", source="startup"),
        *hook("prompt", "harbour", prompt="What did we decide about the harbour?"),
        *hook("stop", ""),
    ]


@contextlib.contextmanager
def serving(env: Mapping[str, str], cwd: Path) -> Iterator[None]:
    """A server that a client has started, and that has answered once."""
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    argv = [sys.executable, "-m", "memslot", "mcp"]
    with subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(ping)
        server.stdin.flush()
        if b"result" not in server.stdout.readline():
            raise SystemExit("the server does not answer")
        yield
        server.stdin.close()


def measure(commands: Sequence[Command], rounds: int, env: Mapping[str, str], cwd: Path) -> dict[str, list[float]]:
    """Seconds of every command in every round; a round before the first warms caches and is not counted."""
    taken: dict[str, list[float]] = {command.name: [] for command in commands}
    for number in range(rounds + 1):
        for command in commands:
            start = time.perf_counter()
            done = subprocess.run(command.argv, env=env, cwd=cwd, input=command.stdin, capture_output=True, check=False)
            seconds = time.perf_counter() - start
            if done.returncode != 0 or command.expects.encode() not in done.stdout:
                raise SystemExit(f"{command.name} did not do its work:\n{done.stdout.decode()}{done.stderr.decode()}")
            if number:
                taken[command.name].append(seconds)
    return taken


def report(taken: Mapping[str, Sequence[float]]) -> list[Ratio]:
    ratios = []
    for name, seconds in taken.items():
        for base in (PASS, MODELS) if name.startswith("hook") else (PASS,):
            if name != base:
                median = f"{statistics.median(seconds) * 1000:.0f} ms"
                goal = GOAL if name.endswith("beside a server") and base == PASS else None
                ratios.append(Ratio(name, base, len(seconds), median, median_ratio(seconds, taken[base]), goal))
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what hooks of coding agents cost, as ratios.")
    parser.add_argument("--quick", action="store_true", help="3 rounds instead of 11")
    parser.add_argument("--rounds", type=int, help="another number of rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    options = parser.parse_args()
    rounds: int = options.rounds or (3 if options.quick else 11)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env, transcript = make_home(folder)
        with serving(env, folder):
            taken = measure(make_commands(transcript), rounds, env, folder)
    publish(report(taken), taken, rounds=rounds, file=options.json, remark=f"; {NOTES} notes")


if __name__ == "__main__":
    main()
