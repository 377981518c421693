"""memslot as a memory provider of Hermes: recall before each turn, capture after it, and the tools.

`python -m memslot_adapters.hermes` installs it into a Hermes home; `memory.provider: memslot` in its config enables it.
"""

from __future__ import annotations

from typing import Any

from memslot_adapters.optional_imports import requires_extra

with requires_extra("hermes", "hermes_agent", "agent"):
    from memslot_adapters.hermes.provider import MemslotProvider

__all__ = ["MemslotProvider", "register"]


def register(ctx: Any) -> None:
    """Called by Hermes to get the provider."""
    ctx.register_memory_provider(MemslotProvider())
