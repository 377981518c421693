"""Anthropic's memory tool on an agent's Markdown notes."""

from memslot_anthropic_memory.answer import MemoryAnswer
from memslot_anthropic_memory.tool import MemoryTool, handle_memory_command

__all__ = ["MemoryAnswer", "MemoryTool", "handle_memory_command"]
