"""How much memory a search needs: a part of `memory.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from corpus import Language
from ratios import Ratio

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


def measure_memory(folder: Path, language: Language, size: int) -> Ratio:
    """The most memory that a process takes for some searches, beside one that only imports what they need."""
    here = Path(__file__).resolve().parent
    places = json.dumps([str(here), str(here.parent)])
    questions = json.dumps([language.question(4 + number % 5) for number in range(SEARCHES)])
    searching = (sys.executable, "-c", PEAK + SEARCHING, places, str(folder), questions)
    importing = (sys.executable, "-c", f"{PEAK}import apsw, numpy\nprint(peak())")
    ours, base = (int(_run(argv)) for argv in (searching, importing))
    return Ratio(f"memory, {size:,} chunks", LIBRARIES, 1, f"{ours / 1024:.0f} MB", ours / base)


def _run(argv: Sequence[str]) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSLOT_", "PYTHON"))}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(argv[1:])} failed:\n{done.stderr}")
    return done.stdout
