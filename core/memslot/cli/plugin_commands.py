"""Plugins' commands: listed from their manifests, loaded when called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from memslot.host import Host
    from memslot.plugins.info import Command
    from memslot.plugins.overview import Overview

running: str | None = None
"""The plugin whose command is running: what it raises is the plugin's error, not ours."""


def read_current_overview(*, with_config: bool = False) -> Overview:
    """Read what is installed and what runs, for this home and folder."""
    from memslot.config.paths import Places
    from memslot.plugins.overview import read_overview

    return read_overview(Places.from_env(), os.environ, with_config=with_config)


def prepare_host(overview: Overview, agent: str | None) -> Host:
    """Create a host for a command; each plugin starts on first use."""
    from memslot.config.paths import Places
    from memslot.host import Host

    assert overview.loaded is not None
    return Host.prepare(overview.loaded, overview.activation, Places.from_env(), agent=agent, env=dict(os.environ))


def list_plugin_commands(group: str = "") -> dict[str, tuple[str, str]]:
    """Return the commands of running plugins, name to (plugin, help), of a group or the top level.

    A broken config has none.
    """
    from memslot.cli.output import clean
    from memslot.errors import MemslotError

    try:
        overview = read_current_overview()
    except MemslotError:
        return {}
    commands = [(plugin.id, command) for plugin in overview.activation.running for command in plugin.commands]
    return {
        command.name.rpartition(" ")[2]: (plugin_id, clean(command.help))
        for plugin_id, command in commands
        if command.name.rpartition(" ")[0] == group
    }


class OpenGroup(click.Group):
    """A built-in group to which plugins add commands; built-in commands come first."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *list_plugin_commands(self.name or "")})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or load_plugin_command(ctx, f"{self.name} {cmd_name}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [(name, command.get_short_help_str(200)) for name, command in self.commands.items()]
        added = [(name, text) for name, (_, text) in list_plugin_commands(self.name or "").items()]
        with formatter.section("Commands"):
            formatter.write_dl(sorted({**dict(added), **dict(own)}.items()))


def load_plugin_command(ctx: click.Context, name: str) -> click.Command | None:
    """Load a command's plugin and return the command; None if no known plugin has it.

    Raises ConfigError, or a ClickException that says why the plugin that has it does not run.
    """
    overview = read_current_overview(with_config=True)
    decisions = [d for d in overview.activation.decisions if name in _names(d.plugin.commands)]
    owner = next((d.plugin for d in decisions if d.runs), None)
    if owner is None:
        if decisions:
            plugin, reason = decisions[0].plugin, decisions[0].reason
            raise click.ClickException(
                f'"{name}" comes with the plugin {plugin.id}, which does not run: {reason}; '
                f"enable it with: memslot plugins enable {plugin.id}"
            )
        from memslot.plugins.hints import install_command_for

        if install := install_command_for(name):
            raise click.ClickException(
                f'"{name}" comes with a plugin that is not installed; install it with: {install}'
            )
        return None
    return _load(ctx, overview, owner.id, name)


def _names(commands: tuple[Command, ...]) -> set[str]:
    return {command.name for command in commands}


def _load(ctx: click.Context, overview: Overview, plugin_id: str, name: str) -> click.Command:
    global running
    from memslot.cli.output import results_apart, say_warning, silence_log

    silence_log()
    with results_apart():
        host = ctx.with_resource(prepare_host(overview, ctx.find_root().params.get("agent")))
        ctx.obj = host  # for a command that is about the host itself
        command = host.plugin_commands(plugin_id).get(name)
    for warning in (*host.warnings, *(str(event) for event in host.diagnostics)):
        say_warning(warning)
    if command is None:
        why = host.failure(plugin_id) or "it did not register it"
        raise click.ClickException(f'the plugin {plugin_id} does not provide the command "{name}": {why}')
    running = plugin_id
    return command
