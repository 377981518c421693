"""Where memslot keeps its files, and how it writes them.

This module is imported by every command, so it may import nothing slower than `os` and `pathlib`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memslot.errors import ConfigError

CONFIG_NAMES = ("memslot.json5", "memslot.toml", "memslot.json")
AGENT_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
# Dots are allowed inside a plugin id, but none at either end, so that `..` can never be one.
PLUGIN_ID_PATTERN = r"^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$"


@dataclass(frozen=True)
class Places:
    """Every file and folder that memslot uses, worked out from two settings."""

    home: Path
    config_file: Path

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Places:
        """Read MEMSLOT_HOME and MEMSLOT_CONFIG; without them everything is in `~/.memslot`."""
        env = os.environ if env is None else env
        home = _absolute(env.get("MEMSLOT_HOME") or "~/.memslot")
        if chosen := env.get("MEMSLOT_CONFIG"):
            return cls(home=home, config_file=_absolute(chosen))
        candidates = [home / name for name in CONFIG_NAMES]
        found = next((path for path in candidates if os.path.lexists(path)), candidates[0])
        return cls(home=home, config_file=found)

    @staticmethod
    def shared_cache_dir(env: Mapping[str, str] | None = None) -> Path:
        """What all homes of a user share and can be deleted at any time: MEMSLOT_SHARED_CACHE, else `~/.cache/memslot`.

        XDG_CACHE_HOME counts, and LOCALAPPDATA on Windows.
        """
        env = os.environ if env is None else env
        if chosen := env.get("MEMSLOT_SHARED_CACHE"):
            return _absolute(chosen)
        local = env.get("LOCALAPPDATA") if os.name == "nt" else None
        return _absolute(env.get("XDG_CACHE_HOME") or local or "~/.cache") / "memslot"

    @property
    def memory_dir(self) -> Path:
        """The indexes of all agents."""
        return self.home / "memory"

    @property
    def cache_dir(self) -> Path:
        """What can be deleted at any time and is made again."""
        return self.home / "cache"

    @property
    def trust_file(self) -> Path:
        """Which project config files the person has trusted."""
        return self.home / "trusted.json"

    @property
    def default_workspace(self) -> Path:
        """The workspace of an agent that names no other."""
        return self.home / "workspace"

    def unmarked_workspace(self, agent_id: str) -> Path:
        """The workspace of an agent's conversations that recorded none: its own one in the home, else the home's."""
        own = self.home / f"workspace-{checked_agent_id(agent_id)}"
        return own if own.is_dir() else self.default_workspace

    def is_own_workspace(self, workspace: Path) -> bool:
        """Whether it is the home's own workspace, by whatever path it is named."""
        return real_path(workspace) == real_path(self.default_workspace)

    def index_file(self, agent_id: str, workspace: Path, template: str | None = None) -> Path:
        """The index of an agent for a workspace; `template` is `store.path` with `{agentId}` and `{workspace}`."""
        safe = checked_agent_id(agent_id)
        if template:
            named = template.replace("{agentId}", safe)
            if "{workspace}" in named:
                named = named.replace("{workspace}", workspace_key(workspace))
            return self.home / expand_home(named)
        return self.memory_dir / f"{self.name_for(safe, workspace)}.sqlite"

    def name_for(self, name: str, workspace: Path) -> str:
        """The name itself for the home's own workspace; for any other one with the workspace's key behind it."""
        return name if self.is_own_workspace(workspace) else f"{name}-{workspace_key(workspace)}"

    def agent_dir(self, agent_id: str) -> Path:
        """What belongs to one agent and is not its index."""
        return self.home / "agents" / checked_agent_id(agent_id)

    def sessions_dir(self, agent_id: str) -> Path:
        """One agent's session registry and transcripts."""
        return self.agent_dir(agent_id) / "sessions"

    def plugin_state_dir(self, plugin_id: str) -> Path:
        """Where a plugin may keep files of its own."""
        if not re.fullmatch(PLUGIN_ID_PATTERN, plugin_id):
            raise ConfigError(
                f"Plugin id {plugin_id!r} cannot be used in a path: use letters, digits, '.', '_' and '-', "
                "at most 128, beginning with a letter or digit."
            )
        return self.home / "plugins" / plugin_id


def checked_agent_id(agent_id: str) -> str:
    """The id itself, when it is safe to use in a path."""
    if not re.fullmatch(AGENT_ID_PATTERN, agent_id):
        raise ConfigError(
            f"Agent id {agent_id!r} cannot be used in a path: use letters, digits, '_' and '-', at most 64, "
            "beginning with a letter or digit."
        )
    return agent_id


def real_path(path: Path) -> str:
    """The one spelling of a folder's path: absolute, without links and, where case is ignored, as it is on disk."""
    real = os.path.realpath(path)
    try:
        import fcntl

        # macOS: realpath keeps the case that was typed.
        ask = fcntl.F_GETPATH  # type: ignore[attr-defined,unused-ignore]
        descriptor = os.open(real, os.O_RDONLY)
    except (ImportError, AttributeError, OSError):
        return real
    try:
        return os.fsdecode(fcntl.fcntl(descriptor, ask, bytes(1024)).rstrip(b"\0"))
    except OSError:
        return real
    finally:
        os.close(descriptor)


def workspace_key(workspace: Path) -> str:
    """A short name for a workspace in file names: the folder's name for people, a hash of its real path to tell it.

    The dot keeps it apart from agent ids, which have none.
    """
    import hashlib

    real = real_path(workspace)
    digest = hashlib.sha256(real.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    slug = re.sub(r"[^a-z0-9]+", "-", Path(real).name.lower())[:24].strip("-")
    return f"{slug or 'workspace'}.{digest}"


def expand_home(text: str) -> Path:
    """`~` and `~name` replaced; a name nobody has is left as it was written."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def _absolute(text: str) -> Path:
    return expand_home(text).absolute()
