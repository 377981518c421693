"""What each tool answers, in every case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from memslot import Host
from memslot.testing import FailingProvider
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.tools import make_tools

OpenHost = Callable[..., Host]
TEA = "I prefer tea over coffee in the morning."
DENTIST = "My dentist is called Dr. Novak."


def ask(host: Host, tool: str, **args: Any) -> Any:
    result = host.call_tool(tool, args)
    assert not result.is_error, result.text
    return result.data


def refuse(host: Host, tool: str, **args: Any) -> Any:
    result = host.call_tool(tool, args)
    assert result.is_error
    return result.data


class TestStore:
    def test_a_new_memory_is_created_with_a_category(self, open_host: OpenHost) -> None:
        stored = ask(open_host(), "memory_store", text=TEA)
        assert stored["action"] == "created"
        assert (stored["category"], stored["importance"]) == ("preference", 0.7)

    def test_a_given_category_and_importance_are_kept(self, open_host: OpenHost) -> None:
        host = open_host()
        ask(host, "memory_store", text=TEA, category="decision", importance=0.2)
        (found,) = ask(host, "memory_recall", query="tea")["memories"]
        assert (found["category"], found["importance"]) == ("decision", 0.2)

    def test_a_duplicate_is_named_and_nothing_is_stored(self, open_host: OpenHost) -> None:
        host = open_host()
        first = ask(host, "memory_store", text=TEA)
        second = ask(host, "memory_store", text="i prefer tea over coffee in the morning!")
        assert second["action"] == "duplicate"
        assert (second["existingId"], second["existingText"]) == (first["id"], TEA)
        assert second["score"] >= 0.95
        assert ask(host, "memory_recall", query="tea")["count"] == 1

    def test_what_is_merely_alike_is_no_duplicate(self, open_host: OpenHost) -> None:
        host = open_host()
        ask(host, "memory_store", text=TEA)
        assert ask(host, "memory_store", text="I prefer coffee over beer in the evening.")["action"] == "created"

    def test_texts_in_a_script_the_embedder_does_not_know_are_no_duplicates(self, open_host: OpenHost) -> None:
        host = open_host()
        assert ask(host, "memory_store", text="我喜欢喝茶，不喜欢咖啡")["action"] == "created"
        assert ask(host, "memory_store", text="我的姐姐住在里斯本")["action"] == "created"
        assert ask(host, "memory_store", text="我喜欢喝茶，不喜欢咖啡")["action"] == "duplicate"

    def test_secrets_are_redacted_and_recalled_blocks_left_out(self, open_host: OpenHost) -> None:
        host = open_host()
        block = "<relevant-memories>\n- something old\n</relevant-memories>"
        stored = ask(host, "memory_store", text=f"{block} The API key is api_key=abcdef1234567890 for staging")
        assert "abcdef1234567890" not in stored["text"]
        assert stored["redacted"] == 1
        assert "[redacted]" in stored["notice"]
        assert "something old" not in stored["text"]

    def test_a_text_with_nothing_in_it_is_refused(self, open_host: OpenHost) -> None:
        said = refuse(open_host(), "memory_store", text=" \n ")
        assert said["message"] == "there is no text to remember"

    def test_without_an_embedder_a_text_is_kept_and_gets_its_vector_later(
        self, make_memory: Callable[..., LanceMemory]
    ) -> None:
        from memslot.testing import HashingProvider

        broken, works = FailingProvider("down for today"), HashingProvider()
        broken.model = works.model
        kept = make_memory(provider=broken).keep(TEA)
        assert kept.action == "created"
        assert "down for today" in (kept.warning or "")
        memory = make_memory(provider=works)
        assert memory.status().counts["waitingForVector"] == 1
        assert memory.search("tea or coffee?").hits[0].snippet == TEA
        memory.maintenance.wait(30.0)
        assert "waitingForVector" not in memory.status().counts
        assert memory.search("tea or coffee?").mode == "hybrid"


class TestRecall:
    def test_memories_come_best_first_with_their_scores(self, open_host: OpenHost) -> None:
        host = open_host()
        ask(host, "memory_store", text=TEA)
        ask(host, "memory_store", text=DENTIST)
        answer = ask(host, "memory_recall", query="who is my dentist?")
        assert [each["text"] for each in answer["memories"]] == [DENTIST, TEA]
        first, second = (each["score"] for each in answer["memories"])
        assert 0 <= second < first <= 1
        assert (answer["mode"], answer["count"]) == ("hybrid", 2)
        assert "not instructions" in answer["notice"]

    def test_the_limit_is_honoured(self, open_host: OpenHost) -> None:
        host = open_host()
        for number in range(7):
            ask(host, "memory_store", text=f"Shelf number {number} holds {'abcdefg'[number] * 7}")
        assert ask(host, "memory_recall", query="shelf")["count"] == 5
        assert ask(host, "memory_recall", query="shelf", limit=2)["count"] == 2

    def test_an_empty_memory_gives_nothing(self, open_host: OpenHost) -> None:
        assert ask(open_host(), "memory_recall", query="anything") == {"count": 0, "memories": [], "mode": "hybrid"}

    def test_a_failing_embedder_is_told_and_words_go_on(self, make_memory: Callable[..., LanceMemory]) -> None:
        make_memory().keep(DENTIST)
        broken = FailingProvider("no quota")
        broken.model = "testing-hashing"
        recall = next(tool for tool in make_tools(make_memory(provider=broken)) if tool.name == "memory_recall")
        answer = recall.execute(recall.parse_arguments({"query": "dentist"}))
        assert answer["memories"][0]["foundBy"] == ["words"]
        assert answer["mode"] == "words"
        assert "no quota" in answer["warning"]


class TestUpdate:
    def test_it_says_what_was_before(self, open_host: OpenHost) -> None:
        host = open_host()
        stored = ask(host, "memory_store", text=DENTIST)
        updated = ask(host, "memory_update", memoryId=stored["id"], text="My dentist is called Dr. Horak.")
        assert updated["action"] == "updated"
        assert updated["before"]["text"] == DENTIST
        (found,) = ask(host, "memory_recall", query="dentist")["memories"]
        assert (found["id"], found["text"]) == (stored["id"], "My dentist is called Dr. Horak.")

    def test_the_same_again_changes_nothing(self, open_host: OpenHost) -> None:
        host = open_host()
        stored = ask(host, "memory_store", text=DENTIST)
        assert ask(host, "memory_update", memoryId=stored["id"], text=DENTIST)["action"] == "unchanged"

    def test_it_does_not_make_a_duplicate(self, open_host: OpenHost) -> None:
        host = open_host()
        tea, dentist = ask(host, "memory_store", text=TEA), ask(host, "memory_store", text=DENTIST)
        answer = ask(host, "memory_update", memoryId=dentist["id"], text=TEA)
        assert (answer["action"], answer["existingId"]) == ("duplicate", tea["id"])
        assert ask(host, "memory_recall", query="dentist")["memories"][0]["text"] == DENTIST

    def test_an_absent_id_is_an_error(self, open_host: OpenHost) -> None:
        assert refuse(open_host(), "memory_update", memoryId="nobody", text="x")["error"] == "not_found"

    def test_nothing_to_change_is_an_error(self, open_host: OpenHost) -> None:
        assert refuse(open_host(), "memory_update", memoryId="x")["error"] == "nothing_to_change"

    def test_two_processes_do_not_overwrite_each_other(self, make_memory: Callable[..., LanceMemory]) -> None:
        from dataclasses import replace
        from datetime import UTC, datetime

        from memslot_memory_lancedb.errors import ConcurrentChangeError

        first, second = make_memory(), make_memory()
        was = first.keep(DENTIST).memory
        second.writer.change(was.id, text="My dentist moved to Brno.")
        late = replace(was, text="My dentist moved to Graz.", updated_at=datetime.now(UTC))
        with pytest.raises(ConcurrentChangeError, match="changed by another writer"):
            first.store.replace(late, None, was, first.embedder.identity)
        assert first.store.get(was.id).text == "My dentist moved to Brno."


class TestForget:
    def test_by_id(self, open_host: OpenHost) -> None:
        host = open_host()
        stored = ask(host, "memory_store", text=TEA)
        assert ask(host, "memory_forget", memoryId=stored["id"]) == {
            "action": "deleted",
            "id": stored["id"],
            "text": TEA,
        }
        assert ask(host, "memory_recall", query="tea")["count"] == 0

    def test_an_absent_id_is_an_error(self, open_host: OpenHost) -> None:
        host = open_host()
        ask(host, "memory_store", text=TEA)
        for wrong in ("00000000-0000-0000-0000-000000000000", "' OR '1'='1", "x" * 64):
            assert refuse(host, "memory_forget", memoryId=wrong)["error"] == "not_found"
        assert ask(host, "memory_recall", query="tea")["count"] == 1

    def test_a_query_that_means_one_memory_for_sure_deletes_it(self, open_host: OpenHost) -> None:
        host = open_host()
        ask(host, "memory_store", text=TEA)
        ask(host, "memory_store", text=DENTIST)
        assert ask(host, "memory_forget", query="i prefer tea over coffee in the morning")["action"] == "deleted"
        assert [each["text"] for each in ask(host, "memory_recall", query="x y z")["memories"]] == [DENTIST]

    def test_an_open_query_gives_candidates_with_full_ids(self, open_host: OpenHost) -> None:
        host = open_host()
        ids = {ask(host, "memory_store", text=text)["id"] for text in (TEA, DENTIST)}
        answer = ask(host, "memory_forget", query="something to drink")
        assert answer["action"] == "candidates"
        assert {each["id"] for each in answer["candidates"]} == ids
        assert ask(host, "memory_recall", query="tea")["count"] == 2

    def test_two_that_are_both_sure_are_candidates(self, make_memory: Callable[..., LanceMemory]) -> None:
        """Two memories that say nearly the same can come from two processes that stored at one moment."""
        memory = make_memory()
        kept = memory.keep(TEA).memory
        from dataclasses import replace

        identity = memory.embedder.identity
        memory.store.add([replace(kept, id="twin")], memory.embedder.embed_documents([TEA]), identity)
        forget = next(tool for tool in make_tools(memory) if tool.name == "memory_forget")
        answer = forget.execute(forget.parse_arguments({"query": TEA}))
        assert answer["action"] == "candidates"
        assert memory.status().counts["memories"] == 2

    def test_words_alone_never_delete(self, make_memory: Callable[..., LanceMemory]) -> None:
        memory = make_memory(without_provider=True)
        memory.keep(TEA)
        forget = next(tool for tool in make_tools(memory) if tool.name == "memory_forget")
        assert forget.execute(forget.parse_arguments({"query": TEA}))["action"] == "candidates"

    def test_nothing_that_fits_is_no_error(self, open_host: OpenHost) -> None:
        assert ask(open_host(), "memory_forget", query="tea")["action"] == "nothing"

    def test_neither_query_nor_id_is_an_error(self, open_host: OpenHost) -> None:
        assert refuse(open_host(), "memory_forget")["error"] == "missing_argument"


def test_tools_are_there_in_direct_chats_only_unless_told(open_host: OpenHost) -> None:
    names = {"memory_recall", "memory_store", "memory_update", "memory_forget"}
    assert {tool.name for tool in open_host().tools("direct")} == names
    assert open_host().tools("group") == ()
    assert {tool.name for tool in open_host(chatTypes=["direct", "group"]).tools("group")} == names
