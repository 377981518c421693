"""memory-core against the kit that every memory and every tool is held to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memslot import EmbeddingProvider, Memory, Tool
from memslot.testing import MemoryContract, StackContract, ToolContract
from memslot_memory_core.location import MemoryLocation
from memslot_memory_core.manager import MemoryManager
from memslot_memory_core.settings import SearchSettings
from memslot_memory_core.tools import make_tools

from tests.plugins.memory_core.conftest import location_below, pipeline_maker

_lock = threading.Lock()


class TestStack(StackContract):
    plugin = "memory-core"
    with_plugins = ("embed-universal",)
    beside = ("memory-lancedb",)


class TestMemoryCore(MemoryContract):
    capabilities = ("refresh", "read", "list", "remember", "update", "audit", "map", "files")

    def make_memory(self, folder: Path, agent_id: str) -> Memory:
        return _make(location_below(folder, agent_id), None)

    def make_memory_with_provider(self, folder: Path, agent_id: str, provider: EmbeddingProvider) -> Memory:
        return _make(location_below(folder, agent_id), provider)

    def remember(self, memory: Memory, text: str) -> None:
        assert isinstance(memory, MemoryManager)
        with _lock, (memory.workspace / "MEMORY.md").open("ab") as file:
            file.write(f"{text}\n\n".encode("utf-8", "surrogatepass"))
        memory.sync()

    def store_files(self, folder: Path) -> list[Path]:
        """The notes are the person's own text, not a store that memory-core writes."""
        return sorted(folder.glob("memory/*.sqlite*"))


def _make(location: MemoryLocation, provider: EmbeddingProvider | None) -> MemoryManager:
    location.workspace.mkdir(parents=True, exist_ok=True)
    return MemoryManager(
        location, SearchSettings.from_tree({"chunking": {"tokens": 20, "overlap": 0}}), pipeline_maker(provider)
    )


@pytest.fixture(autouse=True)
def notes(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[None]:
    manager = None
    if request.cls is not None and issubclass(request.cls, ToolContract):
        folder = tmp_path_factory.mktemp("folder")
        location = location_below(folder)
        manager = _make(location, None)
        (location.workspace / "MEMORY.md").write_text("The harbour office closes at six.\n")
        tools = make_tools(lambda made=manager: made, "auto", location.workspace)
        request.cls.tools = {tool.name: tool for tool in tools}
    yield
    if manager is not None:
        manager.close()


class TestMemorySearch(ToolContract):
    tools: dict[str, Tool]

    def make_tool(self) -> Tool:
        return self.tools["memory_search"]

    def good_arguments(self) -> dict[str, Any]:
        return {"query": "harbour office", "maxResults": 3}


class TestMemoryGet(ToolContract):
    tools: dict[str, Tool]

    def make_tool(self) -> Tool:
        return self.tools["memory_get"]

    def good_arguments(self) -> dict[str, Any]:
        return {"path": "MEMORY.md", "from": 1, "lines": 1}


class TestMemoryWrite(ToolContract):
    tools: dict[str, Tool]

    def make_tool(self) -> Tool:
        return self.tools["memory_write"]

    def good_arguments(self) -> dict[str, Any]:
        return {"text": "The harbour office opens at eight.", "target": "memory"}
