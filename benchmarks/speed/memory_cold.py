"""The third part of `memory.py`: what a new process takes to answer, and how much memory a search needs."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus import Language, write_notes
from ratios import Ratio, median_ratio

APSW = 'python -c "import apsw"'
KEYWORDS, STATIC = "cold search by keywords", "cold search, static embedder"
GOAL = 4.0
NOTES, CHUNKS_EACH = 100, 3
MEMSLOT = "import sys; from memslot.cli import main; sys.argv[0] = 'memslot'; main()"
LIBRARIES = "import apsw and numpy"
SEARCHES = 20
PEAK = """
def peak():
    try:
        from pathlib import Path
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except OSError:
        import resource, sys
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
"""
SEARCHING = """
import json, sys
from pathlib import Path
sys.path[:0] = json.loads(sys.argv[1])
from corpus import Vectors
from memory_search import open_memory
memory = open_memory(Path(sys.argv[2]), Vectors())
for question in json.loads(sys.argv[3]):
    assert memory.search(question, min_score=0.0).hits
print(peak())
"""


@dataclass(frozen=True)
class Command:
    """A process to start, and how it must be started."""

    argv: Sequence[str]
    env: Mapping[str, str]


def measure_cold(folder: Path, language: Language, rounds: int, taken: dict[str, list[float]]) -> list[Ratio]:
    """`memslot memory search --json` in a new process, with an index of a few hundred chunks that is up to date.

    The first, which is not counted, goes the usual way and leaves a record; the others come in by the quick door.
    """
    question = language.question(6)
    commands = {APSW: Command((sys.executable, "-c", "import apsw"), _environment())}
    for name, provider in ((KEYWORDS, "none"), (STATIC, "static")):
        home = folder / f"home with {provider}"
        (home / "workspace").mkdir(parents=True)
        write_notes(language, home / "workspace", NOTES, CHUNKS_EACH)
        (home / "memslot.json5").write_text(_config(provider), encoding="utf-8")
        env = _environment(MEMSLOT_HOME=str(home))
        _run(Command((sys.executable, "-c", MEMSLOT, "memory", "index"), env))
        argv = (sys.executable, "-c", MEMSLOT, "memory", "search", question, "--json", "--min-score", "0")
        commands[name] = Command(argv, env)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            start = _children_seconds()
            output = _run(command)
            if number:
                times[name].append(_children_seconds() - start)
            elif name != APSW and '"path"' not in output:
                raise SystemExit(f"{name} found nothing:\n{output}")
    taken.update(times)
    return [
        Ratio(
            name,
            APSW,
            rounds,
            f"{statistics.median(times[name]) * 1000:.0f} ms",
            median_ratio(times[name], times[APSW]),
            GOAL,
        )
        for name in (KEYWORDS, STATIC)
    ]


def measure_memory(folder: Path, language: Language, size: int) -> Ratio:
    """The most memory that a process takes for some searches, beside one that only imports what they need."""
    here = Path(__file__).resolve().parent
    places = json.dumps([str(here), str(here.parent)])
    questions = json.dumps([language.question(4 + number % 5) for number in range(SEARCHES)])
    searching = (sys.executable, "-c", PEAK + SEARCHING, places, str(folder), questions)
    importing = (sys.executable, "-c", f"{PEAK}import apsw, numpy\nprint(peak())")
    ours, base = (int(_run(Command(argv, _environment()))) for argv in (searching, importing))
    return Ratio(f"memory, {size:,} chunks", LIBRARIES, 1, f"{ours / 1024:.0f} MB", ours / base)


def _config(provider: str) -> str:
    return json.dumps({"agents": {"defaults": {"memorySearch": {"provider": provider}}}})


def _environment(**more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSLOT_", "PYTHON"))}
    return {**clean, **more}


def _children_seconds() -> float:
    """Processor time of the processes that have ended; `os.times` counts in hundredths of a second, which is coarse."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(command: Command) -> str:
    done = subprocess.run(command.argv, env=command.env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command.argv[1:])} failed:\n{done.stderr}")
    return done.stdout
