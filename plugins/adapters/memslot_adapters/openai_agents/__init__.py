"""memslot for the OpenAI Agents SDK: tools, sessions, and runs with recall and capture."""

from __future__ import annotations

from memslot_adapters.optional_imports import requires_extra

with requires_extra("openai-agents", "agents", "openai"):
    from memslot_adapters.openai_agents.runs import RememberingRun, remembering
    from memslot_adapters.openai_agents.session import MemorySession
    from memslot_adapters.openai_agents.tools import memory_tools

__all__ = ["MemorySession", "RememberingRun", "memory_tools", "remembering"]
