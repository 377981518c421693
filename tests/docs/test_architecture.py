"""The architecture page names what exists: others rename modules, and the page has to follow."""

from __future__ import annotations

import ast
import contextlib
import difflib
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
PACKAGES = [ROOT / "core" / "memslot", *sorted(ROOT.glob("plugins/*/memslot_*"))]
DOTTED = re.compile(r"`(memslot(?:_\w+)?(?:\.(?!json`)\w+)*)`")
CLASS = re.compile(r"`([A-Z][a-z]+(?:[A-Z][a-z]*)*)`")
TEXT = PAGE.read_text(encoding="utf-8")


def _lines(pattern: re.Pattern[str], text: str = TEXT) -> dict[str, int]:
    """Each name that the page mentions, and the line where it does first."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        for name in pattern.findall(line):
            found.setdefault(name, number)
    return found


@cache
def _modules() -> frozenset[str]:
    return frozenset(
        ".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
        for package in PACKAGES
        for file in package.rglob("*.py")
    )


@cache
def _classes() -> frozenset[str]:
    files = [file for package in PACKAGES for file in package.rglob("*.py")]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    return frozenset(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def _complaint(name: str, line: int) -> str | None:
    """What is wrong with a dotted name, and which module may be meant."""
    module = name.rpartition(".")[0]
    if name in _modules():
        return None
    if module in _modules():
        with contextlib.suppress(AttributeError):
            pkgutil.resolve_name(name)
            return None
    near = difflib.get_close_matches(name, _modules(), n=2, cutoff=0.5)
    return f"architecture.md:{line} names {name}, which no longer exists; near it: {', '.join(near) or 'nothing'}"


def test_every_module_and_name_in_the_page_exists() -> None:
    names = _lines(DOTTED)
    assert len(names) > 60
    assert [complaint for name, line in names.items() if (complaint := _complaint(name, line))] == []


def test_every_class_in_the_page_exists() -> None:
    names = _lines(CLASS)
    assert [f"architecture.md:{line} names {name}" for name, line in names.items() if name not in _classes()] == []


def test_a_name_that_is_gone_is_told_with_its_line_and_its_neighbour() -> None:
    for gone in ("memslot.retrieval.relevancy", "memslot.retrieval.relevance.STRONG_SCORE"):
        said = _complaint(gone, 7)
        assert said is not None
        assert said.startswith(f"architecture.md:7 names {gone}, which no longer exists; near it: ")
        assert "memslot.retrieval.relevance" in said


def test_at_least_twenty_changes_have_a_place() -> None:
    section = TEXT.split("## Where do I change it?", 1)[1].split("\n## ", 1)[0]
    assert len(re.findall(r"^\| (?!what |---)", section, re.MULTILINE)) >= 20


@pytest.mark.parametrize("walk", ["A search", "A changed file", "A run with recall and capture"])
def test_a_walk_is_a_list_of_modules_in_order(walk: str) -> None:
    section = TEXT.split(f"### {walk}\n", 1)[1].split("\n##", 1)[0]
    steps = re.findall(r"^(\d)\. .*(?:\n   .*)*", section, re.MULTILINE)
    assert [int(step) for step in steps] == list(range(1, len(steps) + 1))
    assert len(_lines(DOTTED, section)) >= 9
