"""The part of a memory's contract for its capabilities: each test is there once the capability is declared."""

# mypy: disable-error-code="type-abstract"

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import pytest

from memslot.errors import MemslotError
from memslot.events import Session
from memslot.memory.capabilities import (
    CAPABILITIES,
    CanAudit,
    CanForget,
    CanKeepFiles,
    CanList,
    CanMap,
    CanRead,
    CanRefresh,
    CanRemember,
    CanUndo,
    CanUpdate,
    MemoryFiles,
    MemoryFinding,
    MemoryItem,
    MemoryPage,
    MemoryPoint,
    MemoryReceipt,
    MemoryText,
    MemoryVersion,
    capabilities_of,
)
from memslot.memory.contract import Memory
from memslot.storage.atomic import write_file
from memslot.storage.lock import note_lock
from memslot.testing.memory_checks import FACTS, check_clear, finds, search

_TESTS = {
    "refresh": ("test_refreshing_makes_everything_findable", "test_refreshing_twice_is_fine"),
    "read": (
        "test_what_was_found_can_be_read",
        "test_lines_are_read_in_parts",
        "test_a_missing_item_has_no_text",
        "test_a_path_outside_is_never_read",
    ),
    "list": ("test_everything_is_listed_once_in_pages", "test_an_empty_memory_lists_nothing"),
    "remember": ("test_a_remembered_text_is_found_after_a_restart", "test_an_empty_text_is_not_remembered"),
    "forget": ("test_a_forgotten_item_is_gone_for_good", "test_forgetting_what_is_not_there_says_so"),
    "update": (
        "test_an_updated_item_is_found_by_its_new_text",
        "test_an_update_of_something_else_than_was_seen_is_refused",
        "test_updating_what_is_not_there_is_refused",
    ),
    "undo": ("test_an_earlier_version_can_be_restored", "test_an_unknown_version_is_refused"),
    "audit": ("test_an_audit_changes_nothing",),
    "map": ("test_points_are_pieces_of_items_with_vectors_of_one_length", "test_an_empty_memory_has_no_points"),
    "files": (
        "test_note_files_have_their_place",
        "test_a_note_file_is_found_by_its_path",
        "test_a_deleted_note_file_is_no_longer_found",
    ),
}
_OUTSIDE = ("../outside.md", "/etc/passwd", "a\x00b", "memory/../../outside.md", "~/outside.md")
_SECRET = "The vault opens with nightingale."
_NOTE = "The heliotrope blooms beside the lighthouse."
Capability = TypeVar("Capability")


class MemoryCapabilityTests:
    """Declare in `capabilities` what the memory can do beyond searching; the tests of the rest are left out."""

    capabilities: tuple[str, ...] = ()
    """Any of "refresh", "read", "list", "remember", "forget", "update", "undo", "audit", "map" and "files"."""
    soon_seconds: float = 60.0
    """How long the memory may take to index a file that it heard of."""

    def make_memory(self, folder: Path, agent_id: str) -> Memory:
        raise NotImplementedError

    def remember(self, memory: Memory, text: str) -> None:
        raise NotImplementedError

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for capability, tests in _TESTS.items():
            for test in tests:
                setattr(cls, test, getattr(MemoryCapabilityTests, test) if capability in cls.capabilities else None)

    def test_it_can_do_what_it_declares(self, tmp_path: Path) -> None:
        declared = [name for name in CAPABILITIES if name in self.capabilities]
        assert list(capabilities_of(self.make_memory(tmp_path, "main"))) == declared, (
            "`capabilities` in the test class and the methods of the memory differ"
        )

    # CanRefresh

    def test_refreshing_makes_everything_findable(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        _as(CanRefresh, memory).refresh()
        for question, fact in FACTS.items():
            assert finds(memory, question, fact), f"after refresh(), {question!r} does not find {fact!r}"

    def test_refreshing_twice_is_fine(self, tmp_path: Path) -> None:
        memory = _as(CanRefresh, self.make_memory(tmp_path, "main"))
        memory.refresh()
        memory.refresh()

    # CanRead

    def test_what_was_found_can_be_read(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        reader = _as(CanRead, memory)
        for question, fact in FACTS.items():
            hit = search(memory, question).hits[0]
            part = reader.read(hit.path, start_line=hit.start_line or 1)
            assert isinstance(part, MemoryText), f"read gave a {type(part).__name__}"
            assert fact in part.text, f"{hit.path} was found for {question!r}, but its text is {part.text!r}"

    def test_lines_are_read_in_parts(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        reader = _as(CanRead, memory)
        path = search(memory, next(iter(FACTS))).hits[0].path
        whole = reader.read(path, max_lines=1000).text
        parts: list[str] = []
        line: int | None = 1
        while line is not None:
            part = reader.read(path, start_line=line, max_lines=1)
            assert part.next_line is None or part.next_line > line, "next_line must lead on"
            parts.append(part.text)
            line = part.next_line
        assert "\n".join(parts) == whole

    def test_a_missing_item_has_no_text(self, tmp_path: Path) -> None:
        """It reads as empty, or is refused in one sentence."""
        memory = self._full(tmp_path)
        try:
            part = _as(CanRead, memory).read(search(memory, next(iter(FACTS))).hits[0].path + "-missing")
        except (MemslotError, ValueError) as error:
            check_clear(error)
        else:
            assert (part.text, part.next_line) == ("", None)

    def test_a_path_outside_is_never_read(self, tmp_path: Path) -> None:
        (tmp_path / "outside.md").write_text(_SECRET)
        inner = tmp_path / "inner"
        inner.mkdir()
        memory = self._full(inner)
        for path in (*_OUTSIDE, str(tmp_path / "outside.md")):
            try:
                part = _as(CanRead, memory).read(path)
            except (MemslotError, ValueError) as error:
                check_clear(error)
            else:
                assert not part.text, f"{path!r} gave {part.text!r}"

    # CanList

    def test_everything_is_listed_once_in_pages(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        lister = _as(CanList, memory)
        everything = lister.list_items(limit=1000)
        assert isinstance(everything, MemoryPage), f"list_items gave a {type(everything).__name__}"
        assert everything.items, "three facts were remembered, and nothing is listed"
        assert everything.cursor is None, "there is a cursor after the last item"
        paths: list[str] = []
        cursor: str | None = None
        for _ in range(len(everything.items) + 1):
            page = lister.list_items(cursor=cursor, limit=1)
            assert len(page.items) <= 1
            for item in page.items:
                assert isinstance(item, MemoryItem), f"list_items gave a {type(item).__name__}"
                paths.append(item.path)
            cursor = page.cursor
            if cursor is None:
                break
        assert paths == [item.path for item in everything.items]
        assert len(set(paths)) == len(paths), "an item is listed twice"

    def test_an_empty_memory_lists_nothing(self, tmp_path: Path) -> None:
        page = _as(CanList, self.make_memory(tmp_path, "main")).list_items()
        assert not page.items
        assert page.cursor is None

    # CanRemember

    def test_a_remembered_text_is_found_after_a_restart(self, tmp_path: Path) -> None:
        memory = self.make_memory(tmp_path, "main")
        for fact in FACTS.values():
            receipt = _as(CanRemember, memory).remember(fact, session=Session("main"))
            assert isinstance(receipt, MemoryReceipt), f"remember gave a {type(receipt).__name__}"
            assert receipt.path, "the receipt doesn't say where the text is"
        memory.close()
        again = self.make_memory(tmp_path, "main")
        if isinstance(again, CanRefresh):
            again.refresh()
        for question, fact in FACTS.items():
            assert finds(again, question, fact), f"{fact!r} was remembered and is not found after a restart"

    def test_an_empty_text_is_not_remembered(self, tmp_path: Path) -> None:
        memory = self.make_memory(tmp_path, "main")
        with pytest.raises((MemslotError, ValueError)) as caught:
            _as(CanRemember, memory).remember("  \n")
        check_clear(caught.value)

    # CanForget

    def test_a_forgotten_item_is_gone_for_good(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        question, fact = next(iter(FACTS.items()))
        path = next(hit.path for hit in search(memory, question).hits if fact in hit.snippet)
        assert _as(CanForget, memory).forget(path) is True
        assert not finds(memory, question, fact)
        memory.close()
        again = self.make_memory(tmp_path, "main")
        assert not finds(again, question, fact), "a forgotten text came back after a restart"
        assert _as(CanForget, again).forget(path) is False

    def test_forgetting_what_is_not_there_says_so(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        for path in ("no-such-item", *_OUTSIDE):
            try:
                assert _as(CanForget, memory).forget(path) is False
            except (MemslotError, ValueError) as error:
                check_clear(error)
        for question, fact in FACTS.items():
            assert finds(memory, question, fact), f"{fact!r} is gone though nobody forgot it"

    # CanUpdate

    def test_an_updated_item_is_found_by_its_new_text(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        question, fact = next(iter(FACTS.items()))
        path = next(hit.path for hit in search(memory, question).hits if fact in hit.snippet)
        before = _as(CanRead, memory).read(path, max_lines=1000).text
        after = before.replace(fact, _NOTE)
        receipt = _as(CanUpdate, memory).update(path, after, expected=before)
        assert isinstance(receipt, MemoryReceipt), f"update gave a {type(receipt).__name__}"
        memory.close()
        again = self.make_memory(tmp_path, "main")
        if isinstance(again, CanRefresh):
            again.refresh()
        assert _as(CanRead, again).read(receipt.path, max_lines=1000).text.strip() == after.strip()
        assert finds(again, _NOTE, _NOTE), "the new text is not found after a restart"
        assert not finds(again, question, fact), "the text that was replaced is still found"

    def test_an_update_of_something_else_than_was_seen_is_refused(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        question, fact = next(iter(FACTS.items()))
        path = next(hit.path for hit in search(memory, question).hits if fact in hit.snippet)
        with pytest.raises((MemslotError, ValueError)) as caught:
            _as(CanUpdate, memory).update(path, _NOTE, expected="something else")
        check_clear(caught.value)
        assert finds(memory, question, fact), "a refused update changed the item"

    def test_updating_what_is_not_there_is_refused(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        for path in ("no-such-item", *_OUTSIDE):
            with pytest.raises((MemslotError, ValueError)) as caught:
                _as(CanUpdate, memory).update(path, _NOTE)
            check_clear(caught.value)
        assert not finds(memory, _NOTE, _NOTE)

    # CanUndo

    def test_an_earlier_version_can_be_restored(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        undo = _as(CanUndo, memory)
        before = undo.versions()[0]
        assert isinstance(before, MemoryVersion), f"versions gave a {type(before).__name__}"
        self.remember(memory, _NOTE)
        assert finds(memory, _NOTE, _NOTE)
        undo.restore(before.id)
        assert not finds(memory, _NOTE, _NOTE), "what was remembered after the restored version is still there"
        for question, fact in FACTS.items():
            assert finds(memory, question, fact), f"{fact!r} was remembered before the restored version, and is gone"
        moments = [version.at for version in undo.versions()]
        assert moments == sorted(moments, reverse=True), "versions are not in order, the newest first"

    def test_an_unknown_version_is_refused(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        for version in ("no-such-version", "999999"):
            with pytest.raises((MemslotError, ValueError)) as caught:
                _as(CanUndo, memory).restore(version)
            check_clear(caught.value)

    # CanAudit

    def test_an_audit_changes_nothing(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        for finding in _as(CanAudit, memory).audit():
            assert isinstance(finding, MemoryFinding), f"audit gave a {type(finding).__name__}"
            assert finding.kind, "a finding has no kind"
            assert finding.action, "a finding says nothing of what to do"
        for question, fact in FACTS.items():
            assert finds(memory, question, fact)

    # CanMap

    def test_points_are_pieces_of_items_with_vectors_of_one_length(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        if isinstance(memory, CanRefresh):
            memory.refresh()
        points = _as(CanMap, memory).points(limit=2)
        assert len(points) <= 2, f"asked for at most 2 points, got {len(points)}"
        for point in points:
            assert isinstance(point, MemoryPoint), f"points gave a {type(point).__name__}"
            assert point.path
            assert any(isinstance(value, float) for value in point.vector), "a vector is a list of numbers"
        assert len({len(point.vector) for point in points}) <= 1, "vectors of one answer differ in length"

    def test_an_empty_memory_has_no_points(self, tmp_path: Path) -> None:
        assert not _as(CanMap, self.make_memory(tmp_path, "main")).points()

    # CanKeepFiles

    def test_note_files_have_their_place(self, tmp_path: Path) -> None:
        files = _as(CanKeepFiles, self.make_memory(tmp_path, "main")).files()
        assert isinstance(files, MemoryFiles), f"files gave a {type(files).__name__}"
        assert files.root.is_absolute(), f"{files.root} is not absolute"
        assert files.suffix.startswith("."), f"{files.suffix!r} is not a suffix"
        folder = PurePosixPath(files.folder)
        assert files.folder, "folder is empty"
        assert not folder.is_absolute(), f"{folder} is not relative to the root"
        assert ".." not in folder.parts, f"{folder} leaves the root"
        for name in files.named:
            assert "/" not in name, f"{name} is not in the root itself"
            assert name.endswith(files.suffix), f"{name} is not named as a note"

    def test_a_note_file_is_found_by_its_path(self, tmp_path: Path) -> None:
        memory = self._full(tmp_path)
        keeper = _as(CanKeepFiles, memory)
        files = keeper.files()
        for name in (f"kit/heliotrope{files.suffix}", *files.named[:1]):
            path = files.path_of(name)
            _write_note(files.root / path)
            keeper.files_changed(path)
            assert self._soon(partial(_has_hit, memory, path)), (
                f"{path} was written and announced, and is not found by this path"
            )

    def test_a_deleted_note_file_is_no_longer_found(self, tmp_path: Path) -> None:
        memory = self.make_memory(tmp_path, "main")
        keeper = _as(CanKeepFiles, memory)
        files = keeper.files()
        path = files.path_of(f"heliotrope{files.suffix}")
        _write_note(files.root / path)
        keeper.files_changed(path)
        assert self._soon(lambda: finds(memory, _NOTE, _NOTE))
        (files.root / path).unlink()
        keeper.files_changed(path)
        assert self._soon(lambda: not finds(memory, _NOTE, _NOTE)), (
            f"{path} was deleted and announced, and is still found"
        )

    def _soon(self, is_so: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + self.soon_seconds
        while not is_so():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def _full(self, folder: Path) -> Memory:
        memory = self.make_memory(folder, "main")
        for fact in FACTS.values():
            self.remember(memory, fact)
        return memory


def _write_note(file: Path) -> None:
    with note_lock(file):
        write_file(file, f"{_NOTE}\n")


def _has_hit(memory: Memory, path: str) -> bool:
    return path in [hit.path for hit in search(memory, _NOTE).hits]


def _as(capability: type[Capability], memory: object) -> Capability:
    assert isinstance(memory, capability), f"{type(memory).__name__} lacks {capability.__name__}"
    return memory
