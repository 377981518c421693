"""What a second pair of eyes found, and must not come back."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from memslot import ProviderBusyError, ProviderRefusedError, Session
from memslot.testing.providers import HashingProvider
from memslot_memory_core.index.store import IndexFile
from memslot_memory_core.manager import MemoryManager

KEY = "\n".join(
    [
        "-----BEGIN RSA PRIVATE KEY-----",
        *[f"MIIE{n:03d}" + "a" * 60 for n in range(60)],
        "-----END RSA PRIVATE KEY-----",
    ]
)


def note(manager: MemoryManager, text: str, name: str = "memory/a.md") -> None:
    (manager.workspace / name).write_text(text)


def test_no_part_of_a_private_key_is_shown(make_manager: Any) -> None:
    manager = make_manager()
    note(manager, f"# Deploy\n\n{KEY}\n\nThe deploy key stuff is above.\n")
    manager.sync()
    for start in range(1, 70, 5):
        assert "MIIE" not in manager.read("memory/a.md", start_line=start, max_lines=4).text
    for hit in manager.search("deploy key stuff", max_results=20).hits:
        assert "MIIE" not in hit.snippet
    assert b"MIIE" not in manager.location.index_file.read_bytes()


def test_keywords_by_choice_and_another_chunk_size_still_take_in_new_notes(make_manager: Any) -> None:
    first = make_manager(HashingProvider())
    note(first, "The lighthouse is red.\n")
    first.sync()
    first.close()
    second = make_manager(None, chunking={"tokens": 200, "overlap": 20})
    note(second, "The windmill is white.\n", "memory/b.md")
    assert second.sync().rebuilt
    assert [hit.path for hit in second.search("windmill").hits] == ["memory/b.md"]


def test_one_text_that_is_refused_does_not_hold_up_a_rebuild(make_manager: Any) -> None:
    class Picky(HashingProvider):
        def embed_documents(self, texts: Any) -> Any:
            if any("forbidden" in text for text in texts):
                raise ProviderRefusedError("this text is against the rules")
            return super().embed_documents(texts)

    first = make_manager(HashingProvider())
    note(first, "A forbidden thing.\n")
    note(first, "The lighthouse is red.\n", "memory/b.md")
    first.sync()
    first.close()
    picky = Picky()
    picky.model = "another"
    second = make_manager(picky)
    second.sync()
    note(second, "The windmill is white.\n", "memory/c.md")
    second.sync()
    assert [hit.path for hit in second.search("windmill").hits] == ["memory/c.md"]


def test_new_notes_are_found_while_a_rebuild_waits_for_its_provider(make_manager: Any) -> None:
    class Down(HashingProvider):
        def embed_documents(self, texts: Any) -> Any:
            raise ProviderBusyError("down for repairs")

    first = make_manager(HashingProvider())
    note(first, "The lighthouse is red.\n")
    first.sync()
    first.close()
    down = Down()
    down.model = "another"
    second = make_manager(down)
    note(second, "The windmill is white.\n", "memory/b.md")
    report = second.sync()
    assert not report.rebuilt
    assert [hit.path for hit in second.search("windmill").hits] == ["memory/b.md"]
    assert second.status().counts["vectors"] == 1


def test_a_provider_that_hangs_does_not_hold_up_a_search_with_a_limit(make_manager: Any) -> None:
    release, came_back = threading.Event(), threading.Event()

    class Hanging(HashingProvider):
        def embed_documents(self, texts: Any) -> Any:
            release.wait(120)
            came_back.set()
            return super().embed_documents(texts)

    manager = make_manager(Hanging())
    note(manager, "The lighthouse is red.\n")
    outcome = manager.search("lighthouse", fresh_seconds=1.0)
    assert not came_back.is_set()
    release.set()
    assert [hit.path for hit in outcome.hits] == ["memory/a.md"]
    assert "did not answer in time" in (outcome.warning or "")


def test_an_agent_is_refused_the_index_of_another(make_manager: Any, tmp_path: Path) -> None:
    first, second = make_manager(agent_id="first"), make_manager(agent_id="second")
    note(first, "The lighthouse is red.\n")
    first.sync()
    shared = IndexFile(first.location.index_file, second.location.owner)
    with pytest.raises(Exception, match=r'belongs to the agent "first"'), shared.snapshot():
        pass
    with pytest.raises(Exception, match="agentId"), shared.writer():
        pass
    assert second.search("lighthouse").hits == []


def test_a_reader_of_a_replaced_file_is_not_used_again(make_manager: Any) -> None:
    manager = make_manager()
    note(manager, "The lighthouse is red.\n")
    manager.sync()
    index: IndexFile = manager._index
    with index.snapshot() as old:
        assert old is not None
        for beside in ("", "-wal", "-shm"):
            Path(f"{index.file}{beside}").unlink(missing_ok=True)
        note(manager, "The windmill is white.\n")
        manager.sync()
        with index.snapshot():
            pass
    for _ in range(3):
        assert [hit.snippet for hit in manager.search("windmill").hits] == ["The windmill is white."]


def test_a_group_search_of_a_large_index_looks_at_a_bounded_part(make_manager: Any) -> None:
    manager = make_manager(HashingProvider(), chunking={"tokens": 10, "overlap": 0}, query={"minScore": 0.0})
    note(manager, "\n".join(f"The gate number {n} is kept by Ines." for n in range(3000)), "MEMORY.md")
    note(manager, "The gate is green.\n")
    manager.sync()
    asked: list[int] = []
    engine_search = manager._vectors.for_reading

    def watched(db: Any, generation: Any, kind: Any) -> Any:
        engine, reason = engine_search(db, generation, kind)

        class Engine:
            def search(self, db: Any, query: bytes, limit: int, *, state: Any) -> Any:
                asked.append(limit)
                return engine.search(db, query, limit, state=state)

        return Engine(), reason

    manager._vectors.for_reading = watched
    hits = manager.search("gate", session=Session("main", chat_type="group")).hits
    assert [hit.path for hit in hits] == ["memory/a.md"]
    assert max(asked) <= 60 * 4


def test_an_index_that_is_not_complete_says_so(make_manager: Any) -> None:
    manager = make_manager()
    for number in range(2500):
        note(manager, f"Note {number}.\n", f"memory/n{number}.md")
    manager.sync(cancelled=lambda: True)
    assert "not all changes are in" in (manager.search("unicorn").stale or "")
    assert any("not complete" in problem for problem in manager.status().problems)


def test_what_was_written_a_moment_ago_is_found(make_manager: Any) -> None:
    manager = make_manager()
    note(manager, "The lighthouse is red.\n")
    manager.sync()
    for number in range(5):
        note(manager, f"The windmill number {number} is white.\n", f"memory/w{number}.md")
        manager.request_sync()
        outcome = manager.search(f"windmill number {number}", max_results=1)
        assert outcome.stale or [hit.path for hit in outcome.hits] == [f"memory/w{number}.md"]


def test_rows_that_the_vector_table_lacks_are_noticed_and_repaired(make_manager: Any) -> None:
    manager = make_manager(HashingProvider())
    for number in range(9):
        note(manager, f"The lighthouse number {number} is red.\n", f"memory/n{number}.md")
    manager.sync()
    with manager._index.writer() as db:
        number = manager.status().details["generation"]
        manager._vectors.load(db, manager.status().details["engine"])
        db.execute(f"DELETE FROM vec_{number} WHERE rowid <= 2")
    assert any("vectors are searchable" in problem for problem in manager.status().problems)
    manager.sync(force=True)
    assert manager.status().is_healthy


def test_a_text_without_direction_is_no_gap(make_manager: Any) -> None:
    class Blank(HashingProvider):
        def embed_documents(self, texts: Any) -> Any:
            rows = super().embed_documents(texts)
            return [[0.0] * self.dims if "nothing" in text else row for text, row in zip(texts, rows, strict=True)]

    manager = make_manager(Blank())
    note(manager, "nothing\n")
    note(manager, "The lighthouse is red.\n", "memory/b.md")
    manager.sync()
    assert manager.search("lighthouse").warning is None
    assert manager.status().is_healthy


def test_links_are_counted_in_the_status(make_manager: Any, tmp_path: Path) -> None:
    manager = make_manager()
    (tmp_path / "outside.md").write_text("secret")
    (manager.workspace / "memory" / "link.md").symlink_to(tmp_path / "outside.md")
    note(manager, "The lighthouse is red.\n")
    manager.sync()
    assert manager.status().details["linksSkipped"] == 1
