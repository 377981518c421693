"""The `memslot memory` command group."""

from __future__ import annotations

import click
from memslot import PluginContext

from memslot_memory_core.commands.audit import make_audit_command
from memslot_memory_core.commands.eval import make_eval_command
from memslot_memory_core.commands.index import make_index_command
from memslot_memory_core.commands.search import make_get_command, make_search_command
from memslot_memory_core.commands.status import make_status_command
from memslot_memory_core.commands.transfer import make_export_command, make_import_command


def add_commands(cli: click.Group, ctx: PluginContext) -> None:
    """Add the `memory` group to the command line."""

    @click.group(name="memory")
    def group() -> None:
        """Search, read and index the agent's notes and transcripts.

        \b
        Examples:
          memslot memory search "release date"
          memslot memory index
          memslot memory status --deep
        """

    for make in (
        make_search_command,
        make_get_command,
        make_index_command,
        make_status_command,
        make_audit_command,
        make_eval_command,
        make_export_command,
        make_import_command,
    ):
        group.add_command(make(ctx))
    cli.add_command(group)
