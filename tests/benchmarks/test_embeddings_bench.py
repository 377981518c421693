"""The harness works; what it measures is looked at by people, on a quiet machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "embeddings.py"


def test_a_short_run_reports_every_metric(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    command = [sys.executable, str(BENCHMARK), "--rounds", "2", "--texts", "400", "--json", str(file)]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text(encoding="utf-8"))
    assert [(each["metric"], each["against"]) for each in result["ratios"]] == [
        ("pipeline, 400 texts", "direct calls"),
        ("pipeline, empty cache, 400 texts", "direct calls"),
        ("pipeline, all in the cache, 400 texts", "direct calls"),
        ("one query", "one direct query"),
    ]
    assert all(len(seconds) == 2 and min(seconds) > 0 for seconds in result["seconds"].values())
    for each in result["ratios"]:
        assert each["metric"] in done.stdout
