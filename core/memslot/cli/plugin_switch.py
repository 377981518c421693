"""`memslot plugins enable` and `disable`."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from memslot.cli.output import say_done, say_warning
from memslot.cli.plugins import find_decision


@click.command("enable")
@click.argument("plugin_id", metavar="ID")
def enable(plugin_id: str) -> None:
    """Enable a plugin; a memory plugin also takes the memory slot.

    \b
    Examples:
      memslot plugins enable memory-lancedb
    """
    from memslot.plugins.activation import SLOT_KINDS

    plugin = find_decision(plugin_id).plugin
    edit = _Edit()
    if plugin_id in edit.listed("deny"):
        edit.put("plugins.deny", [name for name in edit.listed("deny") if name != plugin_id])
        say_done(f"{plugin_id} is taken off plugins.deny")
    if edit.listed("allow") and plugin_id not in edit.listed("allow"):
        edit.put("plugins.allow", [*edit.listed("allow"), plugin_id])
        say_done(f"{plugin_id} is added to plugins.allow")
    if plugin_id in edit.disabled():
        edit.put(f'plugins.entries."{plugin_id}".enabled', True)
    for slot, kind in SLOT_KINDS.items():
        previous = edit.slots().get(slot)
        if plugin.kind == kind and previous != plugin_id:
            edit.put(f"plugins.slots.{slot}", plugin_id)
            say_done(f"the {slot} slot moved from {previous} to {plugin_id}")
    decision = find_decision(plugin_id)
    if decision.runs:
        say_done(f"{plugin_id} runs: {decision.reason}")
    else:
        say_warning(f"{plugin_id} still does not run: {decision.reason}")
        raise click.exceptions.Exit(1)


@click.command("disable")
@click.argument("plugin_id", metavar="ID")
def disable(plugin_id: str) -> None:
    """Disable a plugin.

    \b
    Examples:
      memslot plugins disable embed-openai
    """
    find_decision(plugin_id)
    edit = _Edit()
    edit.put(f'plugins.entries."{plugin_id}".enabled', False)
    say_done(f"{plugin_id} is disabled")
    for slot, owner in edit.slots().items():
        if owner == plugin_id:
            say_warning(f"it owned the {slot} slot, which is empty now; fill it with: memslot plugins enable ID")


class _Edit:
    """Changes of the person's config file, one key at a time."""

    def __init__(self) -> None:
        from memslot.config.paths import Places
        from memslot.plugins.config_loader import load_config

        self._places = Places.from_env()
        self._plugins = load_config(self._places, project_dir=None).config.plugins

    def listed(self, name: str) -> list[str]:
        return list(getattr(self._plugins, name))

    def disabled(self) -> set[str]:
        return {name for name, entry in self._plugins.entries.items() if not entry.enabled}

    def slots(self) -> dict[str, str]:
        return self._plugins.slots.to_tree()

    def put(self, key: str, value: Any) -> None:
        from memslot.config.edit import set_value
        from memslot.plugins.config_loader import tree_problems

        check = partial(tree_problems, places=self._places, is_complete=False)
        set_value(self._places.config_file, key, value, check=check)
