"""With `--write`, the table of agents in docs/agents.md is made from this run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.clients.programs import PROGRAMS

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"
PART = re.compile(r"(<!-- measured: agents -->\n).*?(<!-- end -->)", re.DOTALL)
NAMES = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "opencode",
    "qwen": "Qwen Code",
}
COLUMNS = {
    "connected": ("test_the_program_has_tools_and_hooks_and_then_its_old_settings",),
    "tools in the first request": ("test_the_first_request_has_the_tools",),
    "search and write": ("test_the_model_gets_what_it_searches_for", "test_what_the_model_writes_is_a_note"),
    "recall before a prompt": ("test_what_is_recalled_for_the_prompt_stands_in_the_request",),
    "capture after a reply": ("test_the_turn_is_captured_when_it_ends",),
    "capture before a compaction": ("test_what_was_said_is_captured_before_a_compaction",),
    "conversations imported": ("test_its_conversations_are_imported_once",),
}
"""The columns of the table, and the tests that stand behind each."""
_outcomes: dict[tuple[str, str], bool] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write", action="store_true", help="write the table in docs/agents.md from this run")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    test, _, parameter = report.nodeid.rpartition("::")[2].partition("[")
    key = (test, parameter.removesuffix("]"))
    if report.when == "call" or report.failed:
        _outcomes[key] = report.passed and _outcomes.get(key, True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    is_worker = hasattr(session.config, "workerinput")  # of xdist, which has seen only its own share
    if session.config.getoption("--write", default=False) and not is_worker:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(PART.sub(lambda part: f"{part[1]}{render()}{part[2]}", page), encoding="utf-8")


def render() -> str:
    """The table of what this run has shown."""
    lines = [f"| | version | {' | '.join(COLUMNS)} |", f"|{'---|' * (len(COLUMNS) + 2)}"]
    for program in PROGRAMS.values():
        cells = [_cell(tests, program.id) for tests in COLUMNS.values()]
        lines.append(f"| {NAMES[program.id]} | {program.version} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(tests: tuple[str, ...], program: str) -> str:
    found = [_outcomes.get((test, program)) for test in tests]
    if None in found:
        return "–"
    return "✓" if all(found) else "✗"
