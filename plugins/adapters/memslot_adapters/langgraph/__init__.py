"""memslot for LangGraph: tools, a store on the agent's notes, and runs with recall and capture."""

from __future__ import annotations

from memslot_adapters.optional_imports import requires_extra

with requires_extra("langgraph", "langgraph", "langchain_core"):
    from memslot_adapters.langgraph.runs import RememberingGraph, remembering, with_recall
    from memslot_adapters.langgraph.store import MemoryStore
    from memslot_adapters.langgraph.tools import MemoryTool, memory_tools

__all__ = ["MemoryStore", "MemoryTool", "RememberingGraph", "memory_tools", "remembering", "with_recall"]
