"""In how many fresh starts of a coding agent the first request to its model holds memslot's tools.

    python benchmarks/clients.py                      20 starts of each agent, as the machine is
    python benchmarks/clients.py --busy               the same beside two spinning processes for each core
    python benchmarks/clients.py --agents codex qwen  some of them
    python benchmarks/clients.py --plain              without the setting that makes the agent wait, to see what it does
    python benchmarks/clients.py --json FILE          write the numbers, too

The agents are the real programs from npm, at the versions in tests/clients/programs.py, connected by `memslot connect`
and pointed at a scripted model on loopback. Every start is a new process in the same home.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("MEMSLOT_SHARED_CACHE", str(ROOT / ".build" / "cache"))

from tests.clients.agents import AGENTS, Agent, make_agent, make_world  # noqa: E402
from tests.clients.model_server import ModelServer  # noqa: E402

PROMPT = "Which database has the harbour API?"
WAITS = {
    "claude-code": (".claude.json", '"alwaysLoad": true', '"alwaysLoad": false'),
    "codex": (".codex/config.toml", "required = true", "required = false"),
    "qwen": (".qwen/settings.json", '"alwaysLoadTools": true', '"alwaysLoadTools": false'),
}
"""The setting with which `memslot connect` makes an agent offer the tools at once, and its opposite."""


@dataclass(frozen=True)
class Figure:
    """What was measured of one agent."""

    agent: str
    version: str
    starts: int
    with_tools: int
    with_recall: int
    """In how many what was recalled for the prompt stands in the first request."""
    busy: bool
    plain: bool
    load: float
    """The load average while it was measured: other work on the machine counts, too."""


def measure(name: str, starts: int, *, busy: bool, plain: bool) -> Figure:
    """Start an agent again and again."""
    with tempfile.TemporaryDirectory() as folder, ModelServer() as model:
        agent = make_agent(name, make_world(Path(folder)), model)
        if plain:
            _do_not_wait(agent)
        loads = []
        with_tools = with_recall = 0
        for _ in range(starts):
            model.requests.clear()
            with contextlib.suppress(subprocess.TimeoutExpired):
                agent.ask(PROMPT)
            loads.append(os.getloadavg()[0])
            if model.requests:
                with_tools += model.requests[0].find_tool("memory_search") is not None
                with_recall += "We decided on PostgreSQL" in model.requests[0].text
        load = round(sum(loads) / len(loads), 1)
        return Figure(name, agent.program.version, starts, with_tools, with_recall, busy, plain, load)


def _do_not_wait(agent: Agent) -> None:
    name, old, new = WAITS[agent.program.id]
    file = agent.world.folder / name
    text = file.read_text(encoding="utf-8")
    if old not in text:
        raise SystemExit(f"{file} has no {old}")
    file.write_text(text.replace(old, new), encoding="utf-8")


@contextlib.contextmanager
def load(is_wanted: bool) -> Iterator[None]:
    """Two spinning processes for each core, while the block lasts."""
    count = 2 * (os.cpu_count() or 1) if is_wanted else 0
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure whether an agent's first request holds memslot's tools.")
    parser.add_argument("--agents", nargs="+", choices=list(AGENTS), default=None)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--busy", action="store_true", help="beside two spinning processes for each core")
    parser.add_argument("--plain", action="store_true", help="without the setting that makes the agent wait")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    names = options.agents or [name for name in AGENTS if not options.plain or name in WAITS]
    figures: list[Figure] = []
    print("| agent | version | starts | tools in the first request | recalled, too | load |")
    print("|---|---|---|---|---|---|")
    with load(options.busy):
        for name in names:
            figure = measure(name, options.starts, busy=options.busy, plain=options.plain)
            figures.append(figure)
            cells = (figure.agent, figure.version, figure.starts, figure.with_tools, figure.with_recall, figure.load)
            print(f"| {' | '.join(map(str, cells))} |", flush=True)
            if options.json:
                options.json.write_text(json.dumps([asdict(each) for each in figures], indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
