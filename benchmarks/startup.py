"""How long memslot takes to start, and what a hook call costs: ratios to something known, measured in one run.

    python benchmarks/startup.py             15 rounds
    python benchmarks/startup.py --quick     5 rounds
    python benchmarks/startup.py --json FILE write the numbers, too

Times are processor time of the process. Every round runs each command once, one after the other, so that a busy
moment of the machine meets all of them alike. A ratio is formed within each round, and the median of all rounds is
reported: on a machine whose load changes, that is steadier than the ratio of two medians.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crowd import write_plugins
from hook_call import measure_hook_call
from ratios import Ratio, median_ratio, publish

CROWD = 50
NOTES = 20
SCRIPT = "import sys\nfrom memslot.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
"""What pip writes as the command `memslot`."""


@dataclass(frozen=True)
class Command:
    """One thing to time; `cold` forgets the cache of its home before each round."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    home: Path | None = None
    cold: bool = False


PASS, CLICK, LIBRARIES = "python -c pass", "import click", "import click, numpy, apsw"
UNIVERSAL_SEARCH, KEYWORD_SEARCH, STATUS = "memory search, universal", "memory search, keywords", "memory status"
LOAD = "Host.load()"
COMPARED: Sequence[tuple[str, str, float | None]] = [
    (CLICK, PASS, None),
    ("memslot --help", LIBRARIES, 0.5),
    ("memslot --help", CLICK, 2.5),
    ("memslot --help (cold)", CLICK, None),
    ("plugins list", CLICK, 2.5),
    ("plugins list (cold)", CLICK, None),
    (f"plugins list, {CROWD} more plugins", PASS, None),
    (f"plugins list, {CROWD} more plugins", CLICK, 2.5),
    (f"plugins list, {CROWD} more plugins (cold)", CLICK, None),
    (UNIVERSAL_SEARCH, LIBRARIES, 3.0),
    (KEYWORD_SEARCH, LIBRARIES, 1.2),
    (STATUS, LIBRARIES, 2.0),
    (LOAD, LIBRARIES, 1.2),
    (f"{LOAD} (cold)", LIBRARIES, None),
]


def make_commands(folder: Path) -> list[Command]:
    """The commands, each with a home of its own, so that none warms the cache of another."""
    script = folder / "bin" / "memslot"
    script.parent.mkdir()
    script.write_text(SCRIPT, encoding="utf-8")
    crowd = folder / "crowd"
    write_plugins(crowd, CROWD)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSLOT_", "PYTHON"))}

    def python(name: str, code: str) -> Command:
        return Command(name, (sys.executable, "-c", code), clean)

    def both(name: str, argv: Sequence[str], **extra: str) -> list[Command]:
        made = []
        for suffix, cold in (("", False), (" (cold)", True)):
            home = Path(tempfile.mkdtemp(dir=folder))
            env = {**clean, **extra, "MEMSLOT_HOME": str(home)}
            made.append(Command(name + suffix, (sys.executable, *argv), env, home, cold))
        return made

    load = "from memslot import Host\nHost.load().close()"
    return [
        python(PASS, "pass"),
        python(CLICK, "import click"),
        python(LIBRARIES, LIBRARIES),
        *both("memslot --help", [str(script), "--help"]),
        *both("plugins list", [str(script), "plugins", "list"]),
        *both(f"plugins list, {CROWD} more plugins", [str(script), "plugins", "list"], PYTHONPATH=str(crowd)),
        *both(LOAD, ["-c", load]),
        *_memory_commands(folder, script, clean),
    ]


def _memory_commands(folder: Path, script: Path, clean: Mapping[str, str]) -> list[Command]:
    """Commands on an index of a few notes that is up to date."""
    found = {}
    for provider in ("universal", "none"):
        home = folder / f"home with {provider}"
        (home / "workspace" / "memory").mkdir(parents=True)
        for number in range(NOTES):
            text = f"# Harbour {number}\nWe decided that the harbour opens at {number} in spring.\n"
            (home / "workspace" / "memory" / f"{number}.md").write_text(text, encoding="utf-8")
        config = {"agents": {"defaults": {"memorySearch": {"provider": provider}}}}
        (home / "memslot.json5").write_text(json.dumps(config), encoding="utf-8")
        env = found[provider] = {**clean, "MEMSLOT_HOME": str(home)}
        subprocess.run([sys.executable, str(script), "memory", "index"], env=env, check=True, capture_output=True)
    search = (sys.executable, str(script), "memory", "search", "when does the harbour open", "--json")
    status = (sys.executable, str(script), "memory", "status")
    return [
        Command(UNIVERSAL_SEARCH, search, found["universal"]),
        Command(KEYWORD_SEARCH, search, found["none"]),
        Command(STATUS, status, found["universal"]),
    ]


def measure(commands: Sequence[Command], rounds: int, cwd: Path) -> dict[str, list[float]]:
    """Seconds of every command in every round; a round before the first warms caches and is not counted."""
    taken: dict[str, list[float]] = {command.name: [] for command in commands}
    for number in range(rounds + 1):
        for command in commands:
            if command.cold and command.home is not None:
                shutil.rmtree(command.home / "cache", ignore_errors=True)
            start = _children_seconds()
            done = subprocess.run(command.argv, env=command.env, cwd=cwd, capture_output=True, text=True, check=False)
            seconds = _children_seconds() - start
            if done.returncode != 0:
                raise SystemExit(f"{command.name} failed:\n{done.stderr}")
            if number == 0:
                _check_output(command, done.stdout)
            else:
                taken[command.name].append(seconds)
    return taken


def _children_seconds() -> float:
    """Processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _check_output(command: Command, output: str) -> None:
    """A command that is quick because it does not do its work would be no measurement."""
    if "more plugins" in command.name and output.count("crowd-") < CROWD:
        raise SystemExit(f"{command.name} did not list the {CROWD} plugins:\n{output}")
    if "search" in command.name and "harbour opens" not in output:
        raise SystemExit(f"{command.name} found nothing:\n{output}")
    if command.home is not None and not (command.home / "cache").is_dir():
        raise SystemExit(f"{command.name} left no cache in its home")


def report(taken: Mapping[str, Sequence[float]]) -> list[Ratio]:
    return [
        Ratio(
            name,
            base,
            len(taken[name]),
            f"{statistics.median(taken[name]) * 1000:.0f} ms",
            median_ratio(taken[name], taken[base]),
            goal,
        )
        for name, base, goal in COMPARED
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure start-up and hook calls, as ratios.")
    parser.add_argument("--quick", action="store_true", help="5 rounds instead of 15")
    parser.add_argument("--rounds", type=int, help="another number of rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE")
    options = parser.parse_args()
    rounds: int = options.rounds or (5 if options.quick else 15)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cwd = folder / "elsewhere"
        cwd.mkdir()
        taken = measure(make_commands(folder), rounds, cwd)
    ratios = report(taken)
    hook = measure_hook_call(rounds)
    median = f"{statistics.median(hook.hooks) * 1e6:.0f} µs"
    ratio = median_ratio(hook.hooks, hook.threads)
    ratios.append(Ratio("one no-op hook call", "thread start + join", rounds, median, ratio))
    publish(ratios, taken, rounds=rounds, file=options.json, remark="; processor time")


if __name__ == "__main__":
    main()
