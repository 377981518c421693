"""The harness of benchmarks/stack.py works; what it measures is looked at by people."""

from __future__ import annotations

import gzip
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "stack.py"
TALKS = {
    "one": ["Ada: My orchid stands in the harbour office.", "Bob: The violin lesson is on Thursday at five."],
    "two": ["Cleo: The tractor needs a new fuel filter.", "Dan: I sold my sailing boat to a dentist in Graz."],
}


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    asked = {"one": ["Where is the orchid?", "When is the violin lesson?"], "two": ["What does the tractor need?"]}
    parts = [
        {
            "files": [{"path": f"{name}/first.md", "lines": ["# Talk", "", *lines]}],
            "questions": [
                {"id": f"{name}-{number}", "q": question, "gold": [[f"{name}/first.md", number + 3]]}
                for number, question in enumerate(asked[name])
            ],
        }
        for name, lines in TALKS.items()
    ]
    file = tmp_path / "talks.json.gz"
    with gzip.open(file, "wt", encoding="utf-8") as out:
        json.dump(parts, out)
    return file


def run(talks: Path, *options: str) -> tuple[str, dict[str, Any]]:
    file = talks.with_name("out.json")
    command = [sys.executable, str(BENCHMARK), "--conversations", str(talks), "--json", str(file), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))


def test_both_memories_are_measured_beside_each_alone(talks: Path) -> None:
    said, figures = run(talks)
    for slot in ("memory-core", "memory-lancedb", "stack"):
        assert figures[slot]["stack hit@6"]["both"]["value"] == 1.0
        assert figures[slot]["stack evidence"]["both"]["n"] == 3
        assert figures[slot]["twice"] == []
    assert "begin a run, memory-core and memory-lancedb  begin a run, memory-lancedb" in said
    assert said.count("tokens of the tools and the prompt section") == 3


def test_with_a_half_each_only_both_together_know_everything(talks: Path) -> None:
    _, figures = run(talks, "--halves")
    hits = {slot: figures[slot]["stack hit@6"]["both"]["value"] for slot in ("memory-core", "memory-lancedb", "stack")}
    assert hits == pytest.approx({"memory-core": 2 / 3, "memory-lancedb": 1 / 3, "stack": 1.0})


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The benchmark as a module; other benchmarks have modules of the same names."""
    monkeypatch.syspath_prepend(BENCHMARK.parent)
    before = set(sys.modules)
    yield importlib.import_module("stack")
    for name in set(sys.modules) - before:
        if str(BENCHMARK.parent) in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


def test_a_line_in_two_items_counts_as_said_twice(stack: Any) -> None:
    lines = {"Ada: My orchid stands in the harbour office."}
    assert stack.said_twice(["a.md: Ada: My orchid stands in the harbour office. Bob: Hm.", *lines], lines) == [*lines]
    assert stack.said_twice(["a.md: Ada: My orchid stands in the harbour office. Bob: Hm."], lines) == []
    assert not stack.is_telling("Bob: Thanks!")
