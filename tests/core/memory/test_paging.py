"""Lists and texts are read to their end, which a memory need not name rightly."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from memslot import MemoryItem, MemoryPage, MemoryText, list_all, read_parts


class Numbers:
    """A memory of numbered items and lines; `follow` makes the next cursor or line of a number."""

    def __init__(self, follow: Any, *, at_once: int = 2) -> None:
        self.follow = follow
        self.at_once = at_once
        self.asked: list[Any] = []

    def list_items(self, *, cursor: str | None = None, limit: int = 100, session: object = None) -> MemoryPage:
        self.asked.append(cursor)
        start = int(cursor or 0)
        numbers = range(start, start + min(limit, self.at_once))
        return MemoryPage([MemoryItem(f"{number}", f"item {number}") for number in numbers], self.follow(start))

    def read(self, path: str, *, start_line: int = 1, max_lines: int = 200, session: object = None) -> MemoryText:
        self.asked.append(start_line)
        return MemoryText(path, f"line {start_line}", start_line, 1, self.follow(start_line))


def paths(memory: Any, most: int = 100) -> list[str]:
    return [item.path for item in islice(list_all(memory, most=most), 1000)]


def test_all_pages_are_read_up_to_the_most() -> None:
    assert paths(Numbers(lambda start: str(start + 2) if start < 4 else None)) == ["0", "1", "2", "3", "4", "5"]
    assert paths(Numbers(lambda start: str(start + 2)), most=5) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("stuck", [Numbers(lambda start: "0" if start == 0 else None), Numbers(lambda start: "8")])
def test_a_cursor_that_is_repeated_ends_the_list(stuck: Numbers) -> None:
    assert len(paths(stuck)) == 4
    assert len(stuck.asked) == 2


def test_a_page_without_items_ends_the_list() -> None:
    assert paths(Numbers(lambda start: str(start + 1), at_once=0)) == []


def test_a_text_is_read_part_by_part() -> None:
    parts = read_parts(Numbers(lambda line: line + 1 if line < 3 else None), "a.md")
    assert [part.text for part in parts] == ["line 1", "line 2", "line 3"]


@pytest.mark.parametrize("step", [0, -1])
def test_a_line_that_does_not_lead_on_ends_the_text(step: int) -> None:
    assert len(list(islice(read_parts(Numbers(lambda line: line + step), "a.md"), 100))) == 1
