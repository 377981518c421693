"""The block that a model sees of what memory-lancedb recalls, as the host writes it."""

from __future__ import annotations

from memslot import AgentStart
from memslot.memory.recall import join_recalled
from memslot_memory_lancedb.memory import LanceMemory


def recalled_block(memory: LanceMemory, prompt: str) -> str:
    items = memory.auto_recall.items_for(prompt)
    start = AgentStart(recalled=items, recall_chars=memory.auto_recall.limits.max_chars)
    return join_recalled({"memory-lancedb": start})
