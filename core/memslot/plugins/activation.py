"""Which plugins run, and the reason for each: a pure decision on what is installed and configured."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from memslot.config.spelling import nearest
from memslot.plugins.info import PluginInfo

NO_OWNER = "none"
SLOT_KINDS = {"memory": "memory"}
"""Which kind of plugin each slot takes."""


@dataclass(frozen=True)
class Rules:
    """What the config and the environment say about plugins."""

    enabled: bool = True
    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()
    slots: Mapping[str, str] = field(default_factory=dict)
    chosen_slots: frozenset[str] = frozenset()
    """The slots that the person filled in, as opposed to defaults."""
    broken_entries: Mapping[str, str] = field(default_factory=dict)
    only: frozenset[str] | None = None
    """From MEMSLOT_LOAD_PLUGINS; None where it is not set."""
    all_off: bool = False
    """From MEMSLOT_DISABLE_PLUGINS."""


def environment_rules(env: Mapping[str, str] | None = None) -> tuple[frozenset[str] | None, bool]:
    """What MEMSLOT_LOAD_PLUGINS and MEMSLOT_DISABLE_PLUGINS say: (`Rules.only`, `Rules.all_off`)."""
    env = os.environ if env is None else env
    named = env.get("MEMSLOT_LOAD_PLUGINS")
    only = None if named is None else frozenset(name.strip() for name in named.split(",") if name.strip())
    return only, env.get("MEMSLOT_DISABLE_PLUGINS") == "1"


@dataclass(frozen=True)
class Decision:
    """Whether one plugin runs. `code` is stable, for scripts; `reason` is for people."""

    plugin: PluginInfo
    runs: bool
    code: str
    reason: str


@dataclass(frozen=True)
class Slot:
    """A slot and who owns it. `error` is a mistake in the config; `problem` says why it is empty."""

    name: str
    owner: str | None
    error: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Activation:
    """The whole decision."""

    decisions: tuple[Decision, ...]
    slots: tuple[Slot, ...]

    @property
    def running(self) -> tuple[PluginInfo, ...]:
        return tuple(decision.plugin for decision in self.decisions if decision.runs)

    def slot(self, name: str) -> Slot:
        return next(slot for slot in self.slots if slot.name == name)


InstallHint = Callable[[str], str | None]
"""Gives the command that would install a plugin, where one is known."""


def decide_activation(
    plugins: Sequence[PluginInfo],
    rules: Rules,
    *,
    host_api: int,
    find_setting_fault: Callable[[PluginInfo], str | None] = lambda plugin: None,
    install_hint: InstallHint = lambda plugin_id: None,
) -> Activation:
    """Decide for every plugin. Settings are only checked for plugins that would run."""
    decisions = tuple(_decide(plugin, rules, host_api, find_setting_fault) for plugin in plugins)
    slots = tuple(_fill(name, owner, decisions, rules, install_hint) for name, owner in sorted(rules.slots.items()))
    return Activation(decisions, slots)


def _decide(
    plugin: PluginInfo, rules: Rules, host_api: int, find_setting_fault: Callable[[PluginInfo], str | None]
) -> Decision:
    def no(code: str, reason: str) -> Decision:
        return Decision(plugin, False, code, reason)

    if plugin.overridden_by is not None:
        return no("overridden", f"another plugin of this id comes first: {plugin.overridden_by}")
    if rules.all_off:
        return no("plugins-off", "MEMSLOT_DISABLE_PLUGINS=1 turns all plugins off")
    if rules.only is not None and plugin.id not in rules.only:
        return no("not-loaded", "MEMSLOT_LOAD_PLUGINS does not name it")
    if not rules.enabled:
        return no("plugins-off", "plugins.enabled is false")
    if plugin.id in rules.deny:
        return no("denied", "plugins.deny names it")
    if rules.allow and plugin.id not in rules.allow:
        return no("not-allowed", "plugins.allow is set and does not name it")
    if plugin.id in rules.broken_entries:
        return no("bad-config", rules.broken_entries[plugin.id])
    if plugin.id in rules.disabled:
        return no("disabled", f"plugins.entries.{plugin.id}.enabled is false")
    if plugin.problem is not None:
        return no("broken", plugin.problem)
    if plugin.min_host_api > host_api:
        return no("broken", f"it needs host API {plugin.min_host_api}, this host has {host_api}: upgrade memslot")
    return _decide_slot(plugin, rules) or _decide_settings(plugin, find_setting_fault)


def _decide_slot(plugin: PluginInfo, rules: Rules) -> Decision | None:
    """A plugin whose kind belongs to a slot runs only as the slot's owner."""
    for slot, kind in SLOT_KINDS.items():
        owner = rules.slots.get(slot, NO_OWNER)
        if plugin.kind != kind or plugin.id == owner:
            continue
        if owner == NO_OWNER:
            return Decision(plugin, False, "slot-off", f'plugins.slots.{slot} is "{NO_OWNER}"')
        return Decision(plugin, False, "slot-rival", f'plugins.slots.{slot} is "{owner}"')
    return None


def _decide_settings(plugin: PluginInfo, find_setting_fault: Callable[[PluginInfo], str | None]) -> Decision:
    fault = find_setting_fault(plugin)
    if fault is not None:
        return Decision(plugin, False, "bad-config", fault)
    for slot, kind in SLOT_KINDS.items():
        if plugin.kind == kind:
            return Decision(plugin, True, "slot-owner", f"owns the {slot} slot")
    return Decision(plugin, True, "enabled", "enabled")


def _fill(name: str, owner: str, decisions: Sequence[Decision], rules: Rules, install_hint: InstallHint) -> Slot:
    kind = SLOT_KINDS[name]
    if owner == NO_OWNER:
        return Slot(name, None, problem=f'plugins.slots.{name} is "{NO_OWNER}"')
    if rules.all_off or not rules.enabled:
        return Slot(name, None, problem="all plugins are off")
    found = next((d for d in decisions if d.plugin.id == owner and d.code != "overridden"), None)
    if found is None:
        command = install_hint(owner)
        meant = nearest(owner, [d.plugin.id for d in decisions if d.plugin.kind == kind]) if command is None else None
        sentence = f'plugins.slots.{name} names "{owner}", which is not installed; '
        sentence += f'did you mean "{meant}"? ' if meant else ""
        sentence += _fitting(name, kind, decisions)
        sentence += f"install it with: {command}" if command else "install it with: memslot plugins install PACKAGE"
        return Slot(name, None, error=sentence) if name in rules.chosen_slots else Slot(name, None, problem=sentence)
    if found.plugin.kind is not None and found.plugin.kind != kind:
        sentence = f'plugins.slots.{name} names "{owner}", which is of kind "{found.plugin.kind}", not "{kind}"; '
        fitting = _fitting(name, kind, decisions) or "none is installed; get one with: memslot plugins install PACKAGE"
        return Slot(name, None, error=(sentence + fitting).removesuffix("; "))
    if not found.runs:
        return Slot(name, None, problem=f'"{owner}" owns the {name} slot but does not run: {found.reason}')
    return Slot(name, owner)


def _fitting(slot: str, kind: str, decisions: Sequence[Decision]) -> str:
    """A clause that names the installed plugins that could own the slot, and how to choose one."""
    ids = sorted({d.plugin.id for d in decisions if d.plugin.kind == kind})
    if not ids:
        return ""
    return f"installed {kind} plugins: {', '.join(ids)} (memslot config set plugins.slots.{slot} {ids[0]}); "
