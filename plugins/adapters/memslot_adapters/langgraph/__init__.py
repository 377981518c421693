"""memslot for LangGraph: tools, a store on the agent's notes, and runs with recall and capture."""

from __future__ import annotations

from memslot_adapters.needs import needs

with needs("langgraph", "langgraph", "langchain_core"):
    from memslot_adapters.langgraph.chat_tools import MemoryTool, memory_tools
    from memslot_adapters.langgraph.runs import RememberingGraph, remembering, with_recall
    from memslot_adapters.langgraph.store import MemoryStore

__all__ = ["MemoryStore", "MemoryTool", "RememberingGraph", "memory_tools", "remembering", "with_recall"]
