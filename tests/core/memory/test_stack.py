"""All memories of the slot, asked as one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import pytest
from memslot import (
    AgentStart,
    CanForget,
    CanList,
    CanRemember,
    Host,
    MemoryHit,
    MemoryReceipt,
    MemorySearchOutcome,
    MemoryStatus,
    MemoryWritten,
    MemslotError,
    PluginContext,
    RecalledItem,
    RunInfo,
    fence,
    hookimpl,
)
from memslot.testing import HostOpener, InlinePlugin

TEA = "Ana prefers tea over coffee."
ENOUGH = 3
"""Seconds in which a memory that does not hang answers on a busy machine, too."""
ROOF = "Ben repaired the roof of the shed."


class Shelf:
    """A memory of some sentences, and the plugin that brings it; whatever a test needs is put in its place."""

    def __init__(self, *texts: str, score: float = 0.8, weak: bool = False) -> None:
        self.texts = list(texts)
        self.score = score
        self.weak = weak
        self.heard: list[MemoryWritten] = []
        self.is_closed = False

    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        hits = [MemoryHit(f"{number}.md", self.score, text) for number, text in enumerate(self.texts)]
        return MemorySearchOutcome(hits[:max_results], mode="words", weak=self.weak)

    def status(self) -> MemoryStatus:
        return MemoryStatus("shelf", {"texts": len(self.texts)})

    def close(self) -> None:
        self.is_closed = True

    @hookimpl
    def register_memory(self, ctx: PluginContext) -> Any:
        return self

    @hookimpl
    def before_agent_start(self, ctx: PluginContext, run: RunInfo) -> AgentStart:
        return AgentStart(recalled=[RecalledItem(text, self.score) for text in self.texts])

    @hookimpl
    def memory_written(self, written: MemoryWritten) -> None:
        self.heard.append(written)


class Notebook(Shelf):
    """One that can be written to."""

    def remember(self, text: str, *, session: object = None) -> MemoryReceipt:
        is_new = text not in self.texts
        self.texts += [text] if is_new else []
        return MemoryReceipt(f"{self.texts.index(text)}.md", is_new)

    def forget(self, path: str) -> bool:
        return bool(self.texts) and path == "0.md" and bool(self.texts.pop(0))


class Hanging(Shelf):
    released = threading.Event()

    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        self.released.wait(60)
        return super().search(query)

    @hookimpl
    def before_agent_start(self, ctx: PluginContext, run: RunInfo) -> AgentStart:
        self.released.wait(60)
        return AgentStart()


class Raising(Shelf):
    def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
        raise RuntimeError("the disk is on fire")

    def status(self) -> MemoryStatus:
        raise RuntimeError("the disk is on fire")

    @hookimpl
    def before_agent_start(self, ctx: PluginContext, run: RunInfo) -> AgentStart:
        raise RuntimeError("the disk is on fire")


class Lying(Shelf):
    def search(self, query: str, *, max_results: int | None = None) -> Any:
        return MemorySearchOutcome([MemoryHit("x.md", "very good", 7)], mode="words")  # type: ignore[arg-type]

    def status(self) -> Any:
        return {"all": "well"}

    @hookimpl
    def before_agent_start(self, ctx: PluginContext, run: RunInfo) -> Any:
        return AgentStart(recalled=[RecalledItem(7, "high")])  # type: ignore[arg-type]


Open = Callable[..., Host]


@pytest.fixture
def open_stack(tmp_path: Path) -> Iterator[Open]:
    """Opens hosts whose slot holds the given memories, in their order."""
    Hanging.released.clear()
    with HostOpener(tmp_path / "home") as open_host:

        def load(*, patience: dict[str, int] | None = None, **memories: Any) -> Host:
            plugins = [InlinePlugin(hooks, each, "memory") for each, hooks in memories.items()]
            waits = {each: 300 for each, hooks in memories.items() if isinstance(hooks, Hanging)} | (patience or {})
            entries = {each: {"hooks": {"timeoutMs": milliseconds}} for each, milliseconds in waits.items()}
            config = {"plugins": {"slots": {"memory": list(memories)}, "entries": entries}}
            return open_host(*plugins, config=config, strict=False)

        yield load
        Hanging.released.set()


def found(host: Host, **options: Any) -> list[tuple[str, str]]:
    return [(each.memory_id, each.hit.snippet) for each in host.memories.search("tea", **options).hits]


@pytest.mark.parametrize(
    ("lines", "citation"), [((None, None), "a.md"), ((3, 7), "a.md#L3-L7"), ((3, None), "a.md#L3-L3")]
)
def test_a_hit_is_cited_by_the_lines_that_are_known(lines: tuple[int | None, int | None], citation: str) -> None:
    assert MemoryHit("a.md", 0.5, "one", start_line=lines[0], end_line=lines[1]).citation == citation


class TestTheSlot:
    def test_all_that_are_named_run_in_the_order_of_the_slot_and_the_first_owns_it(self, open_stack: Open) -> None:
        zebra, ape = Shelf(), Shelf()
        host = open_stack(zebra=zebra, ape=ape)
        assert host.memories.ids == ("zebra", "ape")
        assert list(host.memories) == [("zebra", zebra), ("ape", ape)]
        assert (host.memory, host.memory_owner) == (zebra, "zebra")
        assert host.memories.get("ape") is ape
        assert host.memories.get("cat") is None

    def test_memories_are_found_by_what_they_can(self, open_stack: Open) -> None:
        class Odd(Notebook):
            @property
            def forget(self) -> Any:  # type: ignore[override]
                raise RuntimeError("the disk is on fire")

        odd, notebook = Odd(), Notebook()
        memories = open_stack(shelf=Shelf(), odd=odd, notebook=notebook).memories
        assert memories.having(CanRemember) == [("odd", odd), ("notebook", notebook)]
        assert ("notebook", notebook) in memories.having(CanRemember, CanForget)
        assert memories.having(CanList) == []
        assert memories.first(CanRemember) == ("odd", odd)

    def test_a_host_without_memory_has_an_empty_stack(self, tmp_path: Path) -> None:
        with HostOpener(tmp_path) as open_host:
            host = open_host(config={"plugins": {"slots": {"memory": "none"}}})
            assert len(host.memories) == 0
            assert host.memories.search("tea").hits == []
            assert host.memories.statuses() == {}
            with pytest.raises(MemslotError, match="no memory in the slot can store text; the slot holds: none"):
                host.memories.remember("x")

    def test_one_that_registers_no_memory_leaves_the_slot_to_the_next_and_is_named(self, open_stack: Open) -> None:
        class Empty(Shelf):
            @hookimpl
            def register_memory(self, ctx: PluginContext) -> Any:
                raise OSError("no such disk")

        host = open_stack(empty=Empty(), shelf=Shelf(TEA))
        assert host.memory_owner == "shelf"
        assert host.memory_problem is None
        assert host.memories.absent == {"empty": "it registers no memory"}
        assert host.memories.search("tea").problems == {"empty": "it registers no memory"}
        assert host.memories.statuses()["empty"].problems == ("it does not run: it registers no memory",)
        assert [event.plugin for event in host.diagnostics] == ["empty"]

    def test_closing_the_host_closes_every_memory(self, open_stack: Open) -> None:
        shelves = {"a": Shelf(), "b": Raising(), "c": Shelf()}
        open_stack(**shelves).close()
        assert all(shelf.is_closed for shelf in shelves.values())


class TestCall:
    def test_a_function_of_a_memory_gives_its_value_or_the_memorys_own_error(self, open_stack: Open) -> None:
        memories = open_stack(a=Shelf(TEA)).memories

        def refuse() -> None:
            raise MemslotError("no such path")

        assert memories.call("a", "read", lambda: "text") == "text"
        with pytest.raises(MemslotError, match=r"^no such path$"):
            memories.call("a", "read", refuse)

    def test_one_that_fails_or_hangs_is_an_error_and_in_the_diagnostics(self, open_stack: Open) -> None:
        host = open_stack(a=Shelf(TEA))
        with pytest.raises(MemslotError, match=r"^a failed: ZeroDivisionError: "):
            host.memories.call("a", "list", lambda: 1 // 0)
        with pytest.raises(MemslotError, match=r"^a failed: did not finish within 0\.05 s$"):
            host.memories.call("a", "list", Hanging.released.wait, seconds=0.05)
        assert [(event.plugin, event.stage) for event in host.diagnostics] == [("a", "list"), ("a", "list")]


class TestSearch:
    def test_one_list_best_first(self, open_stack: Open) -> None:
        host = open_stack(a=Shelf("one", score=0.5), b=Shelf("two", score=0.9))
        assert found(host) == [("b", "two"), ("a", "one")]

    def test_the_same_thing_is_said_once_by_the_memory_that_says_more(self, open_stack: Open) -> None:
        host = open_stack(
            notes=Shelf(f"- {TEA}\n- {ROOF}", score=0.4), facts=Shelf(TEA, "Cats sleep a lot.", score=0.7)
        )
        hits = host.memories.search("tea").hits
        assert [(each.memory_id, each.hit.score) for each in hits] == [("notes", 0.7), ("facts", 0.7)]
        assert [each.hit.snippet for each in hits] == [f"- {TEA}\n- {ROOF}", "Cats sleep a lot."]

    def test_what_one_calls_weak_does_not_outrank_what_another_found(self, open_stack: Open) -> None:
        host = open_stack(a=Shelf("nearest", score=0.9, weak=True), b=Shelf("good", score=0.5))
        outcome = host.memories.search("tea")
        assert [each.memory_id for each in outcome.hits] == ["b", "a"]
        assert not outcome.weak
        assert host.memories.search("tea", only="a").weak

    def test_only_some_are_asked(self, open_stack: Open) -> None:
        host = open_stack(a=Shelf("one"), b=Shelf("two"), c=Shelf("three"))
        assert found(host, only="b") == [("b", "two")]
        assert found(host, only=["c", "a"]) == [("a", "one"), ("c", "three")]
        with pytest.raises(MemslotError, match='no memory "d" is in the slot, which holds: a, b, c'):
            host.memories.search("tea", only="d")

    def test_the_list_is_as_long_as_asked_for_or_six_or_as_the_longest(self, open_stack: Open) -> None:
        host = open_stack(a=Shelf(*(f"alpha {n}" for n in range(3))), b=Shelf(*(f"beta {n}" for n in range(5))))
        assert len(found(host)) == 6
        assert len(found(open_stack(c=Shelf(*(f"gamma {n}" for n in range(8)))))) == 8
        assert len(found(host, max_results=4)) == 4
        assert found(host, min_score=0.9) == []

    def test_what_one_gives_beyond_what_was_asked_for_is_left_out(self, open_stack: Open) -> None:
        class Eager(Shelf):
            def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
                return super().search(query)

        host = open_stack(eager=Eager(*(f"eager {n}" for n in range(500)), score=0.9), b=Shelf("two"))
        assert [memory for memory, _ in found(host, max_results=3)] == ["eager", "eager", "eager"]
        assert len(host.memories.search("tea").outcomes["eager"].hits) == 200

    def test_options_reach_the_memories_that_take_them(self, open_stack: Open) -> None:
        class Explaining(Shelf):
            def search(
                self, query: str, *, max_results: int | None = None, explain: bool = False
            ) -> MemorySearchOutcome:
                return MemorySearchOutcome([MemoryHit("a.md", 0.5, f"explain={explain}")], mode="words")

        host = open_stack(a=Explaining(), b=Shelf("plain", score=0.4))
        assert found(host, explain=True) == [("a", "explain=True"), ("b", "plain")]


def test_a_memory_written_for_host_api_1_stands_beside_others(open_stack: Open) -> None:
    class Old:
        """Fences what it recalls by itself, and knows no option of search."""

        def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
            return MemorySearchOutcome([MemoryHit("old.md", 0.5, ROOF)], mode="words")

        def status(self) -> MemoryStatus:
            return MemoryStatus("old")

        def close(self) -> None: ...

        @hookimpl
        def register_memory(self, ctx: PluginContext) -> Any:
            return self

        @hookimpl
        def before_agent_start(self, ctx: PluginContext, run: RunInfo, messages: Any) -> AgentStart:
            return AgentStart(prepend_context=fence([ROOF]))

    host = open_stack(old=Old(), shelf=Shelf(TEA))
    assert host.run("Who repaired the roof?").context == f"{fence([ROOF])}\n\n{fence([f'shelf: {TEA}'])}"
    assert found(host) == [("shelf", TEA), ("old", ROOF)]
    assert list(host.diagnostics) == []


class TestFiveMemoriesOfWhichThreeAreBroken:
    @pytest.fixture
    def host(self, open_stack: Open) -> Host:
        return open_stack(hangs=Hanging(), fine=Shelf(TEA), raises=Raising(), lies=Lying(), well=Shelf(ROOF, score=0.6))

    def test_a_search_gives_what_the_others_found_and_names_the_broken_ones(self, host: Host) -> None:
        outcome = host.memories.search("tea", seconds=ENOUGH)
        assert [each.memory_id for each in outcome.hits] == ["fine", "well"]
        assert set(outcome.outcomes) == {"fine", "well"}
        assert outcome.problems["hangs"] == f"did not finish within {ENOUGH} s"
        assert outcome.problems["raises"] == "RuntimeError: the disk is on fire"
        assert "not text" in outcome.problems["lies"]
        assert {event.plugin for event in host.diagnostics if event.stage == "search"} == {"hangs", "raises", "lies"}

    def test_a_run_begins_with_what_the_others_recall(self, host: Host) -> None:
        run = host.run("What does Ana drink?")
        assert TEA in run.context
        assert ROOF in run.context
        assert run.context.count("<relevant-memories>") == 1
        said = {event.plugin: event.message for event in host.diagnostics if event.stage == "before_agent_start"}
        assert said["hangs"] == "did not finish within 0.3 s"
        assert said["raises"] == "RuntimeError: the disk is on fire"
        assert "not text" in said["lies"]
        assert set(said) == {"hangs", "raises", "lies"}

    def test_the_next_runs_and_searches_do_not_wait_as_long_again(
        self, host: Host, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("memslot.plugins.executor._SECOND_CHANCE", 0.05)
        for _ in range(2):
            assert TEA in host.run("What does Ana drink?").context
            assert len(host.memories.search("tea", seconds=ENOUGH).hits) == 2
        said = [event.message for event in host.diagnostics if event.plugin == "hangs"]
        assert said == [f"did not finish within {seconds} s" for seconds in (0.3, ENOUGH, 0.05, 0.05)]
        problem = host.memories.search("tea", seconds=60).problems["hangs"]
        assert problem == "was not called: earlier calls of this plugin never returned"

    def test_closing_does_not_wait_for_one_that_hangs_already(
        self, open_stack: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Stuck(Hanging):
            def close(self) -> None:
                self.released.wait(60)

        monkeypatch.setattr("memslot.memory.stack.HANGING_CLOSE_SECONDS", 0.05)
        shelf = Shelf(TEA)
        host = open_stack(stuck=Stuck(), shelf=shelf)
        host.memories.search("tea", seconds=0.2)
        host.close()
        assert shelf.is_closed
        assert [event.message for event in host.diagnostics if event.stage == "close"] == [
            "did not finish within 0.05 s"
        ]

    def test_a_caller_in_a_hurry_waits_less(self, open_stack: Open) -> None:
        host = open_stack(fine=Shelf(TEA), hangs=Hanging(), patience={"hangs": 60_000})
        assert TEA in host.run("What does Ana drink?", recall_seconds=ENOUGH).context
        (event,) = host.diagnostics
        assert event.message == f"did not finish within {ENOUGH} s"

    def test_every_status_can_be_had(self, host: Host) -> None:
        statuses = host.memories.statuses()
        assert list(statuses) == ["hangs", "fine", "raises", "lies", "well"]
        assert statuses["raises"].problems == ("it did not report its status: RuntimeError: the disk is on fire",)
        assert statuses["lies"].problems == ("it did not report its status: returned dict, not a MemoryStatus",)
        assert statuses["fine"].is_healthy


@pytest.mark.parametrize("score", [float("nan"), -0.1, 1.5, True, None, "1"])
def test_a_score_that_is_none_costs_the_memory_its_part(open_stack: Open, score: Any) -> None:
    outcome = open_stack(a=Shelf("one", score=score), b=Shelf("two")).memories.search("tea")
    assert [each.memory_id for each in outcome.hits] == ["b"]
    assert "score" in outcome.problems["a"]


HIT = MemoryHit("a.md", 0.5, "one")
WRONG_OUTCOMES = {
    "mode": MemorySearchOutcome([HIT], mode=7),  # type: ignore[arg-type]
    "warning": MemorySearchOutcome([HIT], mode="words", warning=["late"]),  # type: ignore[arg-type]
    "explanation": MemorySearchOutcome([HIT], mode="words", explanation="by words"),  # type: ignore[arg-type]
    "dropped": MemorySearchOutcome([HIT], mode="words", explanation={"dropped": [7]}),
    "source": MemorySearchOutcome([replace(HIT, source=None)], mode="words"),  # type: ignore[arg-type]
    "start_line": MemorySearchOutcome([replace(HIT, start_line="1")], mode="words"),  # type: ignore[arg-type]
    "lines": MemorySearchOutcome([replace(HIT, start_line=-5, end_line=-3)], mode="words"),
    "count from 1": MemorySearchOutcome([replace(HIT, start_line=1, end_line=10**5000)], mode="words"),
}


@pytest.mark.parametrize("name", WRONG_OUTCOMES)
def test_a_field_of_another_type_costs_the_memory_its_part(open_stack: Open, name: str) -> None:
    class Odd(Shelf):
        def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
            return WRONG_OUTCOMES[name]

    outcome = open_stack(odd=Odd(), shelf=Shelf("two")).memories.search("tea")
    assert [each.memory_id for each in outcome.hits] == ["shelf"]
    assert name in outcome.problems["odd"]


def test_what_a_memory_explains_can_be_printed_as_json(open_stack: Open) -> None:
    endless: dict[Any, Any] = {("a", 1): 2}
    endless["again"] = [endless]
    endless["odd"] = {"nan": float("nan"), "huge": 10**5000, "set": {1}, "array": numpy.float32(0.5)}

    class Deep(Shelf):
        def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
            return MemorySearchOutcome([replace(HIT, explanation=endless)], mode="words", explanation=endless)

        def status(self) -> MemoryStatus:
            return MemoryStatus("deep", details=endless)

    host = open_stack(deep=Deep())
    outcome = host.memories.search("tea").outcomes["deep"]
    for explanation in (outcome.explanation, outcome.hits[0].explanation, host.memories.statuses()["deep"].details):
        assert explanation is not None
        assert explanation["('a', 1)"] == 2
        assert explanation["odd"] == {"nan": None, "huge": None, "set": "{1}", "array": 0.5}
        json.dumps(explanation, allow_nan=False)


def test_a_snippet_is_cut_to_what_a_caller_can_show(open_stack: Open) -> None:
    (hit,) = open_stack(long=Shelf("tea " * 100_000)).memories.search("tea").hits
    assert len(hit.hit.snippet) == 20_000


def test_numbers_and_truths_of_numpy_are_taken(open_stack: Open) -> None:
    half: Any = numpy.float32(0.5)
    three: Any = numpy.int64(3)
    yes: Any = numpy.bool_(True)

    class Array(Shelf):
        def search(self, query: str, *, max_results: int | None = None) -> Any:
            hit = replace(HIT, score=half, start_line=three, end_line=three)
            return MemorySearchOutcome([hit], mode="words", weak=yes)

        def status(self) -> Any:
            return MemoryStatus("array", counts={"rows": three})

    host = open_stack(array=Array())
    outcome = host.memories.search("tea")
    assert json.loads(json.dumps(outcome.hits[0].hit.to_json()))["startLine"] == 3
    assert outcome.weak is True
    assert json.dumps(dict(host.memories.statuses()["array"].counts)) == '{"rows": 3}'


def test_secrets_of_any_memory_are_redacted_in_results_and_before_a_prompt(open_stack: Open) -> None:
    host = open_stack(leaky=Shelf("the token is ghp_0123456789abcdefghijABCDEFGHIJ012345"), shelf=Shelf(TEA))
    (text,) = [snippet for memory, snippet in found(host) if memory == "leaky"]
    assert text == "the token is [redacted]"
    outcome = host.memories.search("tea").outcomes["leaky"]
    assert "ghp_" not in str(outcome)
    assert "ghp_" not in host.run("which token?").context


def test_a_property_that_raises_costs_the_memory_its_part(open_stack: Open) -> None:
    class Moody(Shelf):
        moods = 0

        @property
        def remember(self) -> Any:
            raise RuntimeError("not today")

        def __getattribute__(self, name: str) -> Any:
            if name in ("search", "status", "close") and object.__getattribute__(self, "moods"):
                raise RuntimeError("not today")
            return object.__getattribute__(self, name)

    moody, shelf = Moody("one"), Shelf(TEA)
    host = open_stack(moody=moody, shelf=shelf)
    moody.moods = 1
    outcome = host.memories.search("tea")
    assert [each.memory_id for each in outcome.hits] == ["shelf"]
    assert outcome.problems == {"moody": "RuntimeError: not today"}
    assert host.memories.statuses()["moody"].problems == ("it did not report its status: RuntimeError: not today",)
    with pytest.raises(MemslotError):
        host.memories.remember(TEA)
    host.close()
    assert shelf.is_closed


@pytest.mark.parametrize(
    "status",
    [
        MemoryStatus("odd", counts={"texts": "many"}),  # type: ignore[dict-item]
        MemoryStatus("odd", counts={"texts": 10**5000}),
        MemoryStatus("odd", problems=[7]),  # type: ignore[list-item]
        MemoryStatus(None),  # type: ignore[arg-type]
    ],
)
def test_a_status_that_cannot_be_shown_is_a_problem(open_stack: Open, status: MemoryStatus) -> None:
    class Odd(Shelf):
        def status(self) -> MemoryStatus:
            return status

    statuses = open_stack(odd=Odd(), shelf=Shelf()).memories.statuses()
    assert "it did not report its status: returned a MemoryStatus whose" in statuses["odd"].problems[0]
    assert statuses["shelf"].is_healthy


class TestWriting:
    def test_the_first_that_can_remembers_or_the_one_named(self, open_stack: Open) -> None:
        first, second = Notebook(), Notebook()
        host = open_stack(shelf=Shelf(), first=first, second=second)
        assert host.memories.remember(TEA) == ("first", MemoryReceipt("0.md"))
        assert host.memories.remember(ROOF, into="second") == ("second", MemoryReceipt("0.md"))
        assert (first.texts, second.texts) == ([TEA], [ROOF])

    @pytest.mark.parametrize(
        ("into", "message"),
        [
            ("shelf", "shelf cannot remember a text; what it can: search"),
            ("nobody", 'no memory "nobody" is in the slot, which holds: shelf'),
            (None, "no memory in the slot can store text; the slot holds: shelf"),
        ],
    )
    def test_where_nothing_can_remember_it_says_so(self, open_stack: Open, into: str | None, message: str) -> None:
        with pytest.raises(MemslotError) as caught:
            open_stack(shelf=Shelf()).memories.remember(TEA, into=into)
        assert str(caught.value) == message

    def test_forgetting_is_for_those_that_can(self, open_stack: Open) -> None:
        host = open_stack(notebook=Notebook(TEA), shelf=Shelf())
        assert host.memories.forget("notebook", "0.md") is True
        assert host.memories.forget("notebook", "0.md") is False
        with pytest.raises(MemslotError, match="shelf cannot forget"):
            host.memories.forget("shelf", "0.md")

    def test_a_memory_that_fails_to_write_is_an_error_that_names_it(self, open_stack: Open) -> None:
        class Full(Notebook):
            def remember(self, text: str, *, session: object = None) -> MemoryReceipt:
                raise OSError("no space left")

        class Refusing(Notebook):
            def remember(self, text: str, *, session: object = None) -> MemoryReceipt:
                raise MemslotError("notes are written in direct chats only")

        host = open_stack(full=Full(), refusing=Refusing())
        with pytest.raises(MemslotError, match="full failed: OSError: no space left"):
            host.memories.remember(TEA)
        with pytest.raises(MemslotError, match=r"^notes are written in direct chats only$"):
            host.memories.remember(TEA, into="refusing")
        assert [event.plugin for event in host.diagnostics] == ["full"]

    def test_others_hear_of_what_was_remembered_once_and_redacted(self, open_stack: Open) -> None:
        notebook, shelf = Notebook(), Shelf()
        host = open_stack(notebook=notebook, shelf=shelf)
        host.memories.remember("the token is ghp_0123456789abcdefghijABCDEFGHIJ012345")
        host.memories.remember("the token is ghp_0123456789abcdefghijABCDEFGHIJ012345")
        host.close()
        (heard,) = shelf.heard
        assert (heard.memory_id, heard.path, heard.by) == ("notebook", "0.md", "remember")
        assert "ghp_" not in heard.text
        assert notebook.heard == []
