"""Which plugins run, and the reason for each: a pure decision on what is installed and configured."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memslot.config.spelling import nearest
from memslot.plugins.info import PluginInfo

NO_OWNER = "none"
SLOT_KINDS = {"memory": "memory"}
"""Which kind of plugin each slot takes."""

SlotValue = str | Sequence[str]
"""A slot's value in the config: one plugin, several in order, or "none"."""


def members_of(value: SlotValue) -> tuple[str, ...]:
    """Return the plugins a slot names, in order; empty if it is turned off."""
    names = [value] if isinstance(value, str) else value
    return tuple(dict.fromkeys(name for name in names if name != NO_OWNER))


@dataclass(frozen=True)
class Rules:
    """What the config and the environment say about plugins."""

    enabled: bool = True
    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    disabled: frozenset[str] = frozenset()
    slots: Mapping[str, SlotValue] = field(default_factory=dict)
    chosen_slots: frozenset[str] = frozenset()
    """Slots set by the user, as opposed to defaults."""
    broken_entries: Mapping[str, str] = field(default_factory=dict)
    only: frozenset[str] | None = None
    """From MEMSLOT_LOAD_PLUGINS; None if it is not set."""
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
    """A slot and the plugins that run in it, in the config's order; the first is the owner.

    `error` is a mistake in the config; `problem` says why the slot is empty, or which of several is missing.
    """

    name: str
    owners: tuple[str, ...] = ()
    error: str | None = None
    problem: str | None = None
    absent: Mapping[str, str] = field(default_factory=dict)
    """Plugins that the slot names but that do not run, each with the reason."""

    @property
    def owner(self) -> str | None:
        return self.owners[0] if self.owners else None

    def missing(self, there: Collection[str], failures: Mapping[str, str]) -> dict[str, str]:
        """Return the plugins that the slot names but that provide nothing for it, each with the reason."""
        silent = {each: failures.get(each, f"it registers no {self.name}") for each in self.owners}
        return {each: why for each, why in (silent | dict(self.absent)).items() if each not in there}


@dataclass(frozen=True)
class Activation:
    """The whole decision."""

    decisions: tuple[Decision, ...]
    slots: tuple[Slot, ...]

    @property
    def running(self) -> tuple[PluginInfo, ...]:
        """The running plugins; those of one slot are in the slot's order."""
        plugins = [decision.plugin for decision in self.decisions if decision.runs]
        order = [owner for slot in self.slots for owner in slot.owners]
        members = iter(sorted((each for each in plugins if each.id in order), key=lambda each: order.index(each.id)))
        return tuple(next(members) if each.id in order else each for each in plugins)

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
    slots = tuple(_fill(name, value, decisions, rules, install_hint) for name, value in sorted(rules.slots.items()))
    return Activation(tuple(_with_rank(decision, slots) for decision in decisions), slots)


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
    """A plugin whose kind belongs to a slot runs only where the slot names it."""
    for slot, kind in SLOT_KINDS.items():
        members = members_of(rules.slots.get(slot, NO_OWNER))
        if plugin.kind != kind or plugin.id in members:
            continue
        if not members:
            return Decision(plugin, False, "slot-off", f'plugins.slots.{slot} is "{NO_OWNER}"')
        return Decision(plugin, False, "slot-rival", f"plugins.slots.{slot} is {_quoted(members)}")
    return None


def _decide_settings(plugin: PluginInfo, find_setting_fault: Callable[[PluginInfo], str | None]) -> Decision:
    fault = find_setting_fault(plugin)
    if fault is not None:
        return Decision(plugin, False, "bad-config", fault)
    return Decision(plugin, True, "enabled", "enabled")


def _with_rank(decision: Decision, slots: Sequence[Slot]) -> Decision:
    """The decision with the plugin's place in its slot: the first that runs owns it."""
    for slot in slots:
        if decision.runs and decision.plugin.id in slot.owners:
            place = slot.owners.index(decision.plugin.id)
            if place == 0:
                return replace(decision, code="slot-owner", reason=f"owns the {slot.name} slot")
            return replace(decision, code="slot-member", reason=f"in the {slot.name} slot beside {slot.owner}")
    return decision


def _fill(name: str, value: SlotValue, decisions: Sequence[Decision], rules: Rules, install_hint: InstallHint) -> Slot:
    members = members_of(value)
    if not members:
        return Slot(name, problem=f'plugins.slots.{name} is "{NO_OWNER}"')
    if rules.all_off or not rules.enabled:
        return Slot(name, problem="all plugins are off")
    found = {decision.plugin.id: decision for decision in decisions if decision.code != "overridden"}
    owners: list[str] = []
    absent: dict[str, str] = {}
    errors: list[str] = []
    problems: list[str] = []
    if not isinstance(value, str) and NO_OWNER in value:
        errors.append(
            f'plugins.slots.{name} lists "{NO_OWNER}" beside {_quoted(members)}; '
            f'remove "{NO_OWNER}", or turn the slot off with: memslot config set plugins.slots.{name} {NO_OWNER}'
        )
    for member in members:
        decision = found.get(member)
        if decision is None:
            absent[member] = "it is not installed"
            sentence = _not_installed(name, member, decisions, install_hint)
            (errors if name in rules.chosen_slots else problems).append(sentence)
        elif decision.plugin.kind not in (None, SLOT_KINDS[name]):
            errors.append(_wrong_kind(name, decision.plugin, decisions))
        elif decision.runs:
            owners.append(member)
        else:
            absent[member] = decision.reason
            place = f"owns the {name} slot" if len(members) == 1 else f"is in the {name} slot"
            problems.append(f'"{member}" {place} but does not run: {decision.reason}')
    return Slot(name, tuple(owners), errors[0] if errors else None, "; ".join(problems) or None, absent)


_GET_ANOTHER = "get another with: memslot plugins install PACKAGE"


def _not_installed(slot: str, member: str, decisions: Sequence[Decision], install_hint: InstallHint) -> str:
    kind = SLOT_KINDS[slot]
    command = install_hint(member)
    meant = nearest(member, [d.plugin.id for d in decisions if d.plugin.kind == kind]) if command is None else None
    sentence = f'plugins.slots.{slot} names "{member}", which is not installed; '
    fitting = _fitting(slot, kind, decisions)
    if meant:
        sentence += f'did you mean "{meant}"? '
        fitting = fitting[:1].upper() + fitting[1:]
    return sentence + fitting + (f"install it with: {command}" if command else _GET_ANOTHER)


def _wrong_kind(slot: str, plugin: PluginInfo, decisions: Sequence[Decision]) -> str:
    kind = SLOT_KINDS[slot]
    sentence = f'plugins.slots.{slot} names "{plugin.id}", which is of kind "{plugin.kind}", not "{kind}"; '
    fitting = _fitting(slot, kind, decisions) or "none is installed; get one with: memslot plugins install PACKAGE"
    return (sentence + fitting).removesuffix("; ")


def _quoted(names: Sequence[str]) -> str:
    return " and ".join(f'"{name}"' for name in names)


def _fitting(slot: str, kind: str, decisions: Sequence[Decision]) -> str:
    """A clause that names the installed plugins that could own the slot, and how to choose one."""
    ids = sorted({d.plugin.id for d in decisions if d.plugin.kind == kind})
    if not ids:
        return ""
    return f"installed {kind} plugins: {', '.join(ids)} (memslot config set plugins.slots.{slot} {ids[0]}); "
