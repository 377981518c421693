"""What is found by what it means, what is told to be weak, and that no embedder's cosines change either."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
from memslot import Host
from memslot_embed_providers.universal.provider import UniversalProvider
from memslot_memory_core.manager import MemoryManager

FACT = "Ana prefers tea over coffee."
OTHERS = [
    "The car needs new tyres before winter.",
    "The violin lesson is on Thursday.",
    "The gate code is kept by Ines.",
    "We planted roses by the fence.",
    "The tax return is due in May.",
    "Ben repaired the roof of the shed.",
    "The printer is out of toner.",
    "Our flight to Oslo leaves at noon.",
]
OFF_TOPIC = "What is the boiling point of tungsten?"


def write(manager: MemoryManager, texts: Sequence[str]) -> None:
    for number, text in enumerate(texts):
        (manager.workspace / "memory" / f"{number}.md").write_text(f"{text}\n", encoding="utf-8")
    manager.sync()


def a_list(items: Sequence[str]) -> str:
    return "# Notes\n\n" + "\n".join(f"- {item}" for item in items)


@pytest.mark.parametrize(
    "notes",
    [
        [FACT],
        [FACT, *OTHERS],
        [a_list([*OTHERS[:3], FACT, *OTHERS[3:5]]), a_list(OTHERS[5:])],
    ],
    ids=["the only note", "one of nine notes", "one of six facts in a list"],
)
def test_a_question_finds_the_fact_that_answers_it_and_knows_what_nothing_answers(
    make_manager: Any, notes: list[str]
) -> None:
    manager = make_manager(UniversalProvider())
    write(manager, notes)

    good, weak = manager.search("What does Ana like to drink?"), manager.search(OFF_TOPIC)

    assert FACT in good.hits[0].snippet
    assert (good.weak, good.warning) == (False, None)
    assert weak.weak
    assert len(weak.hits) == min(6, len(notes)), "the nearest there is, and not nothing"
    assert "weak match" in (weak.warning or "")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("vehicle wheels for snow", OTHERS[0]),
        ("When does music class happen?", OTHERS[1]),
        ("Where do flowers grow?", OTHERS[3]),
    ],
)
def test_a_question_that_shares_no_word_with_its_note_finds_it(make_manager: Any, question: str, answer: str) -> None:
    manager = make_manager(UniversalProvider())
    write(manager, [FACT, *OTHERS])

    outcome = manager.search(question, explain=True)

    assert outcome.hits[0].snippet == answer
    assert not outcome.weak
    assert (outcome.hits[0].explanation or {})["textScore"] == 0.0


def test_a_question_finds_a_note_in_another_language(make_manager: Any) -> None:
    german = [
        "Die Heizung im Keller wird jeden Herbst vom Klempner geprüft.",
        "Die Geigenstunde ist am Donnerstag.",
        "Wir haben Rosen am Zaun gepflanzt.",
        "Der Flug nach Oslo geht mittags.",
    ]
    manager = make_manager(UniversalProvider())
    write(manager, german)

    outcome = manager.search("Who checks the heating every autumn?")

    assert outcome.hits[0].snippet == german[0]
    assert not outcome.weak
    assert manager.search("Who won the chess championship?").weak


def test_a_floor_that_is_asked_for_cuts_each_result(make_manager: Any) -> None:
    manager = make_manager(UniversalProvider())
    write(manager, [FACT, *OTHERS])
    question = "What does Ana like to drink?"

    assert len(manager.search(question).hits) == 6
    assert [hit.snippet for hit in manager.search(question, min_score=0.35).hits] == [FACT]
    nothing = manager.search(OFF_TOPIC, min_score=0.35)
    assert (nothing.hits, nothing.weak) == ([], False)
    assert "the best below the minimum score has 0." in (nothing.warning or "")


class Alike:
    """Gives every text a direction at random, close to one that all of them share: cosines are .7 to .9."""

    id, model, max_input_tokens = "alike", "alike-1", 8192

    def __init__(self, dims: int = 128) -> None:
        self.dims = dims

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._embed(text) for text in texts]

    def _embed(self, text: str) -> list[float]:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
        row = numpy.random.default_rng(seed).normal(size=self.dims)
        shared = numpy.full(self.dims, 2.0)
        return [float(number) for number in (row + shared) / numpy.linalg.norm(row + shared)]


@pytest.mark.parametrize("make_provider", [UniversalProvider, Alike, lambda: None], ids=["universal", "alike", "words"])
def test_a_word_that_one_of_many_notes_holds_leads_to_it(make_manager: Any, make_provider: Any) -> None:
    manager = make_manager(make_provider())
    subjects = ["lighthouse", "harbour", "storm", "keeper", "boat", "bread", "garden", "budget"]
    notes = [f"Note {number}: the {subjects[number % 8]} of the week is number {number}." for number in range(300)]
    notes[217] = "The zeppelin is in the hall behind the station."
    write(manager, notes)

    for query in ("zeppelin", "Where is the zeppelin?"):
        outcome = manager.search(query)
        assert "zeppelin" in outcome.hits[0].snippet
        assert not outcome.weak


def test_a_random_embedder_makes_no_answer_look_good(make_manager: Any) -> None:
    provider = Alike()
    rows = numpy.array(provider.embed_documents(OTHERS))
    assert 0.7 < (rows @ rows.T).min() < 0.9
    manager = make_manager(provider)
    write(manager, OTHERS * 30)

    assert manager.search(OFF_TOPIC).weak


class TestWeakIsTold:
    """To agents, to scripts and to people."""

    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        (tmp_path / "workspace" / "memory").mkdir(parents=True)
        (tmp_path / "workspace" / "memory" / "a.md").write_text(a_list([FACT, *OTHERS]))
        return tmp_path

    def test_to_agents(self, home: Path) -> None:
        config = {"agents": {"defaults": {"memorySearch": {"provider": "universal"}}}}
        with Host.load(config, home=home, env={}) as host:
            good, weak = (
                json.loads(host.call_tool("memory_search", {"query": query}).text)
                for query in ("What does Ana like to drink?", OFF_TOPIC)
            )
        assert "weak" not in good
        assert weak["weak"] is True
        assert "weak match" in weak["warning"]
        assert weak["results"]

    def test_to_scripts_and_people(self, home: Path) -> None:
        def search(*arguments: str) -> Any:
            command = [sys.executable, "-m", "memslot", "memory", "search", *arguments]
            env = {**os.environ, "MEMSLOT_HOME": str(home), "HOME": str(home)}
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=home)
            assert done.returncode == 0, done.stderr
            return done

        assert json.loads(search(OFF_TOPIC, "--json").stdout)["weak"] is True
        assert "weak" not in json.loads(search("What does Ana like to drink?", "--json").stdout)
        assert "weak match" in search(OFF_TOPIC).stderr
        assert "weak" not in search("What does Ana like to drink?").stderr
