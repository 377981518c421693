"""The harness works; what it measures is looked at by people, on a quiet machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "memory_lancedb.py"


def test_one_round_reports_every_metric(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--sizes", "2000", "--rounds", "1", "--json", str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text(encoding="utf-8"))
    assert {(each["metric"], each["against"], each["goal"]) for each in result["ratios"]} == {
        ("store, 2k memories", "bare search and add, 2k", 1.3),
        ("recall, 2k memories", "bare search, 2k", 2.0),
        ("recall, 2k memories", "numpy, every vector, 2k", None),
        ("recall by index, 2k memories", "recall, 2k memories", None),
        ("recall by index, 2k memories", "numpy, every vector, 2k", None),
        ("auto-recall adds to a run", "embedding and bare search by hand", None),
    }
