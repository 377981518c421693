"""The `memslot ltm` command group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from memslot_memory_lancedb.memory import LanceMemory
    from memslot_memory_lancedb.settings import Settings


def make_command(memory: LanceMemory, settings: Settings) -> click.Group:
    from memslot_memory_lancedb.commands import edit, maintenance, query, transfer

    @click.group(name="ltm")
    def group() -> None:
        """Manage long-term memories: list, search, explain, export, repair.

        \b
        Examples:
          memslot ltm add "I prefer tea over coffee"
          memslot ltm search "what do I drink?"
          memslot ltm explain "Remember that my sister is called Ada"
        """

    for module in (query, edit, transfer, maintenance):
        module.add_commands(group, memory, settings)
    return group
