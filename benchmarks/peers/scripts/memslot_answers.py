"""Answers with memslot's Python API: `host.memory.search` in a process that stays."""

from __future__ import annotations

from memslot import Host
from plain_store import answer

with Host.load() as host:
    answer(lambda question: host.memory.search(question).results)
