"""memslot for Pydantic AI: a capability with everything, or the toolset alone."""

from __future__ import annotations

from memslot_adapters.needs import needs

with needs("pydantic-ai", "pydantic_ai"):
    from memslot_adapters.pydantic_ai.capability import Memory
    from memslot_adapters.pydantic_ai.toolset import MemoryToolset

__all__ = ["Memory", "MemoryToolset"]
