"""memory-core: an agent's Markdown notes as its memory."""
