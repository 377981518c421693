"""Reads the layout of an OpenClaw home: its config, its agents, and where their notes and transcripts are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memslot import ConfigFile, MemslotError

DEFAULT_AGENT = "main"
CONFIG_NAMES = ("openclaw.json", "moltbot.json", "clawdbot.json")
"""The config's name, and the ones it had under earlier names of the program."""
NOTE_NAMES = ("MEMORY.md", "memory.md", "USER.md")
NOTE_FOLDER = "memory"


@dataclass(frozen=True)
class OpenClawAgent:
    """An agent of OpenClaw's; folders that don't exist are None."""

    id: str
    is_default: bool
    workspace: Path | None
    sessions: Path | None
    place: int | None = None
    """Its position in `agents.list`, if it has one."""
    entry: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class OpenClawHome:
    """What was found at a path: a whole home, or (`is_workspace`) a folder with notes only."""

    root: Path
    tree: Mapping[str, Any] = field(repr=False)
    agents: tuple[OpenClawAgent, ...] = ()
    unlisted: tuple[str, ...] = ()
    """Agents that have transcripts and are not in the config any more."""
    is_workspace: bool = False

    @property
    def default_agent(self) -> OpenClawAgent:
        return next(agent for agent in self.agents if agent.is_default)


def read_openclaw(path: Path) -> OpenClawHome:
    """Look at an OpenClaw home, its config file, or a workspace; raises a MemslotError for anything else."""
    if path.is_file() and path.name in CONFIG_NAMES:
        path = path.parent
    if not path.is_dir():
        raise MemslotError(f"{path} is not a folder; name an OpenClaw home such as ~/.openclaw, or a workspace")
    config_file = next((path / name for name in CONFIG_NAMES if (path / name).is_file()), None)
    if config_file is None and not (path / "agents").is_dir():
        if not _has_notes(path):
            raise MemslotError(
                f"{path} is neither an OpenClaw home (it has no openclaw.json) nor a workspace "
                "(it has no MEMORY.md, USER.md or memory folder); name another folder"
            )
        only = OpenClawAgent(DEFAULT_AGENT, True, path, None)
        return OpenClawHome(path, {}, (only,), is_workspace=True)
    tree = ConfigFile.read_tree(config_file) if config_file else {}
    agents = _agents(path, tree)
    return OpenClawHome(path, tree, agents, _unlisted(path, agents))


def _has_notes(folder: Path) -> bool:
    return (folder / NOTE_FOLDER).is_dir() or any((folder / name).is_file() for name in NOTE_NAMES)


def expand_home(text: str) -> Path:
    """Expand `~` and `~name`; an unknown name is left as written."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def section(tree: Any, *keys: str) -> Mapping[str, Any]:
    """The object at a path of keys; an empty one if there is none."""
    for key in keys:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree if isinstance(tree, Mapping) else {}


def agent_entries(tree: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The entries of `agents.list`, or of `agents.entries`, where newer versions keep them by id."""
    listed = section(tree, "agents").get("list")
    if isinstance(listed, list):
        return [entry for entry in listed if isinstance(entry, Mapping) and isinstance(entry.get("id"), str)]
    named = section(tree, "agents", "entries")
    return [{**entry, "id": name} for name, entry in named.items() if isinstance(entry, Mapping)]


def _agents(root: Path, tree: Mapping[str, Any]) -> tuple[OpenClawAgent, ...]:
    entries = agent_entries(tree) or [{"id": DEFAULT_AGENT}]
    default = next((number for number, entry in enumerate(entries) if entry.get("default") is True), 0)
    is_listed = bool(agent_entries(tree))
    return tuple(
        OpenClawAgent(
            id=entry["id"],
            is_default=number == default,
            workspace=_workspace(root, tree, entry, number == default),
            sessions=_sessions(root, entry["id"]),
            place=number if is_listed else None,
            entry=entry,
        )
        for number, entry in enumerate(entries)
    )


def _workspace(root: Path, tree: Mapping[str, Any], entry: Mapping[str, Any], is_default: bool) -> Path | None:
    """The first existing folder among those where versions of the program keep an agent's notes."""
    own, shared = entry.get("workspace"), section(tree, "agents", "defaults").get("workspace")
    if isinstance(own, str) and own.strip():
        candidates = [_located(root, own)]
    else:
        base = _located(root, shared) if isinstance(shared, str) and shared.strip() else None
        if is_default:
            candidates = [base or root / "workspace"]
        else:
            candidates = [*([base / entry["id"]] if base else []), root / f"workspace-{entry['id']}"]
    return next((folder for folder in candidates if folder.is_dir()), None)


def _located(root: Path, written: str) -> Path:
    """Resolve a folder in their config; in a copy of a home, paths inside the home lead into the copy."""
    folder = expand_home(written.strip())
    folder = folder if folder.is_absolute() else root / folder
    usual = expand_home("~/.openclaw")
    if usual != root and folder.is_relative_to(usual):
        copied = root / folder.relative_to(usual)
        return copied if copied.is_dir() else folder
    return folder


def _sessions(root: Path, agent_id: str) -> Path | None:
    # They write ids in lower case on disk.
    folders = [root / "agents" / name / "sessions" for name in (agent_id, agent_id.lower()) if _is_plain(name)]
    return next((folder for folder in folders if folder.is_dir()), None)


def _is_plain(name: str) -> bool:
    return name not in ("", ".", "..") and "/" not in name and os.sep not in name and "\0" not in name


def _unlisted(root: Path, agents: tuple[OpenClawAgent, ...]) -> tuple[str, ...]:
    known = {agent.id.lower() for agent in agents}
    try:
        folders = sorted(folder for folder in (root / "agents").iterdir() if (folder / "sessions").is_dir())
    except OSError:
        return ()
    return tuple(folder.name for folder in folders if folder.name.lower() not in known)
