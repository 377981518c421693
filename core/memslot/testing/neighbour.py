"""A memory beside the one under test: it finds, recalls and gets `memory_written`, or misbehaves in one way."""

from __future__ import annotations

import threading
from typing import Any

from memslot.errors import MemslotError
from memslot.events import AgentStart, MemoryWritten, RecalledItem, RunInfo
from memslot.hookspecs import hookimpl
from memslot.memory.capabilities import MemoryReceipt
from memslot.memory.contract import MemoryHit, MemorySearchOutcome, MemoryStatus
from memslot.plugins.context import PluginContext
from memslot.tools import Tool

NEIGHBOUR = "neighbour"
FAULTS = ("hangs", "raises", "lies")


class Neighbour:
    """A memory plugin with a few texts. With a fault, every call hangs, raises or returns the wrong type."""

    def __init__(self, fault: str | None = None) -> None:
        self.fault = fault
        self.texts: list[str] = []
        self.heard: list[MemoryWritten] = []
        self.closed = 0
        self._released = threading.Event()

    def release(self) -> None:
        """Release calls that hang."""
        self._released.set()

    # Hooks

    @hookimpl
    def register_memory(self) -> Any:
        return self

    @hookimpl
    def register_tools(self) -> list[Tool]:
        return [Tool(f"{NEIGHBOUR}_look", "Look something up.", {}, lambda args: self.texts, read_only=True)]

    @hookimpl
    def before_agent_start(self, ctx: PluginContext, run: RunInfo) -> Any:
        if self.fault is not None:
            return self._misbehave()
        return AgentStart(recalled=[RecalledItem(hit.snippet, hit.score) for hit in self.search(run.prompt).hits])

    @hookimpl
    def memory_written(self, written: MemoryWritten) -> None:
        self.heard.append(written)

    # The memory

    def search(self, query: str, *, max_results: int | None = None) -> Any:
        if self.fault is not None:
            return self._misbehave()
        words = {word.strip(".,?!").casefold() for word in query.split()}
        scores = {text: len(words & {word.strip(".,?!").casefold() for word in text.split()}) for text in self.texts}
        hits = [
            MemoryHit(f"{NEIGHBOUR}/{self.texts.index(text)}", score / (len(words) or 1), text)
            for text, score in sorted(scores.items(), key=lambda pair: -pair[1])
            if score
        ]
        return MemorySearchOutcome(hits[: max_results or 6], mode="words")

    def remember(self, text: str, *, session: object = None) -> MemoryReceipt:
        self.texts.append(text)
        return MemoryReceipt(f"{NEIGHBOUR}/{len(self.texts) - 1}")

    def status(self) -> MemoryStatus:
        return MemoryStatus(NEIGHBOUR, counts={"texts": len(self.texts)})

    def close(self) -> None:
        self.closed += 1
        self.release()

    def _misbehave(self) -> Any:
        if self.fault == "hangs":
            self._released.wait()
            return None
        if self.fault == "raises":
            raise MemslotError("the neighbour is out of order")
        return {"hits": "many", "recalled": 42}
