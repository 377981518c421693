"""The harness works, and nothing is slower by an order of magnitude; the rest is looked at on a quiet machine."""

from __future__ import annotations

import importlib
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SPEED = Path(__file__).resolve().parents[2] / "benchmarks" / "speed"


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """What a quick run wrote and printed."""
    folder = tmp_path_factory.mktemp("bench")
    command = [sys.executable, str(SPEED / "memory.py"), "--quick", "--json", "result.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [file.name for file in folder.iterdir()] == ["result.json"]
    return json.loads((folder / "result.json").read_text(encoding="utf-8")), done.stdout


@pytest.fixture
def corpus(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SPEED))
    return importlib.import_module("corpus")


def test_a_quick_run_reports_every_metric(quick: tuple[dict[str, Any], str]) -> None:
    result, printed = quick
    told = {(each["metric"].split(",")[0], each["against"]) for each in result["ratios"]}
    assert told == {
        ("build without embedding", "inserts into FTS5"),
        ("build without embedding", "inserts into contentless FTS5"),
        ("build", "inserts into FTS5"),
        ("hybrid search", "reference's SQL"),
        ("hybrid search", "bare FTS5 + numpy"),
        ("keyword search", "bare FTS5"),
        ("disk", "reference's file"),
        ("memory", "import apsw and numpy"),
        ("no-change sync", "stat walk"),
        ("no-change sync", "stat walk, os.path.join"),
        ("one changed file", "in 100"),
    }
    assert all(each["metric"] in printed for each in result["ratios"])
    assert "1,000 chunks: vectors are searched by" in printed
    assert all(min(seconds) > 0 for seconds in result["seconds"].values())


def test_nothing_is_slower_by_an_order_of_magnitude(quick: tuple[dict[str, Any], str]) -> None:
    """Wide margins: other work may have the machine. A lost index, a scan, or a look at every file is beyond them."""
    highest = {
        "build without embedding": 12.0,
        "hybrid search": 60.0,
        "keyword search": 40.0,
        "disk": 0.5,
        "no-change sync": 20.0,
    }
    for each in quick[0]["ratios"]:
        metric = each["metric"].split(",")[0]
        assert each["ratio"] < highest.get(metric, 200.0), each


def test_the_words_of_the_corpus_are_used_as_in_a_language(corpus: Any) -> None:
    language = corpus.Language(random.Random(1))
    notes = list(corpus.invent_notes(language, 40, 5))
    words = Counter(word for note in notes for word in note.lower().replace(".", "").split())

    assert {word for word, _ in words.most_common(20)} - {"#"} <= set(corpus.FUNCTION_WORDS)
    assert sum(count == 1 for count in words.values()) > len(words) / 3
    assert all(len(note.splitlines()) > 20 for note in notes)


def test_the_same_seed_gives_the_same_corpus(corpus: Any) -> None:
    one, other = (corpus.Language(random.Random(5)) for _ in range(2))

    assert one.note(500) == other.note(500)
    assert [one.question(6) for _ in range(5)] == [other.question(6) for _ in range(5)]


def test_vectors_are_units_that_depend_on_the_text_alone(corpus: Any) -> None:
    rows = corpus.Vectors().embed_documents(["Harbour at night", "Harbour by day", "Lighthouse", "Harbour at night"])

    assert rows.shape == (4, 256)
    assert (rows[0] == rows[3]).all()
    assert abs((rows * rows).sum(axis=1) - 1).max() < 1e-5
    assert rows[0] @ rows[1] > rows[0] @ rows[2]
