"""The harness works, and every hook in it does its work; what it measures is looked at by people."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "hooks.py"


def test_every_hook_is_measured_alone_and_beside_a_server(tmp_path: Path) -> None:
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
    measured = {each["metric"] for each in ratios if each["against"] == "python -c pass"}
    events = ("session-start", "prompt", "stop")
    assert {f"hook {event}{place}" for event in events for place in ("", ", beside a server")} <= measured
    assert list(tmp_path.iterdir()) == [file]
