"""Counts which items are found, in a file on this machine, if the setting `countHits` is on."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memslot import CanList, MemslotError, file_lock, write_file

if TYPE_CHECKING:
    from memslot import PluginContext, ToolResult

MOST_ITEMS = 20_000
PATHS_SECONDS = 60.0
"""How long the list of an agent's items is cached."""
_PIECE = re.compile(r"[^\s\"'`,()\[\]<>]+")
_LINES = re.compile(r"[#:]L?\d[\d\-L]*$")


class _Paths:
    """The paths of all items, listed once a minute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at = 0.0
        self._known: Mapping[str, str] = {}

    def of(self, ctx: PluginContext) -> Mapping[str, str]:
        """Return each path with the id of its memory."""
        with self._lock:
            if not self._known or time.monotonic() - self._at > PATHS_SECONDS:
                self._known, self._at = _list_paths(ctx), time.monotonic()
            return self._known


def _list_paths(ctx: PluginContext) -> dict[str, str]:
    found: dict[str, str] = {}
    for memory_id, memory in ctx.memories or ():
        cursor = None
        while isinstance(memory, CanList) and len(found) < MOST_ITEMS:
            page = memory.list_items(cursor=cursor, limit=1000)
            found.update((item.path, memory_id) for item in page.items)
            cursor = page.cursor
            if cursor is None:
                break
    return found


def count_found(ctx: PluginContext, result: ToolResult) -> None:
    """Count the items whose paths a tool's result names, each once."""
    if result.is_error:
        return
    known = ctx.shared("paths", _Paths).of(ctx)
    pieces = {_LINES.sub("", piece.rstrip(".;")) for piece in _PIECE.findall(result.text)}
    found = [f"{known[piece]}:{piece}" for piece in pieces if piece in known]
    if found:
        add(count_file(ctx), found)


def count_file(ctx: PluginContext) -> Path:
    return ctx.places.plugin_state_dir(ctx.plugin_id) / f"hits-{ctx.agent_id}.json"


def add(file: Path, found: list[str]) -> None:
    """Increment the counts; if that fails, only the counts are lost."""
    try:
        with file_lock(file.with_suffix(".lock"), seconds=2.0):
            counts = read(file)
            counts.update(found)
            write_file(file, json.dumps(dict(counts), ensure_ascii=False), mode=0o600)
    except (OSError, MemslotError):
        return


def read(file: Path) -> Counter[str]:
    """Counts by `memory:path`; empty if the file is missing or damaged."""
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Counter()
    entries = told.items() if isinstance(told, dict) else ()
    return Counter({name: count for name, count in entries if isinstance(count, int) and count > 0})
