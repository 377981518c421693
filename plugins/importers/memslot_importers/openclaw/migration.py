"""Imports an OpenClaw home: its settings first, then the notes and transcripts of each agent."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memslot import Config, ConfigError, ConfigFile, Places, starter_memory

from memslot_importers.openclaw.copies import Copied, copy_notes, copy_transcripts
from memslot_importers.openclaw.home import NOTE_FOLDER, NOTE_NAMES, OpenClawAgent, OpenClawHome, read_openclaw
from memslot_importers.openclaw.plan import Plan, plan_settings
from memslot_importers.openclaw.settings import Setting, openclaw_settings


@dataclass
class AgentImport:
    """One agent: where its notes came from, where they went, and each file's outcome."""

    id: str
    origin: str | None
    workspace: str
    notes: list[Copied] = field(default_factory=list)
    transcripts: list[Copied] = field(default_factory=list)
    problem: str | None = None

    @property
    def is_whole(self) -> bool:
        return self.problem is None and not self.left_alone

    @property
    def left_alone(self) -> list[Copied]:
        return [each for each in (*self.notes, *self.transcripts) if each.state in ("conflict", "refused")]

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "from": self.origin,
            "workspace": self.workspace,
            "problem": self.problem,
            "notes": [each.to_json() for each in self.notes],
            "transcripts": [each.to_json() for each in self.transcripts],
        }


@dataclass
class OpenClawImport:
    """Everything that was, or with `dry_run` would be, imported."""

    origin: Path
    config_file: Path
    dry_run: bool
    settings: list[Setting] = field(default_factory=list)
    agents: list[AgentImport] = field(default_factory=list)
    unlisted: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        return all(agent.is_whole for agent in self.agents)

    def to_json(self) -> dict[str, Any]:
        states = Counter(each.state for agent in self.agents for each in (*agent.notes, *agent.transcripts))
        return {
            "from": str(self.origin),
            "config": str(self.config_file),
            "dryRun": self.dry_run,
            "counts": dict(sorted(states.items())),
            "agents": [agent.to_json() for agent in self.agents],
            "agentsNotInConfig": list(self.unlisted),
            "settings": [setting.to_json() for setting in self.settings],
        }


def import_openclaw(path: Path, places: Places, *, dry_run: bool = False) -> OpenClawImport:
    """Copy what is not here yet and set what is not set yet; nothing of ours is changed or overwritten.

    Raises a MemslotError if there is nothing to import, or the config cannot be read.
    """
    home = read_openclaw(path)
    done = OpenClawImport(home.root, places.config_file, dry_run, unlisted=home.unlisted)
    ours = ConfigFile(places)
    config = ours.load()
    ids: Mapping[str, str] = {home.default_agent.id: config.default_agent_id()}
    if not home.is_workspace:
        plan = plan_settings(home, openclaw_settings(home, os.environ, ours.plugins()), ours)
        done.settings, ids = plan.settings, plan.agents
        if dry_run:
            config = ours.preview(plan.changes)
        else:
            _write_settings(plan, ours)
            config = ours.load()
    _copy_agents(home, ids, config, places, done)
    return done


def _write_settings(plan: Plan, ours: ConfigFile) -> None:
    """Write them one by one, as `memslot config set` does; a refused one does not stop the others."""
    for number, setting in enumerate(plan.settings):
        if setting.state != "set":
            continue
        try:
            ours.set(setting.key, setting.value)
        except ConfigError as error:
            plan.settings[number] = setting.leave_out(" ".join(str(error).split()))


def _copy_agents(
    home: OpenClawHome, ids: Mapping[str, str], config: Config, places: Places, done: OpenClawImport
) -> None:
    used: dict[Path, Path] = {}
    for agent in sorted(home.agents, key=lambda agent: not agent.is_default):
        if agent.id in ids:
            done.agents.append(_copy_agent(agent, ids[agent.id], config, places, used, done.dry_run))


def _copy_agent(
    agent: OpenClawAgent, our_id: str, config: Config, places: Places, used: dict[Path, Path], dry_run: bool
) -> AgentImport:
    workspace = config.workspace(our_id, places)
    done = AgentImport(our_id, str(agent.workspace) if agent.workspace else None, str(workspace))
    if agent.sessions is not None:
        done.transcripts = copy_transcripts(agent.sessions, places.sessions_dir(our_id), dry_run=dry_run)
    if agent.workspace is None:
        return done
    real, target = agent.workspace.resolve(), workspace.resolve()
    if used.get(target) == real:
        return done  # agents that share a workspace are done with the first of them
    if used.setdefault(target, real) != real:
        done.problem = (
            f"its notes were not copied: {workspace} is another agent's workspace, too; "
            f"give {our_id} one of its own in agents.list, and import again"
        )
    elif real != target:
        starter = starter_memory().encode()
        done.notes = copy_notes(agent.workspace, workspace, NOTE_NAMES, NOTE_FOLDER, starter=starter, dry_run=dry_run)
    return done
