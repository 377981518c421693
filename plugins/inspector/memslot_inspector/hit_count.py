"""Counts which items are found, in a file on this machine, if the setting `countHits` is on."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memslot import CanList, MemslotError, file_lock, list_all, write_file

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
        self._odd: Sequence[str] = ()

    def named_in(self, text: str, ctx: PluginContext) -> list[str]:
        """Return the items whose paths a text contains, each as `memory:path`."""
        with self._lock:
            if not self._known or time.monotonic() - self._at > PATHS_SECONDS:
                self._known, self._at = _list_paths(ctx), time.monotonic()
                self._odd = [path for path in self._known if not _PIECE.fullmatch(path)]  # with a space in it
            known, odd = self._known, self._odd
        pieces = {_LINES.sub("", piece.rstrip(".;")) for piece in _PIECE.findall(text)}
        paths = [path for path in pieces if path in known] + [path for path in odd if path in text]
        return [f"{known[path]}:{path}" for path in paths]


def _list_paths(ctx: PluginContext) -> dict[str, str]:
    found: dict[str, str] = {}
    if ctx.memories is not None:
        for memory_id, memory in ctx.memories.having(CanList):
            with contextlib.suppress(MemslotError):  # only its hits are not counted
                found |= dict.fromkeys(ctx.memories.call(memory_id, "list", partial(_paths_in, memory)), memory_id)
    return found


def _paths_in(memory: CanList) -> list[str]:
    return [item.path for item in list_all(memory, most=MOST_ITEMS)]


def count_found(ctx: PluginContext, result: ToolResult) -> None:
    """Count the items whose paths a tool's result names, each once."""
    if result.is_error:
        return
    found = ctx.shared("paths", _Paths).named_in(result.text, ctx)
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
