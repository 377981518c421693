"""One agent never sees, changes or removes what is another's: through every tool, command and hook."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from memslot import Host
from memslot_memory_lancedb.errors import NoSuchMemoryError, StoreError
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.memory_record import MemoryRecord
from memslot_memory_lancedb.store.catalogue import table_prefix
from memslot_memory_lancedb.store.predicate import Owner
from memslot_memory_lancedb.store.schema import to_arrow

OpenHost = Callable[..., Host]
MakeMemory = Callable[..., LanceMemory]
SECRET = "The orchid of the first agent is called heliotrope."
AGENTS = {"list": [{"id": "first", "default": True}, {"id": "second"}]}


@pytest.fixture
def both(open_host: OpenHost) -> tuple[Host, Host, str]:
    """Two agents over one store; the first has a secret, whose id is the third."""
    first = open_host(agents=AGENTS, agent="first", autoCapture=True)
    second = open_host(agents=AGENTS, agent="second", autoCapture=True)
    stored = first.call_tool("memory_store", {"text": SECRET}).data
    second.call_tool("memory_store", {"text": "The tulip needs water on Mondays."})
    return first, second, stored["id"]


class TestTools:
    @pytest.mark.parametrize("query", [SECRET, "heliotrope", "orchid", "agentId = 'first' OR 1=1", "first"])
    def test_recall(self, both: tuple[Host, Host, str], query: str) -> None:
        _, second, _ = both
        assert "heliotrope" not in second.call_tool("memory_recall", {"query": query, "limit": 50}).text

    def test_store_names_no_duplicate_of_another(self, both: tuple[Host, Host, str]) -> None:
        _, second, secret_id = both
        answer = second.call_tool("memory_store", {"text": SECRET}).data
        assert answer["action"] == "created"
        assert answer["id"] != secret_id

    @pytest.mark.parametrize("tool", ["memory_update", "memory_forget"])
    def test_an_id_of_another_is_not_there(self, both: tuple[Host, Host, str], tool: str) -> None:
        first, second, secret_id = both
        arguments = {"memoryId": secret_id} | ({"text": "mine now"} if tool == "memory_update" else {})
        answer = second.call_tool(tool, arguments)
        assert answer.is_error
        assert answer.data["error"] == "not_found"
        assert "heliotrope" not in answer.text
        assert SECRET in first.call_tool("memory_recall", {"query": "orchid"}).text

    def test_forget_by_query(self, both: tuple[Host, Host, str]) -> None:
        first, second, _ = both
        assert "heliotrope" not in second.call_tool("memory_forget", {"query": SECRET}).text
        assert SECRET in first.call_tool("memory_recall", {"query": "orchid"}).text


class TestHooks:
    def test_before_agent_start(self, both: tuple[Host, Host, str]) -> None:
        first, second, _ = both
        with first.run("What is the orchid of the first agent called?") as run:
            assert "heliotrope" in run.context
        with second.run("What is the orchid of the first agent called?") as run:
            assert "heliotrope" not in run.context

    def test_agent_end(self, both: tuple[Host, Host, str]) -> None:
        """What one agent captures is its own, though the same text was captured by another in the same session."""
        first, second, _ = both
        message = {"role": "user", "content": "Remember that I always fly from Brno."}
        for host in (first, second):
            with host.run("hello there", session="shared") as run:
                run.finish([message])
            assert "Brno" in host.call_tool("memory_recall", {"query": "airport"}).text

    def test_the_memory_in_the_slot(self, both: tuple[Host, Host, str]) -> None:
        _, second, _ = both
        assert second.memory is not None
        assert all("heliotrope" not in hit.snippet for hit in second.memory.search("orchid", max_results=50).hits)
        assert second.memory_status().counts["memories"] == 1


class TestCommands:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["list", "--json"],
            ["list", "-n", "1000"],
            ["search", "orchid heliotrope", "--json"],
            ["stats", "--json"],
            ["explain", "--json"],
            ["export"],
            ["export", "--format", "markdown"],
            ["history", "--json"],
            ["doctor", "--json"],
            ["optimize", "--json"],
        ],
        ids=" ".join,
    )
    def test_nothing_of_another_is_shown(self, both: tuple[Host, Host, str], arguments: list[str]) -> None:
        _, second, secret_id = both
        shown = _ltm(second, *arguments).output
        assert "heliotrope" not in shown
        assert secret_id not in shown

    def test_nothing_of_another_is_forgotten(self, both: tuple[Host, Host, str]) -> None:
        first, second, secret_id = both
        answer = _ltm(second, "forget", secret_id, "--yes")
        assert answer.exit_code != 0
        assert SECRET in _ltm(first, "export").output

    def test_restore_and_optimize_leave_another_alone(self, both: tuple[Host, Host, str]) -> None:
        first, second, _ = both
        _ltm(second, "restore", "1", "--yes")
        _ltm(second, "optimize", "--purge")
        assert json.loads(_ltm(second, "stats", "--json").output)["memories"] == 0
        assert SECRET in _ltm(first, "export").output

    def test_an_import_cannot_write_into_another(self, both: tuple[Host, Host, str], tmp_path: Path) -> None:
        first, second, secret_id = both
        forged = MemoryRecord("I am yours", id=secret_id).to_json() | {"agentId": "first"}
        file = tmp_path / "forged.jsonl"
        file.write_text(json.dumps(forged) + "\n", encoding="utf-8")
        _ltm(second, "import", str(file), "--replace")
        assert "I am yours" in _ltm(second, "export").output
        assert "I am yours" not in _ltm(first, "export").output


class TestFailClosed:
    @pytest.mark.parametrize("agent_id", ["", "   ", None, 5, "a\x00b"])
    def test_without_an_agent_nothing_opens(self, make_memory: MakeMemory, agent_id: Any) -> None:
        with pytest.raises(StoreError):
            make_memory(agent_id)

    @pytest.mark.parametrize(
        "agent_id",
        ["o'brien", "x' OR '1'='1", 'say "hi"', "back`tick", "semi;colon--", "日本", "a/../b", "100%", "\\'"],
    )
    def test_odd_names_are_names_and_nothing_else(self, make_memory: MakeMemory, agent_id: str) -> None:
        odd, plain = make_memory(agent_id), make_memory("plain")
        plain.keep("The plain agent likes marmalade.")
        kept = odd.keep("The odd agent likes honey.").memory
        assert [hit.snippet for hit in odd.search("marmalade honey").hits] == [kept.text]
        assert odd.store.get(kept.id) == kept
        assert odd.status().counts["memories"] == 1
        assert odd.writer.forget([kept.id]) == 1
        assert plain.status().counts["memories"] == 1

    def test_names_that_differ_in_case_only_are_two_agents(self, make_memory: MakeMemory) -> None:
        """On file systems that do not know the difference, too: their tables' names differ in more than that."""
        names = {table_prefix(Owner(agent_id)).lower() for agent_id in ("Main", "main", "MAIN")}
        assert len(names) == 3
        make_memory("Main").keep("Only the capital one knows.")
        assert make_memory("main").search("capital").hits == []

    def test_a_foreign_row_in_the_agents_own_table_stays_hidden(self, make_memory: MakeMemory) -> None:
        """However it got there: every way to read carries the owner's condition."""
        memory = make_memory("first")
        memory.keep("My own marmalade.")
        table = memory.store.live()
        assert table is not None
        foreign = MemoryRecord("Somebody else's marmalade.", id="foreign")
        vectors = memory.embedder.embed_documents([foreign.text])
        table.handle.add(to_arrow(Owner("second"), table.handle.schema, [foreign], vectors))
        assert table.handle.count_rows() == 2

        vector = memory.embedder.embed_query("marmalade").vector
        assert vector is not None
        assert [each.text for each, _ in table.nearest(vector, 10)] == ["My own marmalade."]
        assert [each.text for each in table.scan()] == ["My own marmalade."]
        assert [each.text for each in table.read()] == ["My own marmalade."]
        assert table.count() == 1
        assert list(table.changes()) != ["foreign"]
        assert table.with_text(foreign.text) is None
        assert table.remove(["foreign"]) == 0
        assert not table.replace(MemoryRecord("taken", id="foreign"), None, foreign)
        with pytest.raises(NoSuchMemoryError):
            memory.store.get("foreign")
        assert table.handle.count_rows() == 2


def _ltm(host: Host, *arguments: str) -> Any:
    """The command as the command line would run it, for one agent's host."""
    command = host.plugin_commands("memory-lancedb")["ltm"]
    return CliRunner().invoke(command, list(arguments))
