"""`memslot plugins enable` and `disable`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from memslot.cli.output import say_done, say_warning
from memslot.cli.plugins import find_decision
from memslot.plugins.activation import NO_OWNER, members_of

if TYPE_CHECKING:
    from memslot.config.problems import ConfigProblem
    from memslot.plugins.activation import SlotValue


@click.command("enable")
@click.argument("plugin_id", metavar="ID")
@click.option(
    "--beside", is_flag=True, help="Add a memory plugin to the memories in the slot instead of replacing them."
)
def enable(plugin_id: str, beside: bool) -> None:
    """Enable a plugin; a memory plugin also takes the memory slot.

    \b
    Examples:
      memslot plugins enable memory-lancedb
      memslot plugins enable memory-lancedb --beside
    """
    from memslot.plugins.activation import SLOT_KINDS

    plugin = find_decision(plugin_id).plugin
    if beside and plugin.kind not in SLOT_KINDS.values():
        raise click.UsageError(f"--beside is for memory plugins; {plugin_id} is of kind {plugin.kind}")
    edit = _Edit()
    if plugin_id in edit.listed("deny"):
        edit.put("plugins.deny", [name for name in edit.listed("deny") if name != plugin_id])
        say_done(f"{plugin_id} was removed from plugins.deny")
    if edit.listed("allow") and plugin_id not in edit.listed("allow"):
        edit.put("plugins.allow", [*edit.listed("allow"), plugin_id])
        say_done(f"{plugin_id} was added to plugins.allow")
    if plugin_id in edit.disabled():
        edit.put(f'plugins.entries."{plugin_id}".enabled', True)
    for slot, kind in SLOT_KINDS.items():
        members = members_of(edit.slots()[slot])
        if plugin.kind != kind or (plugin_id in members and (beside or len(members) == 1)):
            continue
        if beside and members:
            edit.add_member(slot, plugin_id)
            say_done(f"{plugin_id} is in the {slot} slot beside {', '.join(members)}")
        else:
            edit.put(f"plugins.slots.{slot}", plugin_id)
            say_done(f"the {slot} slot moved from {', '.join(members) or NO_OWNER} to {plugin_id}")
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
    for slot, value in edit.slots().items():
        others = [each for each in members_of(value) if each != plugin_id]
        if plugin_id in members_of(value) and others:
            edit.remove_member(slot, plugin_id)
            say_done(f"it was removed from the {slot} slot, which leaves {' and '.join(others)}")
        elif plugin_id in members_of(value):
            say_warning(f"it owned the {slot} slot, which is empty now; fill it with: memslot plugins enable ID")


class _Edit:
    """Changes the user's config file, one key at a time."""

    def __init__(self) -> None:
        from memslot.config.paths import Places
        from memslot.plugins.config_loader import load_config

        self._places = Places.from_env()
        self._plugins = load_config(self._places, project_dir=None).config.plugins

    def listed(self, name: str) -> list[str]:
        return list(getattr(self._plugins, name))

    def disabled(self) -> set[str]:
        return {name for name, entry in self._plugins.entries.items() if not entry.enabled}

    def slots(self) -> dict[str, SlotValue]:
        return self._plugins.slots.to_tree()

    def add_member(self, slot: str, plugin_id: str) -> None:
        """Append a plugin to a slot; an existing list keeps its comments, unless it names "none", too."""
        value = self.slots()[slot]
        if isinstance(value, str) or NO_OWNER in value or not self._is_written(slot):
            self.put(f"plugins.slots.{slot}", [*members_of(value), plugin_id])
        else:
            self.put(f"plugins.slots.{slot}[{len(value)}]", plugin_id)

    def remove_member(self, slot: str, plugin_id: str) -> None:
        value = self.slots()[slot]
        if self._is_written(slot):
            self._unset(f"plugins.slots.{slot}[{list(value).index(plugin_id)}]")
        else:
            self.put(f"plugins.slots.{slot}", [each for each in members_of(value) if each != plugin_id])

    def _is_written(self, slot: str) -> bool:
        """Whether the slot's list is in the user's own file."""
        return slot in self._plugins.slots.written()

    def put(self, key: str, value: Any) -> None:
        from memslot.config.edit import set_value

        set_value(self._places.config_file, key, value, check=self._problems)

    def _unset(self, key: str) -> None:
        from memslot.config.edit import unset_value

        unset_value(self._places.config_file, key, check=self._problems)

    def _problems(self, tree: Mapping[str, Any]) -> Sequence[ConfigProblem]:
        from memslot.plugins.config_loader import tree_problems

        return tree_problems(tree, places=self._places)
