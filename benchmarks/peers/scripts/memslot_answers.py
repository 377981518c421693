"""Answers with memslot's Python API: `host.memory.search` in a process that stays."""

from __future__ import annotations

from typing import Any

from memslot import Host
from plain_store import answer


def search(question: str) -> Any:
    found = host.memory.search(question)
    if found.warning:
        raise SystemExit(found.warning)
    return found.hits


with Host.load() as host:
    answer(search)
