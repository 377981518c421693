"""The measurement of the first turn says what it found, also where the tools are not there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.programs import SLOW

pytestmark = [pytest.mark.clients, pytest.mark.timeout(SLOW)]
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "clients.py"


@pytest.mark.parametrize(("option", "with_tools"), [((), 1), (("--plain",), 0)])
def test_it_counts_the_starts_that_have_the_tools(tmp_path: Path, option: tuple[str, ...], with_tools: int) -> None:
    """By itself, Claude Code defers MCP tools behind a search; Codex may or may not win the race."""
    numbers = tmp_path / "numbers.json"
    options = ("--agents", "claude-code", "--starts", "1", "--json", str(numbers), *option)

    subprocess.run([sys.executable, str(SCRIPT), *options], capture_output=True, timeout=250, check=True)

    [figure] = json.loads(numbers.read_text(encoding="utf-8"))
    assert (figure["agent"], figure["starts"], figure["with_tools"]) == ("claude-code", 1, with_tools)
