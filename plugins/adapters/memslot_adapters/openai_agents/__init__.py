"""memslot for the OpenAI Agents SDK: tools, sessions, and runs with recall and capture."""

from __future__ import annotations

from memslot_adapters.needs import needs

with needs("openai-agents", "agents", "openai"):
    from memslot_adapters.openai_agents.function_tools import memory_tools
    from memslot_adapters.openai_agents.runs import RememberingRun, remembering
    from memslot_adapters.openai_agents.session import MemorySession

__all__ = ["MemorySession", "RememberingRun", "memory_tools", "remembering"]
