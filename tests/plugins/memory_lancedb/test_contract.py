"""memory-lancedb against the kit that every memory and every tool is held to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memslot import EmbeddingProvider, Memory, Tool
from memslot.testing import MemoryContract, StackContract, ToolContract
from memslot_embed_providers.universal.provider import UniversalProvider
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.tools import make_tools


class _OnLance(MemoryContract):
    capabilities = ("read", "list", "remember", "forget", "update", "undo", "map")

    @pytest.fixture(autouse=True)
    def _take_opener(self, make_memory: Callable[..., LanceMemory]) -> None:
        self.open = make_memory

    def remember(self, memory: Memory, text: str) -> None:
        assert isinstance(memory, LanceMemory)
        memory.keep(text)


class TestWithAnyProvider(_OnLance):
    def make_memory(self, folder: Path, agent_id: str) -> Memory:
        return self.open(agent_id, folder=folder)

    def make_memory_with_provider(self, folder: Path, agent_id: str, provider: EmbeddingProvider) -> Memory:
        return self.open(agent_id, folder=folder, provider=provider)


class TestWithTheZeroKeyProvider(_OnLance):
    """Which knows Latin letters only: other scripts are found by words."""

    def make_memory(self, folder: Path, agent_id: str) -> Memory:
        return self.open(agent_id, folder=folder, provider=UniversalProvider())


class TestWithoutAProvider(_OnLance):
    def make_memory(self, folder: Path, agent_id: str) -> Memory:
        return self.open(agent_id, folder=folder, without_provider=True)


class TestStack(StackContract):
    plugin = "memory-lancedb"
    with_plugins = ("embed-universal",)
    beside = ("memory-core",)


class _OnATool(ToolContract):
    name: str

    @pytest.fixture(autouse=True)
    def _fill_memory(self, make_memory: Callable[..., LanceMemory]) -> None:
        self.memory = make_memory()
        self.known = self.memory.keep("The harbour office closes at six.").memory
        self.memory.keep("I prefer the window seat on every train.")

    def make_tool(self) -> Tool:
        return next(tool for tool in make_tools(self.memory) if tool.name == self.name)


class TestRecall(_OnATool):
    name = "memory_recall"

    def good_arguments(self) -> dict[str, Any]:
        return {"query": "harbour office", "limit": 3}


class TestStore(_OnATool):
    name = "memory_store"

    def good_arguments(self) -> dict[str, Any]:
        return {"text": "My sister lives in Lisbon.", "importance": 0.9, "category": "entity"}


class TestUpdate(_OnATool):
    name = "memory_update"

    def good_arguments(self) -> dict[str, Any]:
        return {"memoryId": self.known.id, "text": "The harbour office closes at five.", "importance": 0.5}


class TestForget(_OnATool):
    """By a query that leaves the choice open: what deletes can be done only once."""

    name = "memory_forget"

    def good_arguments(self) -> dict[str, Any]:
        return {"query": "something about a train"}
