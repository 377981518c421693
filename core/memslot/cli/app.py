"""The top of the command line: built-in commands and those of plugins, each loaded when it is called."""

from __future__ import annotations

import contextlib
import importlib
import re
from typing import Any

import click

from memslot import __version__
from memslot.cli.plugin_commands import list_plugin_commands, load_plugin_command

BUILT_IN = {
    "init": ("memslot.cli.init", "Create a home folder, a config and a starter workspace."),
    "search": ("memslot.cli.search", "Search every memory in the slot; one list, best first."),
    "remember": ("memslot.cli.remember", "Save a text to memory."),
    "forget": ("memslot.cli.forget", "Show what would be forgotten, ask, and delete it."),
    "status": ("memslot.cli.status", "Show the state of every memory in the slot."),
    "run": ("memslot.cli.run", "Show what an agent would be given for a prompt."),
    "plugins": ("memslot.cli.plugins", "List, enable, install, validate and create plugins."),
    "embed": ("memslot.cli.embed", "List and test embedding providers."),
    "config": ("memslot.cli.config", "Read and change the settings."),
    "sessions": ("memslot.cli.sessions", "List, show, export, import and delete conversations."),
    "doctor": ("memslot.cli.doctor", "Check the setup: what is wrong and how to fix it."),
    "paths": ("memslot.cli.paths", "Print where memslot keeps its files."),
    "trust": ("memslot.cli.trust", "Trust a project's config file."),
    "completion": ("memslot.cli.completion", "Print a completion script for your shell."),
}
"""Each command's module and line of help; listing them imports nothing."""


class Commands(click.Group):
    """Built-in commands first, then those that active plugins name in their manifests."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*BUILT_IN, *sorted(list_plugin_commands())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in BUILT_IN:
            command: click.Command = importlib.import_module(BUILT_IN[cmd_name][0]).command
            return command
        return load_plugin_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from memslot.config.spelling import nearest

            if not args or args[0].startswith("-"):
                raise
            close = nearest(args[0], self.list_commands(ctx))
            below = self._below(ctx, args[0]) if close is None else []
            if not below and close is None:
                raise
            meant = " or ".join(f"'memslot {each}'" for each in below) if below else f"'{close}'"
            message = f"{error.message.rstrip('.')}. Did you mean {meant}?"
            raise click.UsageError(message, ctx) from None

    def _below(self, ctx: click.Context, name: str) -> list[str]:
        """Suggest `memory search` for "search"; loads only plugins whose manifest mentions the word."""
        found = []
        for group_name, (_, text) in sorted(list_plugin_commands().items()):
            if name not in re.findall(r"[a-z-]+", text.lower()):
                continue
            with contextlib.suppress(Exception):  # a plugin that doesn't load has nothing to offer
                group = self.get_command(ctx, group_name)
                if isinstance(group, click.Group) and name in group.list_commands(ctx):
                    found.append(f"{group_name} {name}")
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in BUILT_IN.items()])
        plugin_commands = list_plugin_commands()
        if plugin_commands:
            rows = [(name, f"{text} ({owner})".strip()) for name, (owner, text) in sorted(plugin_commands.items())]
            with formatter.section("Commands of plugins"):
                formatter.write_dl(rows)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Run 'memslot COMMAND --help' for a command's options and examples.",
)
@click.version_option(__version__, prog_name="memslot")
@click.option("--agent", metavar="ID", help="Agent for plugin commands (default: the default agent).")
def app(**_: Any) -> None:
    """Memory for AI agents, as plugins.

    \b
    Examples:
      memslot init                          create ~/.memslot with a config and a workspace
      memslot search "what did we decide?"  ask every memory in the slot
      memslot run "what did we decide?"     see what an agent would be given
      memslot plugins list                  see what is installed and what runs
      memslot --agent work memory status    another agent's memory
      memslot doctor                        check the setup and get fixes
    """
