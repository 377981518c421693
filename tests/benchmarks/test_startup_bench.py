"""The harness works; what it measures is looked at by people, on a quiet machine."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "startup.py"


def _run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARK), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_quick_run_reports_every_metric(tmp_path: Path) -> None:
    file = tmp_path / "result.json"

    done = _run("--quick", "--json", str(file), cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text(encoding="utf-8"))
    assert result["rounds"] == 5
    assert result["machine"].keys() == {"cores", "python", "system"}
    metrics = {(each["metric"], each["against"]) for each in result["ratios"]}
    assert {
        ("memslot --help", "import click"),
        ("memslot --help (cold)", "import click"),
        ("plugins list", "import click"),
        ("plugins list, 50 more plugins", "python -c pass"),
        ("plugins list, 50 more plugins", "import click"),
        ("plugins list, 50 more plugins (cold)", "import click"),
        ("memslot --help", "import click, numpy, apsw"),
        ("memory search, universal", "import click, numpy, apsw"),
        ("memory search, keywords", "import click, numpy, apsw"),
        ("memory status", "import click, numpy, apsw"),
        ("Host.load()", "import click, numpy, apsw"),
        ("one no-op hook call", "thread start + join"),
    } <= metrics
    assert all(len(seconds) == 5 and min(seconds) > 0 for seconds in result["seconds"].values())
    for each in result["ratios"]:
        assert each["ratio"] > 0
        assert each["metric"] in done.stdout
    assert list(tmp_path.iterdir()) == [file]


def test_writes_no_file_unless_asked(tmp_path: Path) -> None:
    assert _run("--rounds", "1", cwd=tmp_path).returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def startup(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.syspath_prepend(str(BENCHMARK.parent))
    return importlib.import_module("startup")


@pytest.fixture
def ratios(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.syspath_prepend(str(BENCHMARK.parent))
    return importlib.import_module("ratios")


def test_a_missed_goal_is_said(ratios: object, capsys: pytest.CaptureFixture[str]) -> None:
    ratio = ratios.Ratio  # type: ignore[attr-defined]
    rows = [ratio("a", "b", 5, "1 ms", 2.6, 2.5), ratio("c", "b", 5, "1 ms", 2.5, 2.5), ratio("d", "b", 5, "1 ms", 9.0)]

    assert [row.verdict for row in rows] == ["MISSED", "met", "-"]
    ratios.print_table(rows)  # type: ignore[attr-defined]
    assert "2.60   <= 2.5  MISSED" in capsys.readouterr().out


def test_a_command_that_fails_stops_the_run(startup: object, tmp_path: Path) -> None:
    broken = startup.Command("broken", (sys.executable, "-c", "raise SystemExit('no')"), {})  # type: ignore[attr-defined]

    with pytest.raises(SystemExit, match="broken failed"):
        startup.measure([broken], 1, tmp_path)  # type: ignore[attr-defined]


def test_a_ratio_is_formed_within_each_round(ratios: object) -> None:
    """The machine was three times slower in the second round, which must not matter."""
    assert ratios.median_ratio([2.0, 6.0, 2.0], [1.0, 3.0, 1.0]) == 2.0  # type: ignore[attr-defined]
