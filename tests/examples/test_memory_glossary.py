"""The third-party memory of the examples, installed into a fresh environment and put beside memory-core."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.install, pytest.mark.timeout(900)]

EXAMPLE = Path(__file__).parents[2] / "examples" / "memory_glossary"


@pytest.fixture(scope="module")
def environment(fresh_environment):
    fresh_environment.install(EXAMPLE)
    return fresh_environment


@pytest.fixture
def home(environment, tmp_path: Path) -> dict[str, str]:
    """A home with notes and a glossary, and both in the slot."""
    env = {"MEMSLOT_HOME": str(tmp_path / "home")}
    environment.memslot("init", env=env)
    workspace = tmp_path / "home" / "workspace"
    (workspace / "GLOSSARY.md").write_text("HTX: the harbour tax export, which runs at 02:00\n", encoding="utf-8")
    (workspace / "MEMORY.md").write_text("Bob looks after HTX since May.\n", encoding="utf-8")
    environment.memslot("plugins", "enable", "memory-glossary", "--beside", env=env)
    return env


def test_it_is_searched_beside_the_notes(environment, home: dict[str, str]) -> None:
    found = json.loads(environment.memslot("search", "HTX", "--json", env=home).stdout)
    assert {each["memory"]: each["path"] for each in found["results"]} == {
        "memory-core": "MEMORY.md",
        "memory-glossary": "GLOSSARY.md",
    }


def test_both_stand_in_one_block_before_a_prompt(environment, home: dict[str, str]) -> None:
    context = json.loads(environment.memslot("run", "Who looks after HTX?", "--json", env=home).stdout)["context"]
    assert "GLOSSARY.md#L1-L1: HTX: the harbour tax export" in context
    assert "Bob looks after HTX since May." in context
    assert context.count("<relevant-memories>") == 1


def test_status_tells_what_it_can(environment, home: dict[str, str]) -> None:
    told = json.loads(environment.memslot("status", "--json", env=home).stdout)
    assert told["memories"][1]["id"] == "memory-glossary"
    assert told["memories"][1]["counts"] == {"terms": 1}
    assert told["memories"][1]["can"] == ["search"]


def test_its_own_tests_pass(environment) -> None:
    done = environment.run("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=EXAMPLE)
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


def test_it_is_valid(environment) -> None:
    for target in (EXAMPLE, "memory-glossary"):
        assert json.loads(environment.memslot("plugins", "validate", target, "--json").stdout)["ok"]


def test_it_is_small_and_uses_only_the_public_api() -> None:
    code = (EXAMPLE / "memory_glossary" / "__init__.py").read_text(encoding="utf-8").splitlines()
    imports = [line for line in code if line.startswith(("import memslot", "from memslot"))]
    assert imports
    assert all(line.startswith(("from memslot import ", "from memslot.retrieval import ")) for line in imports)
    assert len([line for line in code if line.strip()]) <= 65
