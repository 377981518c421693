"""The harness of benchmarks/quality works; what it measures is looked at by people."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "quality"


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.syspath_prepend(FOLDER.parent)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(FOLDER) in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


def test_a_sample_is_measured_through_the_public_api_and_compared_with_an_earlier_run(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    asked = ("--set", "ko", "--sample", "8", "--seed", "3")

    done = _run(*asked, "--system", "default", "--system", "reference rules", "--json", str(file))

    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text(encoding="utf-8"))
    assert set(result["systems"]) == {"default", "reference rules"}
    measured = result["systems"]["default"]["ko"]
    values = [measured[f"hit@{depth}"]["both"]["value"] for depth in (1, 3, 6)]
    assert values == sorted(values)
    assert values[-1] >= 0.5
    both = measured["hit@6"]["both"]
    assert both["low"] <= both["value"] <= both["high"]
    assert both["n"] == 8 == measured["hit@6"]["open"]["n"] + measured["hit@6"]["kept"]["n"]
    assert "reference rules, minus default" in done.stdout

    again = _run(*asked, "--compare", str(file))

    assert "ko hit@6                           +0.000 [+0.000, +0.000]\n" in again.stdout


def test_every_system_answers(tmp_path: Path) -> None:
    file = tmp_path / "result.json"

    done = _run("--set", "cross", "--set", "prompts", "--sample", "6", "--system", "all", "--json", str(file))

    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text(encoding="utf-8"))["systems"]
    found = {name: sets["cross"]["hit@6"]["both"]["value"] for name, sets in result.items()}
    # Words alone cannot cross languages, and the reference's floor hides what it found.
    assert {name for name, value in found.items() if value < 0.5} == {"keywords only", "reference rules"}, found


@pytest.mark.parametrize("of_set", ["locomo", "longmemeval"])
def test_data_that_is_not_part_of_the_project_is_asked_for(tmp_path: Path, of_set: str) -> None:
    option = {"locomo": "--conversations", "longmemeval": "--longmemeval"}[of_set]

    for arguments in ((), (option, str(tmp_path / "none.gz"))):
        done = _run("--set", of_set, *arguments)

        assert done.returncode == 2
        assert option in done.stderr


def test_conversations_are_searched_recalled_and_mixed_with_the_project_s_notes(tmp_path: Path) -> None:
    lines = ["# Session 1", "", "Ana: I adopted a greyhound called Biscuit.", "Ben: My telescope arrived on Monday."]
    part = {
        "files": [{"path": "conv-1/2023-05-08-session-01.md", "date": "2023-05-08", "lines": lines}],
        "questions": [
            {"id": "q0", "q": "What is the name of Ana's greyhound?", "gold": [["conv-1/2023-05-08-session-01.md", 3]]},
            {"id": "q1", "q": "When did Ben's telescope arrive?", "gold": [["conv-1/2023-05-08-session-01.md", 4]]},
        ],
    }
    conversations, file = tmp_path / "conversations.json.gz", tmp_path / "result.json"
    conversations.write_bytes(gzip.compress(json.dumps([part]).encode()))
    sets = [each for name in ("locomo", "recall", "paraphrases-among", "recall-lancedb") for each in ("--set", name)]

    done = _run("--conversations", str(conversations), *sets, "--sample", "8", "--json", str(file))

    assert done.returncode == 0, done.stderr
    result = json.loads(file.read_text(encoding="utf-8"))["systems"]
    assert result["default"]["locomo"]["hit@1"]["both"]["value"] == 1.0
    assert result["default"]["recall"]["evidence"]["both"]["value"] == 1.0
    assert result["default"]["paraphrases-among"]["hit@6"]["both"]["value"] >= 0.5
    assert result["memory-lancedb"]["recall-lancedb"]["evidence"]["both"]["value"] > 0


def test_transcripts_are_ranked_by_conversation(tmp_path: Path) -> None:
    said = {
        "right": "I have moved to Lisbon and rent a flat near the river.",
        "other": "Which recipe for lentil soup is the quickest?",
    }
    haystack = {
        "question_id": "q0",
        "question": "Which city did I move to?",
        "haystack_session_ids": list(said),
        "haystack_dates": ["2023/04/24 (Mon) 16:40", "2023/04/28 (Fri) 11:44"],
        "haystack_sessions": [[{"role": "user", "content": text}] for text in said.values()],
        "answer_session_ids": ["right"],
    }
    haystacks, file = tmp_path / "haystacks.json.gz", tmp_path / "result.json"
    haystacks.write_bytes(gzip.compress(json.dumps([haystack]).encode()))

    done = _run("--longmemeval", str(haystacks), "--set", "longmemeval", "--json", str(file))

    assert done.returncode == 0, done.stderr
    measured = json.loads(file.read_text(encoding="utf-8"))["systems"]["default"]["longmemeval"]
    assert [measured[name]["both"]["value"] for name in ("all@5", "any@5", "all shown")] == [1.0, 1.0, 1.0]


class _Answers:
    """A memory that knows its answers by heart."""

    def __init__(self, found: Any = None, context: str = "") -> None:
        self._found, self._context = found, context

    def search(self, query: str) -> Any:
        return self._found

    def recall(self, prompt: str) -> str:
        return self._context


def test_measures_count_what_they_say() -> None:
    from measures import Answer, Found, answered, find  # type: ignore[import-not-found]
    from question_sets import Question, QuestionSet  # type: ignore[import-not-found]

    question = Question("q", "?", (("n.md", 2), ("n.md", 4)))
    asked = QuestionSet("x", {"n.md": ["a", "the answer", "b", "another answer"]}, [question])
    wrong, cut = Answer("m.md", 1, 9, "the answer"), Answer("n.md", 1, 2, "a\nthe ans")
    whole = Answer("n.md", 4, 4, "another answer")

    def shares(*answers: Any) -> dict[str, float]:
        return {each.measure: each.estimate().value for each in find(_Answers(Found(answers)), asked)}

    assert shares(wrong, cut) == {"hit@1": 0.0, "hit@3": 1.0, "hit@6": 1.0, "seen@6": 0.0}
    assert shares(wrong, cut, whole)["seen@6"] == 1.0
    assert shares() == {"hit@1": 0.0, "hit@3": 0.0, "hit@6": 0.0, "seen@6": 0.0}
    for found, value in ((Found([wrong]), 1.0), (Found([wrong], weak=True), 0.0), (Found([]), 0.0)):
        assert answered(_Answers(found), [question], "x", "far").estimate().value == value


def test_recall_counts_items_as_they_were_before_the_fence_escaped_them() -> None:
    from measures import recalled
    from memslot import fence
    from question_sets import Question, QuestionSet

    asked = QuestionSet("x", {"n.md": ["- Tom & Ann's  flat"]}, [Question("q", "?", (("n.md", 1),))])
    right = _Answers(context=fence(["n.md#L1: - Tom & Ann's flat\nnext line", "something else"]))

    evidence, relevant = (each.estimate() for each in recalled(right, asked))
    assert (evidence.value, relevant.value) == (1.0, 0.5)
    evidence, relevant = (each.estimate() for each in recalled(_Answers(), asked))
    assert (evidence.value, relevant) == (0.0, None)


def test_intervals_hold_the_share_and_pairs_are_compared_question_by_question() -> None:
    from series import Item, Series, difference  # type: ignore[import-not-found]

    ours = Series("x", "hit@1", [Item(str(n), n % 2 == 0, float(n % 4 > 0)) for n in range(200)])
    theirs = Series("x", "hit@1", [Item(str(n), n % 2 == 0, float(n % 4 > 1)) for n in range(200)])

    whole, opened, kept = (ours.estimate(half) for half in ("both", "open", "kept"))
    assert (whole.n, whole.value, opened.value, kept.value) == (200, 0.75, 0.5, 1.0)
    assert 0.65 < whole.low < 0.75 < whole.high < 0.85
    assert (kept.low, kept.high) == (1.0, 1.0)
    gain = difference(ours, theirs)
    assert gain.value == pytest.approx(0.25)
    assert 0.15 < gain.low < gain.high < 0.35
    assert difference(ours, ours)[1:] == (0.0, 0.0, 0.0)


def test_questions_share_no_word_with_their_notes_and_halves_are_equal() -> None:
    import question_sets
    from memslot.retrieval import query_terms

    sets = [
        question_sets.paraphrases(),
        *map(question_sets.paraphrases, question_sets.LANGUAGES),
        question_sets.cross(),
    ]
    shared: dict[str, set[str]] = {}
    for asked in sets:
        assert abs(sum(1 if each.is_open else -1 for each in asked.questions)) <= 1
        for question in asked.questions:
            (fact,) = asked.facts(question)
            ours, theirs = ({term.stem for term in query_terms(text).terms} for text in (question.text, fact))
            if both := ours & theirs:
                shared[question.id] = both
    assert shared == {"ja-63": {"ラー"}}, "two characters of other words"


def test_lists_hold_the_same_facts_as_the_files() -> None:
    import question_sets

    alone, listed = question_sets.paraphrases(), question_sets.lists()

    assert max(len(lines) for lines in listed.files.values()) == question_sets.FACTS_PER_LIST
    for one, other in zip(alone.questions, listed.questions, strict=True):
        assert (one.id, one.text, one.is_open) == (other.id, other.text, other.is_open)
        assert alone.facts(one) == listed.facts(other)


def test_squeezed_cosines_lie_close_together_and_keep_their_order() -> None:
    import numpy
    import question_sets
    from memslot_embed_providers.universal.provider import UniversalProvider
    from squeezed import SqueezedProvider  # type: ignore[import-not-found]

    asked = question_sets.cross()
    texts = [each.text for each in asked.questions]
    rows = numpy.asarray(SqueezedProvider().embed_documents([*texts, "!!!"]))
    plain = numpy.asarray(UniversalProvider().embed_documents(texts))

    assert not rows[-1].any()
    assert numpy.allclose(numpy.linalg.norm(rows[:-1], axis=1), 1, atol=1e-5)
    upper = numpy.triu_indices(len(texts), 1)
    cosines = (rows[:-1] @ rows[:-1].T)[upper]
    assert 0.65 < cosines.min() < cosines.max() < 0.97
    assert numpy.corrcoef(cosines, (plain @ plain.T)[upper])[0, 1] > 0.999
