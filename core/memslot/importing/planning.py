"""Lays their settings beside ours: what would be written where, checked before anything is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memslot.config.check import check_tree
from memslot.config.keypath import MISSING, KeyPath, lookup, parse_key
from memslot.config.merge import copied
from memslot.config.model import DEFAULT_AGENT
from memslot.config.paths import AGENT_ID_PATTERN
from memslot.config.problems import ConfigProblem
from memslot.errors import ConfigError
from memslot.importing.carried import DEFAULTS, Setting
from memslot.importing.openclaw_home import TheirAgent, TheirHome

PluginCheck = Callable[[Mapping[str, Any]], Sequence[ConfigProblem]]
"""Asks the schemas of plugins about a config."""
AGENT_LIST = ("agents", "list")
_SPELLINGS = {DEFAULTS: ("memory", "search")}
"""Keys of ours that mean the same: a setting under one of them counts as set."""


@dataclass
class Plan:
    """The settings with what becomes of each, what to write, and under which id each agent of theirs goes on."""

    settings: list[Setting] = field(default_factory=list)
    changes: list[tuple[KeyPath, Any]] = field(default_factory=list)
    agents: dict[str, str] = field(default_factory=dict)

    def tree_after(self, ours: Mapping[str, Any]) -> dict[str, Any]:
        """Our config as it will be."""
        tree: dict[str, Any] = copied(ours)
        for key, value in self.changes:
            put(tree, key, value)
        return tree


def plan_settings(
    home: TheirHome,
    settings: Sequence[Setting],
    ours: Mapping[str, Any],
    env: Mapping[str, str],
    check_plugins: PluginCheck,
) -> Plan:
    """Decide for each of their settings; `ours` is our config as written, `check_plugins` asks plugins' own schemas."""
    plan = Plan()
    checked = _checked(home, settings, env, check_plugins)
    usable = [agent for agent in home.agents if re.fullmatch(AGENT_ID_PATTERN, agent.id)]
    for agent in home.agents:
        if agent not in usable:
            key = (*AGENT_LIST, agent.place or 0, "id")
            plan.settings.append(Setting(key, agent.id).leave_out("is no agent id here: letters, digits, _ and - only"))
    places = _places_of_agents(home, usable, ours, plan)
    for setting in checked:
        in_list = setting.key[:2] == AGENT_LIST
        if in_list and setting.state == "set" and setting.key[2] not in places:
            continue  # of an agent that was told about already
        if in_list and setting.key[2] in places:
            setting = replace(setting, key=(*AGENT_LIST, places[setting.key[2]], *setting.key[3:]))
        plan.settings.append(_beside_ours(setting, ours))
    plan.changes += [(setting.key, setting.value) for setting in plan.settings if setting.state == "set"]
    return plan


def _places_of_agents(
    home: TheirHome, usable: Sequence[TheirAgent], ours: Mapping[str, Any], plan: Plan
) -> dict[Any, int]:
    """Where each agent stands in our list, by its place in theirs; those we do not have are added at its end."""
    listed = lookup(ours, AGENT_LIST)
    our_ids = [str(entry.get("id")) for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    only = home.default_agent
    is_plain = len(home.agents) == 1 and only.id == DEFAULT_AGENT and "memorySearch" not in only.entry
    if not our_ids and is_plain:
        plan.agents = {agent.id: agent.id for agent in usable}
        return {}
    by_id = {each.lower(): number for number, each in enumerate(our_ids)}
    first_new, places, roots = len(our_ids), dict[Any, int](), dict[Path, str]()
    for agent in usable:
        number = by_id.get(agent.id.lower())
        if number is None:
            entry: dict[str, Any] = {"id": agent.id}
            if not our_ids and agent.is_default and agent.place:
                entry["default"] = True
            if our_ids or not agent.is_default:
                entry["workspace"] = f"workspace-{agent.id}"
            number = by_id[agent.id.lower()] = first_new
            first_new += 1
            plan.agents[agent.id] = agent.id
            for key, value in entry.items():
                plan.settings.append(Setting((*AGENT_LIST, number, key), value))
        else:
            plan.agents[agent.id] = our_ids[number]
        places[agent.place or 0] = number
    _share_workspaces(usable, plan, places, roots)
    return places


def _share_workspaces(
    usable: Sequence[TheirAgent], plan: Plan, places: Mapping[Any, int], roots: dict[Path, str]
) -> None:
    """Agents that share a folder there share one here."""
    for agent in sorted(usable, key=lambda agent: not agent.is_default):
        key = (*AGENT_LIST, places[agent.place or 0], "workspace")
        given = next((setting for setting in plan.settings if setting.key == key), None)
        if agent.workspace is None:
            continue
        real = agent.workspace.resolve()
        if real not in roots:
            roots[real] = str(given.value) if given is not None else ""
        elif given is not None:
            plan.settings.remove(given)
            if roots[real]:
                plan.settings.append(Setting(key, roots[real]))


def _beside_ours(setting: Setting, ours: Mapping[str, Any]) -> Setting:
    """The setting as it stands beside ours, which wins."""
    if setting.state != "set":
        return setting
    keys = [setting.key]
    for usual, other in _SPELLINGS.items():
        if setting.key[: len(usual)] == usual:
            keys.append((*other, *setting.key[len(usual) :]))
    for key in keys:
        there = lookup(ours, key)
        if there is not MISSING:
            if there == setting.value:
                return replace(setting, state="same")
            return setting.leave_out("your config says otherwise, and wins", "kept")
        if _is_blocked(ours, key):
            return setting.leave_out("your config has something else in this place", "kept")
    return setting


def _is_blocked(tree: Mapping[str, Any], key: KeyPath) -> bool:
    """Whether something that is no section stands where one is needed."""
    around = [lookup(tree, key[:length]) for length in range(1, len(key))]
    return any(each is not MISSING and not isinstance(each, dict | list) for each in around)


def _checked(home: TheirHome, settings: Sequence[Setting], env: Mapping[str, str], check_plugins: Any) -> list[Setting]:
    """The settings, without those that our own model or a plugin's schema refuses."""
    checked = list(settings)
    while True:
        tree: dict[str, Any] = {}
        if any(setting.key[:2] == AGENT_LIST for setting in checked):
            put(tree, AGENT_LIST, [{"id": f"agent-{number}"} for number in range(len(home.agents))])
        for setting in checked:
            if setting.state == "set":
                put(tree, setting.key, setting.value)
        found = check_tree(tree, env)
        problems = [*found.findings, *(each for one in found.entry_findings.values() for each in one)]
        if not problems:
            problems = [(_path_of(problem), problem) for problem in check_plugins(tree)]
        faults = [fault for fault in problems if _touches_any(fault[0], checked)]
        if not faults:
            return checked
        checked = [_without_fault(setting, faults) for setting in checked]


def _path_of(problem: ConfigProblem) -> KeyPath:
    try:
        return parse_key(problem.key)
    except ConfigError:
        return ()


def _touches(path: KeyPath, key: KeyPath) -> bool:
    length = min(len(path), len(key))
    return length > 0 and path[:length] == key[:length]


def _touches_any(path: KeyPath, settings: Sequence[Setting]) -> bool:
    return any(setting.state == "set" and _touches(path, setting.key) for setting in settings)


def _without_fault(setting: Setting, faults: Sequence[tuple[KeyPath, ConfigProblem]]) -> Setting:
    fault = next((problem for path, problem in faults if _touches(path, setting.key)), None)
    if setting.state != "set" or fault is None:
        return setting
    return setting.leave_out(f"{fault.reason}{f' ({fault.hint})' if fault.hint else ''}")


def put(tree: dict[str, Any], key: KeyPath, value: Any) -> None:
    """Set a value in a tree, with the sections around it; a list grows by one at its end."""
    owner: Any = tree
    for step, following in zip(key, [*key[1:], None], strict=True):
        fresh: Any = copied(value) if following is None else [] if isinstance(following, int) else {}
        if isinstance(owner, list):
            assert isinstance(step, int)
            if step == len(owner):
                owner.append(fresh)
            elif following is None:
                owner[step] = fresh
        elif following is None or not isinstance(owner.get(step), dict | list):
            owner[step] = fresh
        owner = owner[step]
