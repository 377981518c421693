"""The line a person writes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from memslot_chat.interrupts import Interrupts
from memslot_chat.terminal import LineEditor


def test_completions_are_looked_up_once_for_each_tab(tmp_path: Path) -> None:
    asked: list[str] = []

    def complete(text: str) -> Iterable[str]:
        asked.append(text)
        return ["/sessions a", "/sessions b"]

    editor = LineEditor(tmp_path, Interrupts(), complete)
    found = [editor._completion("/sessions ", state) for state in range(3)]

    assert found == ["/sessions a", "/sessions b", None]
    assert asked == ["/sessions "]
    assert editor._completion("no command", 0) is None
