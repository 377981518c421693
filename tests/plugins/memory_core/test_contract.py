"""memory-core against the kit that every memory and every tool is held to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from memslot import Memory, Tool
from memslot.testing import MemoryContract, ToolContract
from memslot_memory_core.memory import NotesMemory
from memslot_memory_core.tools import make_tools


class TestMemoryCore(MemoryContract):
    def make_memory(self, folder: Path, agent_id: str) -> Memory:
        workspace = folder / agent_id
        workspace.mkdir(exist_ok=True)
        return NotesMemory(workspace)

    def remember(self, memory: Memory, text: str) -> None:
        assert isinstance(memory, NotesMemory)
        with (memory.workspace / "MEMORY.md").open("a", encoding="utf-8") as file:
            file.write(f"{text}\n\n")

    def store_files(self, folder: Path) -> list[Path]:
        """The notes are the person's own text, not a store that memory-core writes."""
        return []

    keeps_files = False


@pytest.fixture(autouse=True)
def notes(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> None:
    if request.cls is not None:
        workspace = tmp_path_factory.mktemp("workspace")
        (workspace / "MEMORY.md").write_text("The harbour office closes at six.\n")
        request.cls.tools = {tool.name: tool for tool in make_tools(NotesMemory(workspace))}


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
