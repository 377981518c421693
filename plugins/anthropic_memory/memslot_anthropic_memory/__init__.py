"""Anthropic's memory tool on an agent's note files."""

from memslot_anthropic_memory.answer import MemoryAnswer
from memslot_anthropic_memory.tool import MemoryTool

__all__ = ["MemoryAnswer", "MemoryTool"]
