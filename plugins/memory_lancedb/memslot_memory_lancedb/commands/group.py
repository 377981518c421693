"""The group itself, and which module brings which commands."""

from __future__ import annotations

import click

from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.settings import Settings


def make_command(memory: LanceMemory, settings: Settings) -> click.Group:
    from memslot_memory_lancedb.commands import changing, files, looking, tending

    @click.group(name="ltm")
    def group() -> None:
        """List, search, explain, move and mend long-term memories.

        \b
        Examples:
          memslot ltm add "I prefer tea over coffee"
          memslot ltm search "what do I drink?"
          memslot ltm explain "Remember that my sister is called Ada"
        """

    for module in (looking, changing, files, tending):
        module.add_commands(group, memory, settings)
    return group
