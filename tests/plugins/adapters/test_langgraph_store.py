"""The store of LangGraph: held to the store in memory, and to what a store of notes must do besides."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import stat
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from memslot import Host, MemslotError
from memslot_adapters.langgraph import MemoryStore
from memslot_adapters.langgraph.item_files import encode, note_name

from tests.plugins.adapters.conftest import OpenHost

ANA = ("users", "ana")
NAMES = [
    "ana",
    "Ana",
    "ANA",
    "a b",
    "ä",
    "日本語",
    "../..",
    "con",
    "nul",
    "venv",
    "~",
    "%41",
    "x" * 300,
    "x" * 301,
    "\ud800",
]


@pytest.fixture
def store(host: Host) -> MemoryStore:
    return MemoryStore(host)


@pytest.fixture
def folder(memslot_home: Path) -> Path:
    return memslot_home / "workspace" / "memory" / "store"


class TestItems:
    def test_what_was_put_is_got(self, store: MemoryStore) -> None:
        value = {"text": "mango\n---\nkey: x", "n": 3, "deep": {"list": [1, None, True, 2.5]}, "ü": "日本"}
        store.put(ANA, "food", value)
        item = store.get(ANA, "food")
        assert item is not None
        assert (item.value, item.key, item.namespace) == (value, "food", ANA)
        assert item.created_at == item.updated_at
        assert item.created_at.utcoffset() == timedelta(0)

    def test_what_was_never_put_is_none(self, store: MemoryStore) -> None:
        assert store.get(ANA, "food") is None
        assert store.search(ANA) == []
        assert store.list_namespaces() == []
        store.delete(ANA, "food")

    def test_putting_again_keeps_the_time_of_the_first(self, store: MemoryStore) -> None:
        store.put(ANA, "food", {"n": 1})
        first = store.get(ANA, "food")
        store.put(ANA, "food", {"n": 2})
        second = store.get(ANA, "food")
        assert first is not None
        assert second is not None
        assert second.value == {"n": 2}
        assert second.created_at == first.created_at
        assert second.updated_at > first.updated_at

    def test_deleting_removes_the_file_and_empty_folders(self, store: MemoryStore, folder: Path) -> None:
        store.put(ANA, "food", {"n": 1})
        store.put(("users",), "all", {"n": 1})
        store.delete(ANA, "food")
        assert store.get(ANA, "food") is None
        assert sorted(path.name for path in folder.rglob("*")) == ["all.md", "users"]

    def test_a_second_store_sees_it(self, store: MemoryStore, host: Host) -> None:
        store.put(ANA, "food", {"n": 1})
        assert MemoryStore(host).get(ANA, "food") is not None

    def test_the_value_is_the_programs_own(self, store: MemoryStore) -> None:
        store.put(ANA, "food", {"list": [1]})
        item = store.get(ANA, "food")
        assert item is not None
        item.value["list"].append(2)
        again = store.get(ANA, "food")
        assert again is not None
        assert again.value == {"list": [1]}

    @pytest.mark.parametrize("value", [{"x": object()}, {"x": {1, 2}}, {"x": float("nan")}, {"x": b"bytes"}])
    def test_what_is_not_json_is_refused_and_nothing_is_written(self, store: MemoryStore, value: Any) -> None:
        with pytest.raises(MemslotError, match="the value of 'bad' cannot be kept"):
            store.batch([PutOp(ANA, "good", {"n": 1}), PutOp(ANA, "bad", value)])
        assert store.search(()) == []

    def test_a_time_to_live_is_refused(self, store: MemoryStore) -> None:
        with pytest.raises(NotImplementedError, match="TTL"):
            store.put(ANA, "food", {"n": 1}, ttl=5)

    @pytest.mark.parametrize("namespace", [(), ("a.b",), ("",), ("langgraph", "x"), ("a", 1)])
    def test_namespaces_that_langgraph_forbids(self, store: MemoryStore, namespace: Any) -> None:
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {})

    @pytest.mark.parametrize("op", [PutOp(("a.b",), "k", {}), GetOp(("",), "k"), SearchOp(("a\0",))])
    def test_also_where_operations_are_given_directly(self, store: MemoryStore, op: Any) -> None:
        with pytest.raises(InvalidNamespaceError):
            store.batch([op])

    def test_too_many_labels_are_refused(self, store: MemoryStore) -> None:
        with pytest.raises(MemslotError, match="at most 16 labels"):
            store.put(("a",) * 17, "k", {})


class TestNames:
    @pytest.mark.parametrize("name", NAMES)
    def test_odd_names_come_back_as_label_and_as_key(self, store: MemoryStore, folder: Path, name: str) -> None:
        label = name.replace(".", "")
        namespace = ("users", label) if label else ("users",)
        store.put(namespace, name, {"n": 1})
        item = store.get(namespace, name)
        assert item is not None
        assert (item.namespace, item.key) == (namespace, name)
        assert store.list_namespaces() == [namespace]
        (file,) = [path for path in folder.rglob("*") if path.is_file()]
        assert file.resolve().is_relative_to(folder.resolve())

    def test_names_that_differ_by_case_are_different_files_everywhere(self, store: MemoryStore) -> None:
        for number, name in enumerate(NAMES):
            store.put(ANA, name, {"n": number})
        assert {item.key: item.value["n"] for item in store.search(ANA, limit=99)} == {
            name: number for number, name in enumerate(NAMES)
        }
        assert len({note_name(ANA, name, ".md").casefold() for name in NAMES}) == len(NAMES)

    @given(st.text(), st.text())
    def test_no_two_names_share_a_file_and_none_leads_elsewhere(self, one: str, other: str) -> None:
        assert (encode(one).casefold() == encode(other).casefold()) == (one == other)
        assert 0 < len(encode(one)) <= 100
        assert not set(encode(one)) & set('/\\:.*?"<>| ')


class TestSearch:
    def test_without_a_query_the_newest_come_first(self, store: MemoryStore) -> None:
        for number in range(5):
            store.put(ANA, f"k{number}", {"n": number})
        assert [item.key for item in store.search(ANA, limit=3)] == ["k4", "k3", "k2"]
        assert [item.key for item in store.search(ANA, limit=3, offset=3)] == ["k1", "k0"]
        assert all(item.score is None for item in store.search(ANA))

    def test_a_prefix_means_whole_labels(self, store: MemoryStore) -> None:
        store.put(("users", "ana"), "k", {})
        store.put(("users", "anastasia"), "k", {})
        store.put(("users", "ana", "notes"), "k", {})
        found = {item.namespace for item in store.search(("users", "ana"))}
        assert found == {("users", "ana"), ("users", "ana", "notes")}

    def test_what_fits_the_query_comes_first_with_a_score(self, open_host: OpenHost) -> None:
        store = MemoryStore(open_host("memory-core", "embed-universal", provider="universal"))
        store.put(ANA, "pet", {"text": "She has a dog named Rex."})
        store.put(ANA, "food", {"text": "She is fond of mango."})
        store.put(("users", "ben"), "pet", {"text": "A cat and a dog."})
        first, second = store.search(ANA, query="which animal lives with her?")
        assert first.key == "pet"
        assert first.score is not None
        assert second.score is None or first.score > second.score

    def test_a_search_finds_what_was_put_a_moment_ago(self, store: MemoryStore) -> None:
        for word in ("orchid", "violin", "lamp"):
            store.put(ANA, word, {"text": f"There is a {word}."})
            assert store.search(ANA, query=word)[0].key == word

    def test_no_item_is_left_out_for_a_query(self, store: MemoryStore) -> None:
        for number in range(20):
            store.put(ANA, f"k{number}", {"text": f"thing {number}"})
        store.put(ANA, "m", {"text": "mango"})
        pages = [store.search(ANA, query="mango", limit=8, offset=offset) for offset in (0, 8, 16)]
        keys = [item.key for page in pages for item in page]
        assert keys[0] == "m"
        assert len(keys) == len(set(keys)) == 21

    def test_an_item_that_is_not_indexed_has_no_score(self, store: MemoryStore) -> None:
        store.put(ANA, "secret", {"text": "mango"}, index=False)
        store.put(ANA, "open", {"text": "mango"})
        assert [(item.key, item.score is None) for item in store.search(ANA, query="mango")] == [
            ("open", False),
            ("secret", True),
        ]

    def test_a_filter_counts_before_the_limit(self, store: MemoryStore) -> None:
        for number in range(9):
            store.put(ANA, f"k{number}", {"n": number, "text": "mango"})
        found = store.search(ANA, query="mango", filter={"n": {"$gte": 3, "$lt": 8, "$ne": 5}}, limit=2, offset=2)
        assert len(found) == 2
        assert {item.value["n"] for item in store.search(ANA, filter={"n": {"$lte": 1}})} == {0, 1}

    def test_an_operator_nobody_knows(self, store: MemoryStore) -> None:
        store.put(ANA, "k", {"n": 1})
        with pytest.raises(ValueError, match=r"operator '\$in' is unknown"):
            store.search(ANA, filter={"n": {"$in": [1]}})

    def test_what_is_no_number_is_neither_more_nor_less(self, store: MemoryStore) -> None:
        store.put(ANA, "k", {"n": "many"})
        assert store.search(ANA, filter={"n": {"$gt": 0}}) == []

    def test_the_agent_finds_items_by_its_own_tool(self, store: MemoryStore, host: Host) -> None:
        store.put(ANA, "pet", {"text": "A dog named Rex."})
        host.memory.sync()  # type: ignore[union-attr]
        result = host.call_tool("memory_search", {"query": "Rex dog"}).data
        assert result["results"][0]["path"] == "memory/store/users/ana/pet.md"

    def test_fields_that_are_named_stand_in_the_text(self, store: MemoryStore, folder: Path) -> None:
        store.put(ANA, "k", {"a": {"b": "one"}, "c": ["two", "three"], "d": "four"}, index=["a.b", "c[*]"])
        text = (folder / "users" / "ana" / "k.md").read_text(encoding="utf-8").split("---\n")[2]
        assert text.split("\n") == ["", "a.b: one", "c[*]: two", "c[*]: three", ""]

    @pytest.mark.parametrize("slot", ["memory-lancedb", "none"])
    def test_a_memory_without_note_files_is_refused_in_one_sentence(self, open_host: OpenHost, slot: str) -> None:
        plugins = ("memory-lancedb", "embed-universal") if slot == "memory-lancedb" else ("embed-universal",)
        host = open_host(*plugins, provider="universal")
        reason = "memory-lancedb keeps none" if slot == "memory-lancedb" else host.memory_problem
        with pytest.raises(MemslotError) as told:
            MemoryStore(host)
        assert str(told.value) == f"the store keeps its items in the memory's note files: {reason}"


class TestNamespaces:
    @pytest.fixture(autouse=True)
    def _filled(self, store: MemoryStore) -> None:
        for name in (("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"), ("a", "c", "f")):
            store.put(name, "k", {})

    def test_a_prefix_cut_at_a_depth(self, store: MemoryStore) -> None:
        found = store.list_namespaces(prefix=("a", "b"), max_depth=3)
        assert found == [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]

    def test_a_suffix_and_a_wildcard(self, store: MemoryStore) -> None:
        assert store.list_namespaces(suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f")]
        assert store.list_namespaces(prefix=("a", "*", "f")) == [("a", "b", "f"), ("a", "c", "f")]
        assert store.list_namespaces(prefix=("b",)) == []

    def test_pages(self, store: MemoryStore) -> None:
        assert store.list_namespaces(limit=2, offset=3) == [("a", "b", "f"), ("a", "c", "f")]


class TestBatches:
    def test_what_is_read_is_as_before_what_is_written(self, store: MemoryStore) -> None:
        store.put(ANA, "k", {"n": 1})
        ops = [PutOp(ANA, "k", {"n": 2}), GetOp(ANA, "k"), PutOp(ANA, "new", {}), SearchOp(ANA), ListNamespacesOp()]
        put, got, also, found, listed = store.batch(ops)
        assert (put, also) == (None, None)
        assert isinstance(got, Item)
        assert got.value == {"n": 1}
        assert [item.key for item in found] == ["k"]  # type: ignore[union-attr]
        assert listed == [ANA]
        assert {item.key: item.value for item in store.search(ANA)} == {"k": {"n": 2}, "new": {}}

    def test_the_last_word_on_an_item_counts(self, store: MemoryStore) -> None:
        store.batch(
            [PutOp(ANA, "a", {"n": 1}), PutOp(ANA, "a", None), PutOp(ANA, "b", None), PutOp(ANA, "b", {"n": 2})]
        )
        assert [item.key for item in store.search(ANA)] == ["b"]

    def test_an_operation_nobody_knows(self, store: MemoryStore) -> None:
        with pytest.raises(ValueError, match="unknown operation"):
            store.batch([("put",)])  # type: ignore[list-item]

    def test_the_async_methods_do_the_same(self, store: MemoryStore) -> None:
        async def main() -> None:
            await asyncio.gather(*(store.aput(ANA, f"k{number}", {"n": number}) for number in range(10)))
            item = await store.aget(ANA, "k3")
            assert item is not None
            assert item.value == {"n": 3}
            assert len(await store.asearch(ANA, limit=99)) == 10
            await store.adelete(ANA, "k3")
            assert await store.aget(ANA, "k3") is None
            assert await store.alist_namespaces() == [ANA]

        asyncio.run(asyncio.wait_for(main(), 60))

    def test_in_a_graph_nodes_get_it(self, store: MemoryStore) -> None:
        async def remember(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
            await store.aput(ANA, "said", {"text": str(state["messages"][-1].content)})
            return {"messages": [("assistant", "noted")]}

        graph = StateGraph(MessagesState)
        graph.add_node("remember", remember)
        graph.add_edge(START, "remember")
        asyncio.run(graph.compile(store=store).ainvoke({"messages": [("user", "I like mango")]}))
        item = store.get(ANA, "said")
        assert item is not None
        assert item.value == {"text": "I like mango"}


class TestFiles:
    def test_they_are_notes_that_only_the_owner_reads(self, store: MemoryStore, folder: Path) -> None:
        store.put(ANA, "food", {"text": "She is fond of mango", "n": 3})
        file = folder / "users" / "ana" / "food.md"
        text = file.read_text(encoding="utf-8")
        assert 'value: {"text": "She is fond of mango", "n": 3}' in text
        assert text.endswith("---\n\ntext: She is fond of mango\nn: 3\n")
        if os.name == "posix":
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert [path.name for path in folder.rglob("*") if path.is_file()] == ["food.md"], "nothing else is left"

    def test_a_person_may_change_a_value(self, store: MemoryStore, folder: Path) -> None:
        store.put(ANA, "food", {"text": "mango"})
        file = folder / "users" / "ana" / "food.md"
        file.write_bytes(file.read_bytes().replace(b'{"text": "mango"}', b'{"text": "plum"}').replace(b"\n", b"\r\n"))
        item = store.get(ANA, "food")
        assert item is not None
        assert item.value == {"text": "plum"}

    @pytest.mark.parametrize(
        "damage",
        [
            b"---\nnamespace: [",
            b"---\nvalue: 3\nkey: 1\nnamespace: []\n---\n",
            b"---\nkey",
            b"---\nkey: {\n---\n",
            b"---\nvalue: " + b"[" * 100_000 + b"\n---\n",
        ],
        ids=range(5),
    )
    def test_a_broken_note_is_named_and_the_others_are_found(
        self, store: MemoryStore, folder: Path, damage: bytes, caplog: pytest.LogCaptureFixture
    ) -> None:
        store.put(ANA, "food", {})
        store.put(ANA, "pet", {})
        file = folder / "users" / "ana" / "food.md"
        file.write_bytes(damage)
        assert [item.key for item in store.search(ANA)] == ["pet"]
        assert str(file) in caplog.text
        with pytest.raises(MemslotError, match="cannot be read as an item"):
            store.get(ANA, "food")
        store.put(ANA, "food", {"n": 1})
        assert len(store.search(ANA)) == 2

    def test_a_persons_own_note_there_is_no_item(self, store: MemoryStore, folder: Path) -> None:
        store.put(ANA, "food", {})
        (folder / "users" / "ana" / "mine.md").write_text("# Mine\n", encoding="utf-8")
        (folder / "users" / "ana" / "copy.md").write_bytes((folder / "users" / "ana" / "food.md").read_bytes())
        assert [item.key for item in store.search(())] == ["food"]
        assert store.get(ANA, "mine") is None

    @pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
    def test_links_are_not_followed(self, store: MemoryStore, folder: Path, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        store.put(ANA, "food", {})
        (folder / "users" / "ben").symlink_to(outside)
        (folder / "users" / "ana" / "pet.md").symlink_to(outside / "pet.md")
        for namespace, key in ((("users", "ben"), "k"), (ANA, "pet")):
            with pytest.raises(MemslotError, match="is a symbolic link"):
                store.put(namespace, key, {})
            with pytest.raises(MemslotError, match="is a symbolic link"):
                store.get(namespace, key)
        assert [item.key for item in store.search(())] == ["food"]
        assert store.search(("users", "ben")) == []
        assert list(outside.iterdir()) == []

    def test_a_folder_that_cannot_be_written_is_told_in_one_sentence(self, store: MemoryStore, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "users").write_text("a file in the way", encoding="utf-8")
        with pytest.raises(MemslotError, match="could not be written"):
            store.put(ANA, "food", {})
        assert store.get(ANA, "food") is None

    def test_processes_write_at_once(self, host: Host, store: MemoryStore, memslot_home: Path) -> None:
        context = multiprocessing.get_context("spawn")
        writers = [context.Process(target=write_many, args=(str(memslot_home), name)) for name in ("one", "two")]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(120)
        assert [writer.exitcode for writer in writers] == [0, 0]
        found = store.search(("shared",), limit=999)
        assert {item.key for item in found} == {f"{name}-{n}" for name in ("one", "two") for n in range(30)} | {"both"}
        both = store.get(("shared",), "both")
        assert both is not None
        assert both.value["n"] == 29


def write_many(home: str, name: str) -> None:
    quiet = {"memorySearch": {"provider": "none", "sync": {"watch": False}}}
    with Host.load({"agents": {"defaults": quiet}}, home=home) as host:
        store = MemoryStore(host)
        for number in range(30):
            store.put(("shared",), f"{name}-{number}", {"n": number})
            store.put(("shared",), "both", {"n": number, "by": name})
            assert store.get(("shared",), "both") is not None


# Held to the store in memory

LABELS = st.sampled_from(["a", "b", "A", "ä", "*", "x y"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
PREFIXES = st.lists(LABELS, max_size=3).map(tuple)
KEYS = st.sampled_from(["k", "K", "k.md", "../k", ""])
NUMBERS = st.integers(-2, 2)
VALUES = st.dictionaries(
    st.sampled_from(["n", "deep", "list", "text"]),
    NUMBERS | st.lists(NUMBERS, max_size=2) | st.fixed_dictionaries({"n": NUMBERS}) | st.text(max_size=5) | st.none(),
    max_size=3,
)
FILTERS = st.none() | st.dictionaries(
    st.sampled_from(["n", "deep", "list"]),
    NUMBERS
    | st.none()
    | st.lists(NUMBERS, max_size=2)
    | st.fixed_dictionaries({"n": NUMBERS})
    | st.dictionaries(st.sampled_from(["$eq", "$ne"]), NUMBERS, min_size=1),
    max_size=2,
)
CONDITIONS = st.lists(
    st.builds(lambda kind, path: MatchCondition(kind, path), st.sampled_from(["prefix", "suffix"]), PREFIXES),
    max_size=2,
)
# Functions and not the classes, for which values of all fields would be made up.
OPERATIONS = st.one_of(
    st.builds(lambda namespace, key: GetOp(namespace, key), NAMESPACES, KEYS),
    st.builds(lambda namespace, key, value: PutOp(namespace, key, value), NAMESPACES, KEYS, VALUES | st.none()),
    st.builds(lambda prefix, wanted: SearchOp(prefix, wanted, limit=1000), PREFIXES, FILTERS),
)
LISTINGS = st.builds(
    lambda conditions, depth, limit, offset: ListNamespacesOp(tuple(conditions) or None, depth, limit, offset),
    CONDITIONS,
    st.none() | st.integers(1, 3),
    st.integers(1, 5),
    st.integers(0, 3),
)


def plain(result: Any) -> Any:
    """A result without times and without the order of items, which no store promises."""
    if isinstance(result, Item):
        return (result.namespace, result.key, json.dumps(result.value, sort_keys=True))
    if isinstance(result, list) and result and isinstance(result[0], Item):
        return sorted(plain(item) for item in result)
    return result


def forget_empty(reference: InMemoryStore) -> None:
    """The store in memory lists namespaces in which there is nothing any more, or was only looked for."""
    for namespace in [name for name, items in reference._data.items() if not items]:
        del reference._data[namespace]


@pytest.fixture
def machine(host: Host, folder: Path) -> type[RuleBasedStateMachine]:
    import shutil

    class Twins(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            shutil.rmtree(folder, ignore_errors=True)
            self.ours, self.theirs = MemoryStore(host), InMemoryStore()

        @rule(ops=st.lists(OPERATIONS, max_size=5))
        def batch(self, ops: list[Any]) -> None:
            assert list(map(plain, self.ours.batch(ops))) == list(map(plain, self.theirs.batch(ops)))

        @rule(op=LISTINGS)
        def list_namespaces(self, op: ListNamespacesOp) -> None:
            forget_empty(self.theirs)
            assert self.ours.batch([op]) == self.theirs.batch([op])

        @rule(prefix=PREFIXES, limit=st.integers(1, 3))
        def page_through(self, prefix: tuple[str, ...], limit: int) -> None:
            keys = [plain(item) for item in self.ours.search(prefix, limit=1000)]
            pages = list(self._pages(prefix, limit, len(keys)))
            assert pages == keys

        def _pages(self, prefix: tuple[str, ...], limit: int, count: int) -> Iterator[Any]:
            for offset in range(0, count + limit, limit):
                yield from (plain(item) for item in self.ours.search(prefix, limit=limit, offset=offset))

        @invariant()
        def they_hold_the_same(self) -> None:
            assert plain(self.ours.search((), limit=1000)) == plain(self.theirs.search((), limit=1000))

    return Twins


def test_it_answers_as_the_store_in_memory(machine: type[RuleBasedStateMachine]) -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        machine,
        settings=settings(
            max_examples=50,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
        ),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=st.dictionaries(st.text(), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists)))
def test_any_json_comes_back(store: MemoryStore, value: dict[str, Any]) -> None:
    store.put(("any",), "k", value)
    item = store.get(("any",), "k")
    assert item is not None
    assert item.value == value
