"""Answers with memslot's Python API: `host.memory.search` in a process that stays."""

from __future__ import annotations

import os
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as memslot's own commands, `memslot mcp` included, set it

from memslot import Host
from plain_store import answer


def search(question: str) -> Any:
    found = host.memory.search(question)
    if found.warning:
        raise SystemExit(found.warning)
    return found.hits


with Host.load() as host:
    answer(search)
