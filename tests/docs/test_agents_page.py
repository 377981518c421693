"""The page about coding agents says what was measured, with the versions that the tests run."""

from __future__ import annotations

import re
from pathlib import Path

from tests.clients.programs import PROGRAMS

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"


def test_its_table_has_the_versions_that_are_tested() -> None:
    part = re.search(r"<!-- measured: agents -->\n(.*?)<!-- end -->", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert part is not None
    rows = [line for line in part[1].splitlines() if line.startswith("| ") and "version" not in line]

    assert [row.split(" | ")[1] for row in rows] == [program.version for program in PROGRAMS.values()]
