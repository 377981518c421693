"""The harness of benchmarks/quality works; what it measures is looked at by people."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "quality"


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_sample_is_measured_through_the_public_api(tmp_path: Path) -> None:
    file = tmp_path / "result.json"

    done = _run(
        "--set", "ko", "--sample", "8", "--seed", "3", "--system", "default", "--system", "reference rules",
        "--json", str(file),
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text(encoding="utf-8"))
    assert (result["set"], result["n"], result["seed"]) == ("ko", 8, 3)
    assert set(result["systems"]) == {"default", "reference rules"}
    default = result["systems"]["default"]
    assert default["hit@1"] <= default["hit@6"] <= default["hit@20"]
    assert default["hit@6"] >= 0.5


def test_conversations_that_are_not_there_are_asked_for(tmp_path: Path) -> None:
    done = _run("--conversations", str(tmp_path / "none.gz"))

    assert done.returncode == 2
    assert "--conversations" in done.stderr


@pytest.fixture
def measures(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.syspath_prepend(FOLDER)
    import measures

    return measures


def test_measures_count_what_they_say(measures: object) -> None:
    from measures import Answer, measure  # type: ignore[import-not-found]
    from question_sets import Question, QuestionSet  # type: ignore[import-not-found]

    lines = ["a", "the answer", "b", "another answer"]
    asked = QuestionSet("x", {"n.md": lines}, [Question("q", "?", (("n.md", 2), ("n.md", 4)))])
    answers = {"q": [Answer("m.md", 1, 9, "the answer", 0.9), Answer("n.md", 1, 2, "a\nthe ans", 0.8)]}

    unseen = measure(asked, answers)
    answers["q"].append(Answer("n.md", 4, 4, "another answer", 0.7))
    seen = measure(asked, answers)

    assert (unseen["hit@1"], unseen["hit@3"], unseen["MRR"], unseen["recall@6"]) == (0.0, 1.0, 0.5, 0.5)
    assert (unseen["seen@6"], seen["seen@6"]) == (0.0, 1.0)
    assert seen["recall@6"] == 1.0
    assert unseen["NDCG@10"] == pytest.approx(0.387, abs=1e-3)
    assert seen["NDCG@10"] == pytest.approx(0.693, abs=1e-3)
