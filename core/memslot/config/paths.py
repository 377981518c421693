"""Where memslot keeps its files.

Imported by every command: import nothing slower than `os` and `pathlib` here.
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
# No dot at either end, so `..` is never an id.
PLUGIN_ID_PATTERN = r"^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$"


@dataclass(frozen=True)
class Places:
    """Every file and folder memslot uses, derived from two settings."""

    home: Path
    config_file: Path

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Places:
        """Build from MEMSLOT_HOME and MEMSLOT_CONFIG; the default home is `~/.memslot`."""
        env = os.environ if env is None else env
        home = _absolute(env.get("MEMSLOT_HOME") or "~/.memslot")
        if chosen := env.get("MEMSLOT_CONFIG"):
            return cls(home=home, config_file=_absolute(chosen))
        candidates = [home / name for name in CONFIG_NAMES]
        found = next((path for path in candidates if os.path.lexists(path)), candidates[0])
        return cls(home=home, config_file=found)

    @staticmethod
    def shared_cache_dir() -> Path:
        """Return the cache shared by all of a user's homes: MEMSLOT_SHARED_CACHE, else `~/.cache/memslot`.

        Respects XDG_CACHE_HOME, and LOCALAPPDATA on Windows. Safe to delete at any time.
        """
        if chosen := os.environ.get("MEMSLOT_SHARED_CACHE"):
            return _absolute(chosen)
        local = os.environ.get("LOCALAPPDATA") if os.name == "nt" else None
        return _absolute(os.environ.get("XDG_CACHE_HOME") or local or "~/.cache") / "memslot"

    @property
    def memory_dir(self) -> Path:
        """The indexes of all agents."""
        return self.home / "memory"

    @property
    def cache_dir(self) -> Path:
        """Safe to delete at any time; rebuilt on demand."""
        return self.home / "cache"

    @property
    def trust_file(self) -> Path:
        """The list of trusted project config files."""
        return self.home / "trusted.json"

    @property
    def default_workspace(self) -> Path:
        """The workspace of agents that don't configure one."""
        return self.home / "workspace"

    def unmarked_workspace(self, agent_id: str) -> Path:
        """Return the workspace of conversations that recorded none: the agent's own in the home, else the default."""
        own = self.home / f"workspace-{checked_agent_id(agent_id)}"
        return own if own.is_dir() else self.default_workspace

    def is_own_workspace(self, workspace: Path) -> bool:
        """Whether this is the home's default workspace, by real path."""
        return real_path(workspace) == real_path(self.default_workspace)

    def index_file(self, agent_id: str, workspace: Path, template: str | None = None) -> Path:
        """Return an agent's index for a workspace; `template` is `store.path` with `{agentId}` and `{workspace}`."""
        safe = checked_agent_id(agent_id)
        if template:
            named = template.replace("{agentId}", safe)
            if "{workspace}" in named:
                named = named.replace("{workspace}", workspace_key(workspace))
            return self.home / expand_home(named)
        return self.memory_dir / f"{self.name_for(safe, workspace)}.sqlite"

    def name_for(self, name: str, workspace: Path) -> str:
        """Return the name, suffixed with the workspace's key unless it is the default workspace."""
        return name if self.is_own_workspace(workspace) else f"{name}-{workspace_key(workspace)}"

    def agent_dir(self, agent_id: str) -> Path:
        """Return the folder of an agent's files other than its index."""
        return self.home / "agents" / checked_agent_id(agent_id)

    def sessions_dir(self, agent_id: str) -> Path:
        """Return the folder of an agent's session registry and transcripts."""
        return self.agent_dir(agent_id) / "sessions"

    def plugin_state_dir(self, plugin_id: str) -> Path:
        """Return the folder for a plugin's own files."""
        if not re.fullmatch(PLUGIN_ID_PATTERN, plugin_id):
            raise ConfigError(
                f"Plugin id {plugin_id!r} cannot be used in a path: use letters, digits, '.', '_' and '-', "
                "at most 128, starting with a letter or digit."
            )
        return self.home / "plugins" / plugin_id


def checked_agent_id(agent_id: str) -> str:
    """Return the id if it is safe to use in a path, else raise ConfigError."""
    if not re.fullmatch(AGENT_ID_PATTERN, agent_id):
        raise ConfigError(
            f"Agent id {agent_id!r} cannot be used in a path: use letters, digits, '_' and '-', at most 64, "
            "starting with a letter or digit."
        )
    return agent_id


def real_path(path: Path) -> str:
    """Return a folder's canonical path: absolute, symlinks resolved, with the case it has on disk."""
    real = os.path.realpath(path)
    try:
        import fcntl

        # macOS: realpath keeps the case as typed.
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
    """Return a short file-name-safe key for a workspace: a slug of its name plus a hash of its real path.

    The dot rules out clashes with agent ids, which have none.
    """
    import hashlib

    real = real_path(workspace)
    digest = hashlib.sha256(real.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    slug = re.sub(r"[^a-z0-9]+", "-", Path(real).name.lower())[:24].strip("-")
    return f"{slug or 'workspace'}.{digest}"


def expand_home(text: str) -> Path:
    """Expand `~` and `~user`; an unknown user is left as written."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def _absolute(text: str) -> Path:
    return expand_home(text).absolute()
