"""`memslot plugins`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from memslot.cli.output import print_json, print_pairs, print_table, say_warning
from memslot.cli.plugin_commands import read_current_overview

if TYPE_CHECKING:
    from memslot.plugins.activation import Decision
    from memslot.plugins.info import PluginInfo

_LAZY = {
    "enable": ("memslot.cli.plugin_switch", "Enable a plugin; a memory plugin also takes the slot."),
    "disable": ("memslot.cli.plugin_switch", "Disable a plugin."),
    "doctor": ("memslot.cli.doctor", "Load every enabled plugin and report problems."),
    "validate": ("memslot.cli.plugin_author", "Validate a plugin you are writing."),
    "init": ("memslot.cli.plugin_author", "Create a plugin package from a template."),
    "install": ("memslot.cli.plugin_install", "Install a plugin with pip."),
    "uninstall": ("memslot.cli.plugin_install", "Uninstall a plugin's package with pip."),
}
_ATTRIBUTES = {"doctor": "plugins_doctor"}


class PluginCommands(click.Group):
    """`list` and `info` are here; the others are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_LAZY]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _LAZY:
            return super().get_command(ctx, cmd_name)
        import importlib

        module = importlib.import_module(_LAZY[cmd_name][0])
        command: click.Command = getattr(module, _ATTRIBUTES.get(cmd_name, cmd_name))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [(name, cmd.get_short_help_str(90)) for name, cmd in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*own, *((name, text) for name, (_, text) in _LAZY.items())])


@click.group("plugins", cls=PluginCommands)
def command() -> None:
    """List, enable, install, validate and create plugins.

    \b
    Examples:
      memslot plugins list
      memslot plugins enable memory-lancedb
      memslot plugins init my-embedder --type embedder
    """


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
@click.option("--enabled", is_flag=True, help="List running plugins only.")
def list_(as_json: bool, enabled: bool) -> None:
    """List all plugins found, and why each runs or does not. Imports none of them.

    \b
    Examples:
      memslot plugins list
      memslot plugins list --json | jq -r '.plugins[] | select(.runs) | .id'
    """
    overview = read_current_overview()
    decisions = [d for d in overview.activation.decisions if d.runs or not enabled]
    if as_json:
        slots = {
            slot.name: {
                "owner": slot.owner,
                "owners": list(slot.owners),
                "error": slot.error,
                "problem": slot.problem,
            }
            for slot in overview.activation.slots
        }
        print_json(
            {
                "plugins": [summary(decision) for decision in decisions],
                "slots": slots,
                "warnings": list(overview.warnings),
            }
        )
        return
    for warning in overview.warnings:
        say_warning(warning)
    rows = [[d.plugin.id, d.plugin.kind or "?", d.plugin.version, state_of(d), d.reason] for d in decisions]
    print_table(["id", "kind", "version", "state", "reason"], rows)
    for slot in overview.activation.slots:
        if slot.error or slot.problem:
            say_warning(f"{slot.name} slot: {slot.error or slot.problem}")


@command.command()
@click.argument("plugin_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
def info(plugin_id: str, as_json: bool) -> None:
    """Show a plugin's details: what it provides, needs and can be configured with. Does not import it.

    \b
    Examples:
      memslot plugins info memory-core
      memslot plugins info memory-lancedb --json | jq .configSchema
    """
    decision = find_decision(plugin_id)
    plugin = decision.plugin
    details: dict[str, Any] = {
        **summary(decision),
        "entry": plugin.entry,
        "root": plugin.root,
        "minHostApi": plugin.min_host_api,
        "requires": {"extras": list(plugin.required_extras), "env": list(plugin.required_env)},
        "configSchema": plugin.config_schema,
        "uiHints": plugin.ui_hints,
    }
    if as_json:
        print_json(details)
        return
    rows = [
        ["id", plugin.id],
        ["name", plugin.name],
        ["about", plugin.description],
        ["kind", plugin.kind or "?"],
        ["version", plugin.version],
        ["state", f"{state_of(decision)}: {decision.reason}"],
        ["from", plugin.distribution or plugin.root],
        ["tools", ", ".join(plugin.tools)],
        ["commands", ", ".join(item.name for item in plugin.commands)],
        ["providers", ", ".join(plugin.providers)],
        ["environment", ", ".join(f"{n} ({'set' if os.environ.get(n) else 'not set'})" for n in plugin.required_env)],
    ]
    print_pairs([*rows, *(["setting", setting] for setting in describe_settings(plugin))])


def describe_settings(plugin: PluginInfo) -> list[str]:
    """One line for each setting: its name, type, default, and what it is for."""
    import json

    required = plugin.config_schema.get("required", ())
    lines = []
    for name, schema in plugin.config_schema.get("properties", {}).items():
        schema = schema if isinstance(schema, dict) else {}
        facts = [" or ".join(map(json.dumps, schema["enum"])) if "enum" in schema else str(schema.get("type", "any"))]
        if name in required and "default" not in schema:
            facts.append("required")
        if "default" in schema:
            facts.append(f"default {json.dumps(schema['default'], ensure_ascii=False)}")
        help_text = plugin.ui_hints.get(name, {}).get("help") or schema.get("description") or ""
        lines.append(f"{name} ({', '.join(facts)}) {help_text}".rstrip())
    return lines


def summary(decision: Decision) -> dict[str, Any]:
    """The keys that scripts can rely on."""
    plugin = decision.plugin
    return {
        "id": plugin.id,
        "kind": plugin.kind,
        "name": plugin.name,
        "version": plugin.version,
        "description": plugin.description,
        "runs": decision.runs,
        "code": decision.code,
        "reason": decision.reason,
        "origin": plugin.origin,
        "distribution": plugin.distribution,
        "provides": {
            "tools": list(plugin.tools),
            "commands": [item.name for item in plugin.commands],
            "providers": list(plugin.providers),
        },
    }


def state_of(decision: Decision) -> str:
    if decision.runs:
        return "on"
    return "error" if decision.code in ("broken", "bad-config") else "off"


def find_decision(plugin_id: str) -> Decision:
    """Find a plugin by id. Raises a ClickException with a suggestion if there is none."""
    decisions = read_current_overview().activation.decisions
    for decision in decisions:
        if decision.plugin.id == plugin_id and decision.code != "overridden":
            return decision
    from memslot.config.spelling import nearest
    from memslot.plugins.hints import install_command, optional_plugins

    command = install_command(plugin_id)
    close = nearest(plugin_id, [*(d.plugin.id for d in decisions), *optional_plugins()])
    if command:
        hint = f"it comes with: {command}"
    else:
        hint = f'did you mean "{close}"?' if close else "see: memslot plugins list"
    raise click.ClickException(f'no plugin "{plugin_id}" is installed; {hint}')
