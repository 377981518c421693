"""memslot for Pydantic AI: a capability with everything, or the toolset alone."""

from __future__ import annotations

from memslot_adapters.optional_imports import requires_extra

with requires_extra("pydantic-ai", "pydantic_ai"):
    from memslot_adapters.pydantic_ai.capability import Memory
    from memslot_adapters.pydantic_ai.toolset import MemoryToolset

__all__ = ["Memory", "MemoryToolset"]
