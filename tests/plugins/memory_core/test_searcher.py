"""What a search says of itself: the legs that ran, what did not, how fresh it is, and who may see what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from memslot import MemslotError, ProviderBusyError, Session
from memslot.testing.providers import HashingProvider
from memslot_embed_providers.universal.provider import UniversalProvider
from memslot_memory_core.manager import MemoryManager


class Fragile(HashingProvider):
    """Embeds documents always, queries only while it is whole."""

    def __init__(self) -> None:
        super().__init__()
        self.is_broken = False

    def embed_query(self, text: str) -> Any:
        if self.is_broken:
            raise ProviderBusyError("the provider is down for repairs")
        return super().embed_query(text)


def notes(manager: MemoryManager, **texts: str) -> None:
    for name, text in texts.items():
        (manager.workspace / "memory" / f"{name}.md").write_text(text)
    manager.sync()


def test_both_legs_are_named(make_manager: Any) -> None:
    manager = make_manager(UniversalProvider())
    notes(manager, a="The lighthouse keeper paints the tower red every spring.\n")
    outcome = manager.search("Who paints the tower?")
    assert (outcome.mode, outcome.provider, outcome.warning) == ("hybrid", "universal", None)
    assert outcome.hits[0].path == "memory/a.md"


def test_meaning_finds_what_words_do_not(make_manager: Any) -> None:
    manager = make_manager(UniversalProvider(), query={"minScore": 0.0})
    notes(manager, cars="My automobile needs new tyres.\n", food="We baked bread with rye flour.\n")
    assert manager.search("vehicle wheels").hits[0].path == "memory/cars.md"


def test_a_provider_that_fails_leaves_the_words_and_is_named(make_manager: Any) -> None:
    provider = Fragile()
    manager = make_manager(provider)
    notes(manager, a="The lighthouse is red.\n")
    provider.is_broken = True
    outcome = manager.search("lighthouse")
    assert outcome.mode == "keywords"
    assert "down for repairs" in (outcome.warning or "")
    assert [hit.path for hit in outcome.hits] == ["memory/a.md"]
    assert any("down for repairs" in problem for problem in manager.status().problems)


def test_the_vectors_of_another_provider_are_never_compared(make_manager: Any) -> None:
    manager = make_manager(Fragile())
    notes(manager, a="The lighthouse is red.\n")
    manager.close()
    other = make_manager(UniversalProvider(), sends_text_away=True)
    outcome = other.search("lighthouse")
    assert outcome.mode == "keywords"
    assert "index --force" in (outcome.action or "")
    assert [hit.path for hit in outcome.hits] == ["memory/a.md"]


def test_an_empty_query_is_refused(make_manager: Any) -> None:
    with pytest.raises(MemslotError, match="the query is empty"):
        make_manager().search(" \n ")


def test_an_empty_answer_says_what_was_searched_and_what_to_try(make_manager: Any) -> None:
    manager = make_manager()
    notes(manager, a="The lighthouse is red.\n", b="The harbour is deep.\n")
    outcome = manager.search("quantum chromodynamics")
    assert not outcome.hits
    assert "2 chunks of 2 files" in (outcome.warning or "")
    assert "just now" in (outcome.warning or "")
    assert "other words" in (outcome.action or "")


def test_the_first_search_builds_the_index(make_manager: Any) -> None:
    manager = make_manager()
    (manager.workspace / "MEMORY.md").write_text("The lighthouse is red.\n")
    assert [hit.path for hit in manager.search("lighthouse").hits] == ["MEMORY.md"]


def test_more_results_never_change_the_top(make_manager: Any) -> None:
    manager = make_manager(UniversalProvider(), query={"minScore": 0.0})
    notes(
        manager,
        **{
            f"n{i}": f"Note {i}: the {w} is near the harbour {i % 7}.\n"
            for i, w in enumerate(["boat", "gull", "net", "crane", "light"] * 40)
        },
    )
    few = [hit.citation for hit in manager.search("which boat is near harbour 3?", max_results=5).hits]
    for wanted in (6, 20, 50):
        many = [hit.citation for hit in manager.search("which boat is near harbour 3?", max_results=wanted).hits]
        assert many[:5] == few


def test_scores_fall_and_off_topic_questions_are_answered_as_weak(make_manager: Any) -> None:
    manager = make_manager(UniversalProvider())
    notes(
        manager,
        a="Ana waters the orchid on Mondays.\n",
        b="The violin lesson is on Thursday.\n",
        c="The orchid came from the market.\n",
    )
    good = manager.search("When does Ana water the orchid?")
    scores = [hit.score for hit in good.hits]
    assert not good.weak
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    weak = manager.search("What is the boiling point of tungsten?")
    assert weak.weak
    assert "weak match" in (weak.warning or "")
    assert not manager.search("What is the boiling point of tungsten?", min_score=0.35).hits


def test_explain_tells_both_scores_and_why_others_fell_out(make_manager: Any) -> None:
    manager = make_manager(UniversalProvider(), query={"maxResults": 1, "minScore": 0.35})
    notes(manager, a="The lighthouse is red.\n", b="The lighthouse is tall.\n", c="Bread with rye flour.\n")
    outcome = manager.search("red lighthouse", explain=True)
    shown = outcome.hits[0].explanation or {}
    assert {"textScore", "vectorScore", "textRank", "z", "zRank", "decay", "mmrPenalty", "outcome"} <= set(shown)
    dropped = {each["path"]: each["outcome"] for each in (outcome.explanation or {})["dropped"]}
    assert dropped["memory/b.md"] == "beyond maxResults"
    assert dropped["memory/c.md"] == "below minScore"
    json.dumps(outcome.explanation)


def test_a_secret_is_not_shown(make_manager: Any) -> None:
    manager = make_manager()
    notes(manager, a="The deploy key is sk-abcdefghijklmnop12345678 for staging.\n")
    assert "sk-abc" not in manager.search("deploy key").hits[0].snippet


@pytest.mark.parametrize("chat_type", ["group", "channel"])
def test_what_is_about_the_person_stays_out_of_other_chats(make_manager: Any, chat_type: Any) -> None:
    settings = {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}
    manager = make_manager(UniversalProvider(), query={"minScore": 0.0}, **settings)
    for number in range(150):
        (manager.workspace / "memory" / f"open{number}.md").write_text(f"Fact {number}: the harbour has a crane.\n")
    manager.location.sessions_dir.mkdir(parents=True)
    said = {"type": "message", "message": {"role": "user", "content": "The gate code is kept by Ines."}}
    (manager.location.sessions_dir / "s.jsonl").write_text(json.dumps(said) + "\n")
    for name in ("MEMORY.md", "USER.md"):
        (manager.workspace / name).write_text("The gate code is kept by Ines.\n\n" * 400)
    (manager.workspace / "memory" / "gate.md").write_text("The gate is green.\n")
    manager.sync()
    listener = Session("main", chat_type=chat_type)
    for query in ("Who keeps the gate code?", "Ines", "gate"):
        paths = [hit.path for hit in manager.search(query, max_results=50, session=listener).hits]
        assert not {"MEMORY.md", "USER.md", "sessions/s.jsonl"} & set(paths)
    assert "memory/gate.md" in [hit.path for hit in manager.search("gate", session=listener).hits]
    assert manager.read("MEMORY.md", session=listener).text == ""
    assert manager.read("sessions/s.jsonl", session=listener).text == ""
    assert manager.search("gate code").hits[0].path in {"MEMORY.md", "USER.md", "sessions/s.jsonl"}


def test_agents_do_not_share_an_index(make_manager: Any) -> None:
    first, second = make_manager(agent_id="first"), make_manager(agent_id="second")
    notes(first, a="The lighthouse is red.\n")
    notes(second, b="The harbour is deep.\n")
    assert not second.search("lighthouse").hits
    assert first.location.index_file != second.location.index_file


def test_a_damaged_index_heals_itself_within_a_search(make_manager: Any) -> None:
    manager = make_manager()
    notes(manager, a="The lighthouse is red.\n")
    manager.close()
    file: Path = manager.location.index_file
    file.write_bytes(b"this is no database at all" * 500)
    again = make_manager()
    outcome = again.search("lighthouse")
    assert [hit.path for hit in outcome.hits] == ["memory/a.md"]
    assert again.status().is_healthy


def test_a_missing_vector_is_told(make_manager: Any) -> None:
    class Forgetful(HashingProvider):
        fails = False

        def embed_documents(self, texts: Any) -> Any:
            if self.fails:
                raise ProviderBusyError("too busy")
            return super().embed_documents(texts)

        def embed_query(self, text: str) -> Any:
            return super().embed_documents([text])[0]

    provider = Forgetful()
    manager = make_manager(provider)
    notes(manager, a="The lighthouse is red.\n")
    provider.fails = True
    notes(manager, b="The windmill is white.\n")
    outcome = manager.search("windmill")
    assert [hit.path for hit in outcome.hits][:1] == ["memory/b.md"]
    assert "1 of 2 chunks have no vector yet" in (outcome.warning or "")


def test_keywords_only_by_choice_is_no_warning(make_manager: Any) -> None:
    manager = make_manager(None)
    notes(manager, a="The lighthouse is red.\n")
    outcome = manager.search("lighthouse")
    assert (outcome.mode, outcome.warning) == ("keywords", None)


def test_what_the_user_said_leads_to_the_right_conversation(make_manager: Any) -> None:
    settings = {"sources": ["sessions"], "experimental": {"sessionMemory": True}, "query": {"minScore": 0.0}}
    manager = make_manager(UniversalProvider(), **settings)
    manager.location.sessions_dir.mkdir(parents=True)

    def session(name: str, *said: tuple[str, str]) -> None:
        lines = [json.dumps({"type": "message", "message": {"role": role, "content": text}}) for role, text in said]
        (manager.location.sessions_dir / f"{name}.jsonl").write_text("\n".join(lines) + "\n")

    session("told", ("user", "I moved to Lisbon in May."), ("assistant", "Noted. Anything else you need help with?"))
    session("lectured", ("user", "Tell me something."), ("assistant", "Many people moved to Lisbon in May, I heard."))
    manager.sync()
    assert manager.search("When did I move to Lisbon?").hits[0].path == "sessions/told.jsonl"


@pytest.mark.parametrize("make_provider", [UniversalProvider, lambda: None], ids=["hybrid", "keywords"])
def test_what_is_not_read_would_not_have_been_shown(make_manager: Any, make_provider: Any) -> None:
    """A search reads the best candidates only; one that explains itself reads all, and gives the same answer."""
    manager = make_manager(make_provider(), query={"minScore": 0.0})
    subjects = ["lighthouse", "harbour", "storm", "keeper", "boat", "bread", "garden", "budget"]
    lines = [
        f"Note {number}: the {one} and the {other}, number {number % 7}."
        for number in range(40)
        for one, other in [(subjects[number % 8], subjects[(number * 3 + 1) % 8])]
    ]
    notes(manager, **{f"n{number}": f"{line}\n" * (1 + number % 3) for number, line in enumerate(lines * 4)})
    for question in ("the keeper of the lighthouse", "storm in the harbour", "bread", "number 3 of the boat"):
        for wanted in (1, 6, 30, 50):
            plain = manager.search(question, max_results=wanted)
            explained = manager.search(question, max_results=wanted, explain=True)

            assert [(hit.path, hit.score) for hit in plain.hits] == [(hit.path, hit.score) for hit in explained.hits]
        more = manager.search(question, max_results=50).hits
        assert [hit.path for hit in more[:6]] == [hit.path for hit in manager.search(question, max_results=6).hits]
        assert [hit.score for hit in more] == sorted((hit.score for hit in more), reverse=True)
