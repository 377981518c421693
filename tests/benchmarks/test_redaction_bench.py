"""The harness works; what it measures is looked at by people, on a quiet machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "redaction.py"


def test_one_round_reports_every_text(tmp_path: Path) -> None:
    file = tmp_path / "result.json"

    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--rounds", "1", "--json", str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    ratios = json.loads(file.read_text(encoding="utf-8"))["ratios"]
    assert [each["metric"] for each in ratios] == ["redact, pages", "redact, prose", "redact, `key:` repeated"]
    assert all(each["ratio"] > 0 for each in ratios)
