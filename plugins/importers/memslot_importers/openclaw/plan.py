"""Compares their settings with ours, and checks what would be written before anything is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memslot import ConfigFile

from memslot_importers.openclaw.home import DEFAULT_AGENT, OpenClawAgent, OpenClawHome
from memslot_importers.openclaw.settings import DEFAULTS, KeyPath, Setting

AGENT_LIST = ("agents", "list")
_AGENT_ID = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
_MISSING = object()
_SPELLINGS = {DEFAULTS: ("memory", "search")}
"""Keys of ours that mean the same: a setting under one of them counts as set."""


@dataclass
class Plan:
    """The settings with the outcome of each, what to write, and the id here of each of their agents."""

    settings: list[Setting] = field(default_factory=list)
    agents: dict[str, str] = field(default_factory=dict)

    @property
    def changes(self) -> list[tuple[KeyPath, Any]]:
        return [(setting.key, setting.value) for setting in self.settings if setting.state == "set"]


def plan_settings(
    home: OpenClawHome,
    settings: Sequence[Setting],
    ours: ConfigFile,
) -> Plan:
    """Decide for each of their settings."""
    plan = Plan()
    checked = _checked(home, settings, ours)
    usable = [agent for agent in home.agents if re.fullmatch(_AGENT_ID, agent.id)]
    for agent in home.agents:
        if agent not in usable:
            key = (*AGENT_LIST, agent.place or 0, "id")
            plan.settings.append(
                Setting(key, agent.id).leave_out("is not a valid agent id here: letters, digits, _ and - only")
            )
    places = _places_of_agents(home, usable, ours, plan)
    for setting in checked:
        in_list = setting.key[:2] == AGENT_LIST
        if in_list and setting.state == "set" and setting.key[2] not in places:
            continue  # of an agent that was reported already
        if in_list and setting.key[2] in places:
            setting = replace(setting, key=(*AGENT_LIST, places[setting.key[2]], *setting.key[3:]))
        plan.settings.append(_compared(setting, ours))
    return plan


def _places_of_agents(
    home: OpenClawHome, usable: Sequence[OpenClawAgent], ours: ConfigFile, plan: Plan
) -> dict[Any, int]:
    """Each agent's index in our list, by its index in theirs; unknown agents are appended."""
    listed = ours.get(AGENT_LIST)
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
    usable: Sequence[OpenClawAgent], plan: Plan, places: Mapping[Any, int], roots: dict[Path, str]
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


def _compared(setting: Setting, ours: ConfigFile) -> Setting:
    """The setting compared with ours, which wins."""
    if setting.state != "set":
        return setting
    keys = [setting.key]
    for usual, other in _SPELLINGS.items():
        if setting.key[: len(usual)] == usual:
            keys.append((*other, *setting.key[len(usual) :]))
    for key in keys:
        there = ours.get(key, _MISSING)
        if there is not _MISSING:
            if there == setting.value:
                return replace(setting, state="same")
            return setting.leave_out("your config says otherwise, and wins", "kept")
        if _is_blocked(ours, key):
            return setting.leave_out("your config has something else in this place", "kept")
    return setting


def _is_blocked(ours: ConfigFile, key: KeyPath) -> bool:
    """Whether a value is in the place of a section that is needed."""
    around = [ours.get(key[:length], _MISSING) for length in range(1, len(key))]
    return any(each is not _MISSING and not isinstance(each, dict | list) for each in around)


def _checked(home: OpenClawHome, settings: Sequence[Setting], ours: ConfigFile) -> list[Setting]:
    """The settings, without those that our own model or a plugin's schema refuses."""
    checked = list(settings)
    agents = [{"id": f"agent-{number}"} for number in range(len(home.agents))]
    while True:
        wanted: list[tuple[KeyPath, Any]] = []
        if any(setting.key[:2] == AGENT_LIST for setting in checked):
            wanted.append((AGENT_LIST, agents))
        wanted += [(setting.key, setting.value) for setting in checked if setting.state == "set"]
        faults = [fault for fault in ours.refusals(wanted) if _touches_any(fault[0], checked)]
        if not faults:
            return checked
        checked = [_without_fault(setting, faults) for setting in checked]


def _touches(path: KeyPath, key: KeyPath) -> bool:
    length = min(len(path), len(key))
    return length > 0 and path[:length] == key[:length]


def _touches_any(path: KeyPath, settings: Sequence[Setting]) -> bool:
    return any(setting.state == "set" and _touches(path, setting.key) for setting in settings)


def _without_fault(setting: Setting, faults: Sequence[tuple[KeyPath, str]]) -> Setting:
    reason = next((reason for path, reason in faults if _touches(path, setting.key)), None)
    return setting if setting.state != "set" or reason is None else setting.leave_out(reason)
