"""Earlier versions can be seen and brought back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from memslot_memory_lancedb.errors import StoreError
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.store.versions import history, restore

MakeMemory = Callable[..., LanceMemory]


def texts(memory: LanceMemory) -> list[str]:
    table = memory.store.live()
    assert table is not None
    return sorted(each.text for each in table.scan())


def test_every_write_is_a_version(make_memory: MakeMemory) -> None:
    memory = make_memory()
    assert history(memory.store) == []
    first = memory.keep("An orchid.").memory
    memory.keep("A violin.")
    memory.writer.forget([first.id])
    versions = history(memory.store)
    assert [each.memories for each in versions] == [0, 1, 2, 1]
    assert all(abs(each.at - datetime.now(UTC)) < timedelta(minutes=1) for each in versions)


def test_a_version_comes_back_and_the_present_stays_in_the_history(make_memory: MakeMemory) -> None:
    memory, other = make_memory(), make_memory()
    first = memory.keep("An orchid.").memory
    memory.writer.change(first.id, text="A dead orchid.")
    memory.keep("A violin.")
    versions = history(memory.store)
    restored = restore(memory.store, versions[1].number)
    assert restored.memories == 1
    assert texts(memory) == ["An orchid."]
    assert texts(other) == ["An orchid."], "other processes see it, too"
    assert "An orchid." in memory.search("orchid").hits[0].snippet
    restore(memory.store, versions[-1].number)
    assert texts(memory) == ["A dead orchid.", "A violin."]


def test_writing_goes_on_after_a_restore(make_memory: MakeMemory) -> None:
    memory = make_memory()
    memory.keep("An orchid.")
    memory.keep("A violin.")
    restore(memory.store, history(memory.store)[1].number)
    memory.keep("A lamp.")
    assert texts(memory) == ["A lamp.", "An orchid."]


def test_a_version_that_is_not_there_is_a_clear_error(make_memory: MakeMemory) -> None:
    memory = make_memory()
    with pytest.raises(StoreError, match="no version 9; the versions are none"):
        restore(memory.store, 9)
    memory.keep("An orchid.")
    with pytest.raises(StoreError, match="no version 99; the versions are 1 to 2"):
        restore(memory.store, 99)
