"""Out of the store and in again, as JSONL and as Markdown, without loss."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot.testing import FailingProvider, HashingProvider
from memslot_memory_lancedb.commands.transfer import read_memories, write_memories
from memslot_memory_lancedb.errors import TransferError
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.memory_record import CATEGORIES, MemoryRecord, Origin
from memslot_memory_lancedb.transfer.formats import read_jsonl, read_markdown, write_jsonl, write_markdown
from memslot_memory_lancedb.transfer.memory_import import import_memories

MakeMemory = Callable[..., LanceMemory]

_text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)
_tricky = st.lists(
    st.sampled_from(
        [
            "## 1",
            "- category: fact",
            "> quoted",
            ">",
            "\n",
            "\r\n",
            "\r",
            "\u2028",
            "\x85",
            "\x0c",
            "# Memories",
            " ",
            "`",
            "a",
        ]
    ),
    min_size=1,
    max_size=8,
).map("\n".join)
_moment = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))
_memories = st.builds(
    MemoryRecord,
    id=st.uuids().map(str),
    text=(_text | _tricky).filter(lambda text: bool(text.strip())),
    category=st.sampled_from(CATEGORIES),
    importance=st.floats(0, 1),
    created_at=_moment,
    updated_at=st.none() | _moment,
    origin=st.builds(Origin, _text | st.just(""), _text | st.just("")),
).filter(lambda memory: memory.updated_at != memory.created_at)
_lists = st.lists(_memories, max_size=6, unique_by=lambda memory: memory.id)


@given(memories=_lists)
def test_jsonl_loses_nothing(memories: list[MemoryRecord]) -> None:
    assert list(read_jsonl("".join(write_jsonl(memories)).split("\n"))) == memories


@given(memories=_lists)
def test_markdown_loses_nothing(memories: list[MemoryRecord]) -> None:
    assert list(read_markdown("".join(write_markdown(memories)))) == memories


@pytest.mark.parametrize("name", ["m.jsonl", "m.md"])
@settings(max_examples=30, deadline=None)
@given(memories=_lists)
def test_a_file_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, name: str, memories: list[MemoryRecord]
) -> None:
    file = tmp_path_factory.getbasetemp() / name
    write_memories(memories, file, None)
    assert read_memories(file, None) == memories


@pytest.mark.parametrize("name", ["m.jsonl", "m.md"])
@settings(max_examples=8, deadline=None)
@given(memories=st.lists(_memories, min_size=1, max_size=6, unique_by=lambda memory: memory.id))
def test_a_store_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, name: str, memories: list[MemoryRecord]
) -> None:
    """In, out, and into another store: the same, but for secrets."""
    from memslot import EmbeddingPipeline, Selection, redact

    folder = tmp_path_factory.mktemp("transfer")
    provider = HashingProvider(8)

    def pick() -> tuple[EmbeddingPipeline, Selection]:
        return EmbeddingPipeline(provider), Selection(provider, provider.id, "asked for")

    memories = [each for each in memories if redact(each.text) == each.text]
    first, second = (LanceMemory(str(folder / place), "main", pick, folder) for place in ("first", "second"))
    import_memories(first.store, first.embedder, memories)
    write_memories(_sorted(first), folder / name, None)
    import_memories(second.store, second.embedder, read_memories(folder / name, None))
    assert [each.to_json() for each in _sorted(second)] == [
        each.to_json() for each in sorted(memories, key=lambda each: each.id)
    ]
    first.close()
    second.close()


def _sorted(memory: LanceMemory) -> list[MemoryRecord]:
    table = memory.store.live()
    return sorted(table.scan(), key=lambda each: each.id) if table is not None else []


class TestImport:
    def test_what_is_there_is_named_and_left(self, make_memory: MakeMemory) -> None:
        memory = make_memory()
        kept = memory.keep("An orchid.").memory
        changed = MemoryRecord("A violin.", id=kept.id)
        done = import_memories(memory.store, memory.embedder, [kept, MemoryRecord("A lamp.", id="lamp")])
        assert (done.added, done.unchanged) == (["lamp"], [kept.id])
        done = import_memories(memory.store, memory.embedder, [changed])
        assert done.differing == [kept.id]
        assert memory.store.get(kept.id).text == "An orchid."
        done = import_memories(memory.store, memory.embedder, [changed], replace_differing=True)
        assert done.replaced == [kept.id]
        assert memory.store.get(kept.id).text == "A violin."
        assert memory.search("violin").mode == "hybrid"

    def test_a_dry_run_changes_nothing(self, make_memory: MakeMemory) -> None:
        memory = make_memory()
        done = import_memories(memory.store, memory.embedder, [MemoryRecord("A lamp.")], dry_run=True)
        assert len(done.added) == 1
        assert memory.store.live() is None

    def test_a_failing_embedder_is_told_and_nothing_is_lost(self, make_memory: MakeMemory) -> None:
        memory = make_memory(provider=FailingProvider("wrong key"))
        done = import_memories(memory.store, memory.embedder, [MemoryRecord("A lamp stands here.")])
        assert "wrong key" in (done.warning or "")
        assert memory.search("lamp").hits

    def test_secrets_are_redacted(self, make_memory: MakeMemory) -> None:
        memory = make_memory()
        import_memories(memory.store, memory.embedder, [MemoryRecord("password: hunter2hunter2", id="x")])
        assert "hunter2" not in memory.store.get("x").text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "line 1"),
        ('{"id": "a b", "text": "x"}', "id must be"),
        ('{"id": "a", "text": ""}', "text must not be empty"),
        ('{"id": "a", "text": "x", "category": "mood"}', "category must be one of"),
        ('{"id": "a", "text": "x", "importance": 2}', "importance must be"),
        ('{"id": "a", "text": "x", "createdAt": "yesterday"}', "createdAt must be a time"),
        ('{"id": "a", "text": "x", "createdAt": "2026-03-05T10:30:00"}', "time zone"),
        ("[]", "must be an object"),
    ],
)
def test_a_broken_line_is_named(line: str, said: str) -> None:
    with pytest.raises(TransferError, match=said):
        list(read_jsonl([line]))


def test_broken_markdown_is_named() -> None:
    for text, said in {
        "stray text": "line 1 belongs to no memory",
        "## id\n- mood: good\n": "line 2 cannot be read",
        "## id\n- importance: high\n": "line 2 cannot be read",
        "## id\n\n> text\n": "createdAt must be",
        "## id\n- created: 2026-03-05T10:30:00+00:00\n": "text must not be empty",
    }.items():
        with pytest.raises(TransferError, match=said):
            list(read_markdown(text))


def test_an_exported_file_is_its_owners_only(tmp_path: Path) -> None:
    write_memories([MemoryRecord("A lamp.")], tmp_path / "out.jsonl", None)
    assert (tmp_path / "out.jsonl").stat().st_mode & 0o077 == 0
    assert json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))["text"] == "A lamp."
