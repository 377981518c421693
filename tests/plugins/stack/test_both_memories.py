"""Notes and captured facts side by side: memory-core and memory-lancedb in one slot."""

from __future__ import annotations

import importlib
import json
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from memslot import (
    CanKeepFiles,
    Host,
    MemorySearchOutcome,
    MemoryStatus,
    MemoryWritten,
    MemslotError,
    Session,
    count_tokens,
    hookimpl,
)
from memslot.testing import HostOpener, InlinePlugin

BOTH = ["memory-core", "memory-lancedb"]
TEA = "I prefer tea over coffee."
MOST_TOKENS, MOST_TOKENS_WITH_SCHEMAS = 600, 1600
"""What both memories may cost in each request: the tools' descriptions and the section, and with the parameters of the
tools as JSON Schemas. The docs state both."""

Open = Callable[..., Host]


@pytest.fixture
def open_both(tmp_path: Path) -> Iterator[Open]:
    """Opens hosts with both memories over one home; keywords alone are enough here."""
    with HostOpener(tmp_path / "home") as open_host:

        def load(
            *plugins: InlinePlugin, slot: Any = None, strict: bool = True, provider: str = "none", **settings: Any
        ) -> Host:
            named = BOTH if provider == "none" else [*BOTH, "embed-universal"]
            entry = {"memory-lancedb": {"config": {"autoCapture": True, **settings}}}
            config = {
                "plugins": {"slots": {"memory": slot or BOTH}, "entries": entry},
                "agents": {"defaults": {"memorySearch": {"provider": provider}}},
            }
            return open_host(*named, *plugins, config=config, strict=strict)

        yield load


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "workspace"
    folder.mkdir(parents=True)
    return folder


def facts(host: Host) -> list[str]:
    memory: Any = host.memories.get("memory-lancedb")
    return [item.title for item in memory.list_items().items]


def say(host: Host, text: str, *, session: str = "s1", note: str | None = None) -> None:
    """One run in which the user says something, and the model may note it."""
    with host.run(text, session=session) as run:
        if note is not None:
            assert not run.call_tool("memory_write", {"text": note}).is_error
        run.finish([{"role": "user", "content": text}, {"role": "assistant", "content": "Fine."}])


class TestRecall:
    def test_one_block_has_what_both_remember_and_says_it_once(self, open_both: Open, workspace: Path) -> None:
        (workspace / "MEMORY.md").write_text("# Team\n\n- Ana prefers tea over coffee.\n")
        (workspace / "memory").mkdir()
        (workspace / "memory" / "deploy.md").write_text("The billing service is deployed with Nomad on Tuesdays.\n")
        host = open_both()
        host.memories.remember("Ana prefers tea over coffee", into="memory-lancedb")
        host.memories.remember("The billing service is deployed by Ben, who has the keys.", into="memory-lancedb")
        run = host.run("How is the billing service deployed? Does Ana prefer tea or coffee?")
        assert run.context.count("<relevant-memories>") == 1
        assert run.context.count("prefers tea over coffee") == 1
        lines = run.context.split("\n")
        assert "- From MEMORY.md:" in lines
        assert "- memory-lancedb: The billing service is deployed by Ben, who has the keys." in lines
        assert "- memory/deploy.md#L1-L1: The billing service is deployed with Nomad on Tuesdays." in lines

    @pytest.mark.parametrize("alone", BOTH)
    def test_a_memory_alone_names_itself_as_little_as_before(
        self, open_both: Open, workspace: Path, alone: str
    ) -> None:
        (workspace / "MEMORY.md").write_text("Ana prefers tea over coffee.\n")
        open_both().memories.remember("Ana prefers tea over coffee", into="memory-lancedb")
        host = open_both(slot=alone, strict=False)
        assert host.memories.ids == (alone,)
        context = host.run("Does Ana prefer tea or coffee?").context
        assert "Ana prefers tea over coffee" in context
        assert "memory-" not in context

    def test_the_same_statement_is_found_once_by_meaning_too(
        self, open_both: Open, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("memslot.embeddings.likeness.SECONDS", 60.0)  # for a busy machine
        (workspace / "MEMORY.md").write_text("Ana, my sister, prefers tea over coffee.\n")
        host = open_both(provider="universal")
        host.memories.remember("Ana prefers tea over coffee", into="memory-lancedb")
        hits = host.memories.search("What does Ana like to drink?").hits
        assert [each.memory_id for each in hits] == ["memory-core"]


class TestPrompt:
    def test_both_speak_in_one_section(self, open_both: Open) -> None:
        prompt = open_both().system_prompt()
        assert prompt.count("## ") == 1
        assert prompt.startswith("## Memory Recall\n")
        for tool in ("memory_search", "memory_get", "memory_write", "memory_recall", "memory_store", "memory_forget"):
            assert tool in prompt

    def test_tools_and_section_stay_small(self, open_both: Open) -> None:
        host = open_both()
        said = "\n".join([*(tool.description for tool in host.tools()), host.system_prompt()])
        tools = json.dumps([tool.to_openai() for tool in host.tools()])
        assert 300 < count_tokens([], said) <= MOST_TOKENS
        assert count_tokens([], tools + host.system_prompt()) <= MOST_TOKENS_WITH_SCHEMAS

    def test_alone_each_keeps_its_own_section(self, open_both: Open) -> None:
        assert open_both(slot="memory-lancedb", strict=False).system_prompt().startswith("## Long-term Memory\n")


class TestKeptOnce:
    def test_what_the_model_noted_in_a_run_is_not_captured_at_its_end(self, open_both: Open, workspace: Path) -> None:
        host = open_both()
        say(host, f"Please remember that {TEA}", note="The user prefers tea over coffee.")
        assert facts(host) == []
        memory: Any = host.memories.get("memory-lancedb")
        (decision,) = memory.log.latest(5)
        assert (decision.kept, decision.rule) == (False, "elsewhere")
        assert decision.reason.startswith("worth keeping, but memory-core keeps it already: memory/")

    def test_another_process_of_the_agent_knows_of_the_note(self, open_both: Open, workspace: Path) -> None:
        first = open_both()
        first.call_tool("memory_write", {"text": "User likes tea more than coffee; prefers it black."})
        first.close()
        host = open_both()
        say(host, "I prefer black tea to coffee.", session="another")
        assert facts(host) == []

    def test_what_was_noted_and_deleted_again_is_captured(self, open_both: Open, workspace: Path) -> None:
        host = open_both()
        say(host, TEA, note="The user prefers tea over coffee.")
        assert facts(host) == []
        for note in (workspace / "memory").iterdir():
            note.write_text("# Today\n")
        host.memories.call("memory-core", "refresh", host.memory.refresh)  # type: ignore[union-attr]
        say(host, TEA, session="later")
        assert facts(host) == [TEA]

    def test_what_stands_in_the_notes_since_long_is_not_captured(self, open_both: Open, workspace: Path) -> None:
        (workspace / "MEMORY.md").write_text("# About me\n\n- I prefer tea over coffee\n- I live in Graz.\n")
        host = open_both()
        say(host, TEA)
        assert facts(host) == []

    @pytest.mark.parametrize(
        "text", ["I prefer coffee over tea.", "I never prefer tea over coffee.", "I live in Linz."]
    )
    def test_another_statement_is_captured(self, open_both: Open, workspace: Path, text: str) -> None:
        (workspace / "MEMORY.md").write_text("- I prefer tea over coffee\n- I live in Graz.\n")
        host = open_both()
        say(host, text, note="Deployed the billing service.")
        assert facts(host) == [text]

    def test_what_the_notes_say_of_somebody_else_or_of_another_state_is_stored(
        self, open_both: Open, workspace: Path
    ) -> None:
        (workspace / "MEMORY.md").write_text("- Ben prefers tea over coffee.\n- My alarm is always on at night.\n")
        host = open_both()
        say(host, TEA)
        say(host, "My alarm is always off at night.")
        assert sorted(facts(host)) == [TEA, "My alarm is always off at night."]
        found = [each.hit.snippet for each in host.memories.search("alarm at night").hits]
        assert sum("always on" in text for text in found) == sum("always off" in text for text in found) == 1

    @pytest.mark.parametrize(
        ("note", "text"),
        [
            ("The user's sister lives in Graz.", "My sister lives in Linz."),
            ("Der User mag Kaffee aus Graz sehr gern.", "Ich mag Kaffee aus Linz sehr gern."),
            ("User prefers Vim as an editor for Python.", "I prefer Emacs as an editor for Python."),
        ],
    )
    def test_another_name_than_the_one_noted_is_captured(
        self, open_both: Open, workspace: Path, note: str, text: str
    ) -> None:
        host = open_both()
        host.call_tool("memory_write", {"text": note})
        say(host, text)
        assert facts(host) == [text]

    def test_the_config_can_ask_for_both(self, open_both: Open, workspace: Path) -> None:
        host = open_both(duplicateOtherMemories=True)
        say(host, TEA, note=TEA)
        assert facts(host) == [TEA]

    def test_storing_what_is_in_the_notes_says_where_it_is(self, open_both: Open, workspace: Path) -> None:
        (workspace / "MEMORY.md").write_text("- I prefer tea over coffee\n")
        host = open_both()
        result = host.call_tool("memory_store", {"text": TEA})
        assert isinstance(result.data, dict)
        assert (result.data["action"], result.data["keptBy"], result.is_error) == ("duplicate", "memory-core", False)
        assert result.data["path"].startswith("MEMORY.md")
        assert facts(host) == []
        assert host.call_tool("memory_store", {"text": "My sister lives in Graz."}).data["action"] == "created"

    def test_a_note_that_is_asked_for_is_written_also_where_a_fact_says_it(
        self, open_both: Open, workspace: Path
    ) -> None:
        host = open_both()
        say(host, TEA)
        assert facts(host) == [TEA]
        result = host.call_tool("memory_write", {"text": TEA, "target": "memory"})
        assert not result.is_error
        assert TEA in (workspace / "MEMORY.md").read_text()

    def test_a_plugin_hears_of_every_kind_of_write(self, open_both: Open, workspace: Path) -> None:
        heard: list[tuple[str, str, str]] = []

        class Listener:
            @hookimpl
            def memory_written(self, written: MemoryWritten) -> None:
                heard.append((written.memory_id, written.by, written.path.split("/")[0]))

        host = open_both(InlinePlugin(Listener(), "listener"))
        host.call_tool("memory_write", {"text": "Deployed on Tuesday."})
        host.call_tool("memory_store", {"text": "My dentist is Dr. Novak."})
        host.memories.remember("The sea is blue.")
        say(host, TEA)
        host.close()
        assert heard == [
            ("memory-core", "tool", "memory"),
            ("memory-lancedb", "tool", "ltm"),
            ("memory-core", "remember", "memory"),
            ("memory-lancedb", "capture", "ltm"),
        ]


class TestWhatStandsOnTheMemories:
    """The first memory that can is meant, whoever owns the slot."""

    LANCE_FIRST = ("memory-lancedb", "memory-core")

    def test_notes_and_facts_are_mcp_resources(self, open_both: Open, workspace: Path) -> None:
        from memslot_mcp_server.server.resources import has_notes, list_notes, read_note

        (workspace / "MEMORY.md").write_text("The gate is green.\n")
        host = open_both(slot=list(self.LANCE_FIRST))
        host.memories.remember(TEA)
        session = Session("main")
        assert has_notes(host)
        paths = [item.path for item in list_notes(host, session)]
        assert paths[1:] == ["MEMORY.md"]
        assert read_note(host, paths[0], session) == TEA
        assert read_note(host, "MEMORY.md", session) == "The gate is green."
        assert read_note(host, "ltm/nothing", session) is None

    def test_broken_memories_hide_no_resources_of_the_others(
        self, open_both: Open, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from memslot_mcp_server.server.resources import list_notes, read_note

        monkeypatch.setattr("memslot_mcp_server.server.resources.ANSWER_SECONDS", 5.0)
        released = threading.Event()

        class Broken:
            """A memory of which every method does the same."""

            def __init__(self, act: Callable[..., Any]) -> None:
                self.search = self.status = self.list_items = self.read = act
                self.close = lambda: None

            @hookimpl
            def register_memory(self) -> Any:
                return self

        def hang(*given: Any, **options: Any) -> None:
            released.wait()

        def fail(*given: Any, **options: Any) -> None:
            raise RuntimeError("the disk is on fire")

        def lie(*given: Any, **options: Any) -> Any:
            return {"items": "many"}

        broken = {each.__name__: InlinePlugin(Broken(each), each.__name__, "memory") for each in (hang, fail, lie)}
        (workspace / "MEMORY.md").write_text("The gate is green.\n")
        host = open_both(*broken.values(), slot=[*broken, *self.LANCE_FIRST], strict=False)
        host.memories.remember(TEA, into="memory-lancedb")
        for each in BOTH:  # what they load at first may take its time
            memory: Any = host.memories.get(each)
            memory.list_items()
        session = Session("main")
        try:
            paths = [item.path for item in list_notes(host, session)]
            assert paths[1:] == ["MEMORY.md"]
            assert read_note(host, "MEMORY.md", session) == "The gate is green."
        finally:
            released.set()
        assert {event.plugin for event in host.diagnostics} == {"hang", "fail", "lie"}

    def test_a_memory_that_exits_keeps_no_other_from_its_refresh_after_a_turn(self, open_both: Open) -> None:
        from memslot_mcp_server.commands import hook
        from memslot_mcp_server.hooks.payload import Payload

        done: list[str] = []

        class Refreshed:
            def __init__(self, refresh: Callable[[], Any]) -> None:
                self.refresh = refresh

            def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
                return MemorySearchOutcome([], mode="words")

            def status(self) -> MemoryStatus:
                return MemoryStatus("refreshed")

            def close(self) -> None:
                done.append("closed")

            @hookimpl
            def register_memory(self) -> Any:
                return self

        first = InlinePlugin(Refreshed(lambda: sys.exit(3)), "exits", "memory")
        second = InlinePlugin(Refreshed(lambda: done.append("refreshed")), "fine", "memory")
        host = open_both(first, second, slot=["exits", "fine"], strict=False)
        hook._take(host, "session-end", Payload("s", ""))
        assert done == ["refreshed", "closed", "closed"]

    def test_the_langgraph_store_uses_the_memory_that_keeps_files(self, open_both: Open, workspace: Path) -> None:
        from memslot_adapters.langgraph import MemoryStore

        host = open_both(slot=list(self.LANCE_FIRST))
        store = MemoryStore(host)
        store.put(("users",), "ana", {"drinks": "tea"})
        item = store.get(("users",), "ana")
        assert item is not None
        assert item.value == {"drinks": "tea"}

    def test_without_one_that_keeps_files_the_store_says_so(self, open_both: Open) -> None:
        from memslot_adapters.langgraph import MemoryStore

        host = open_both(slot="memory-lancedb", strict=False)
        with pytest.raises(MemslotError, match="memory-lancedb keeps none"):
            MemoryStore(host)

    def test_what_hermes_notes_goes_to_the_first_that_can_and_others_hear_of_it(
        self, open_both: Open, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        base = types.ModuleType("agent.memory_provider")
        base.MemoryProvider = object  # type: ignore[attr-defined]
        for name, module in {"agent": types.ModuleType("agent"), "agent.memory_provider": base}.items():
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.delitem(sys.modules, "memslot_adapters.hermes.provider", raising=False)
        heard: list[MemoryWritten] = []

        class Reader:
            """A memory that cannot remember, and owns the slot."""

            def search(self, query: str, *, max_results: int | None = None) -> MemorySearchOutcome:
                return MemorySearchOutcome([], mode="words")

            def status(self) -> MemoryStatus:
                return MemoryStatus("reader")

            def close(self) -> None: ...

            @hookimpl
            def register_memory(self) -> Any:
                return self

            @hookimpl
            def memory_written(self, written: MemoryWritten) -> None:
                heard.append(written)

        host = open_both(InlinePlugin(Reader(), "reader", "memory"), slot=["reader", "memory-core"], strict=False)
        provider = importlib.import_module("memslot_adapters.hermes.provider").MemslotProvider(host)
        monkeypatch.delitem(sys.modules, "memslot_adapters.hermes.provider")
        provider.initialize("talk")
        provider.on_memory_write("add", "user", "Prefers quince jam.")
        host.close()
        (written,) = heard
        assert (written.memory_id, written.text) == ("memory-core", "About the user: Prefers quince jam.")

    def test_claudes_memory_tool_writes_notes_and_others_hear_of_it(self, tmp_path: Path, workspace: Path) -> None:
        config = {
            "plugins": {
                "slots": {"memory": list(self.LANCE_FIRST)},
                "entries": {
                    "anthropic-memory": {"config": {"tool": True}},
                    "memory-lancedb": {"config": {"autoCapture": True}},
                },
            },
            "agents": {"defaults": {"memorySearch": {"provider": "none"}}},
        }
        with HostOpener(tmp_path / "home") as open_host:
            host = open_host(*BOTH, "anthropic-memory", config=config)
            found = host.memories.first(CanKeepFiles)
            assert found is not None
            assert found[0] == "memory-core"
            command = {
                "command": "create",
                "path": "/memories/drinks.md",
                "file_text": "The user prefers tea over coffee.",
            }
            with host.run(TEA, session="s1") as run:
                result = run.call_tool("memory", command)
                assert not result.is_error, result.text
                run.finish([{"role": "user", "content": f"Remember that {TEA}"}])
            assert facts(host) == []
        assert (workspace / "memory" / "drinks.md").read_text() == "The user prefers tea over coffee."
