"""The programs that memslot connects to: where each configures servers and hooks, and in which format."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Env = Mapping[str, str]
Finder = Callable[[Env], Path]
Syntax = Literal["json", "toml", "text"]


@dataclass(frozen=True)
class ServerPlace:
    """The config file that names MCP servers."""

    key: str
    """Key of the object with the servers."""
    find_file: Finder
    project_file: str | None = None
    """Path of the config in a project, if the client has one."""
    syntax: Syntax = "json"
    shape: Literal["plain", "typed", "opencode"] = "plain"
    """`typed` entries name their transport; opencode has one list for the command and its arguments."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Other keys of a new entry; a value set by the user stays."""
    own_options: Mapping[str, Any] = field(default_factory=dict)
    """Such keys for the user's own config only, not for shared files."""


@dataclass(frozen=True)
class HookPlace:
    """The settings file that names hooks: lists of groups of commands, by event."""

    find_file: Finder
    project_file: str
    events: Mapping[str, tuple[str, int]]
    """The client's event, the name that `memslot-hook` has for it, and its timeout in seconds."""
    milliseconds: bool = False
    """Whether the client counts timeouts in milliseconds."""
    project_is_shared: bool = True
    """Whether the project's file is shared."""
    off_switch: tuple[tuple[str, ...], bool] | None = None
    """The setting in that file that turns all hooks off, and its value then."""

    def group(self, command: str, seconds: int) -> dict[str, Any]:
        """What the client keeps for one event: a group with one command."""
        timeout = seconds * 1000 if self.milliseconds else seconds
        return {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}


@dataclass(frozen=True)
class PluginPlace:
    """Where a client without hooks loads a plugin that calls them."""

    find_file: Finder
    project_file: str


@dataclass(frozen=True)
class PackagePlace:
    """Where it stands that a client has memslot as a package in its own format, with a server and hooks in it."""

    find_file: Finder
    path: tuple[str, ...]
    value: Any = True
    syntax: Syntax = "json"


@dataclass(frozen=True)
class Client:
    """A program that starts MCP servers and may call hooks."""

    id: str
    name: str
    find_folder: Finder
    """A folder that exists once the program has run."""
    server: ServerPlace
    hooks: HookPlace | None = None
    plugin: PluginPlace | None = None
    package: PackagePlace | None = None
    program: str | None = None
    """Its command, if it has one."""
    can_list: bool = False
    """Whether `PROGRAM mcp list` shows its servers."""
    then: str = "Restart {name} to use it."
    """What the user has to do after the files are written."""

    def is_found(self, env: Env) -> bool:
        """Whether the program appears to be installed on this machine."""
        on_path = self.program is not None and shutil.which(self.program, path=env.get("PATH")) is not None
        return on_path or self.find_folder(env).is_dir() or self.server.find_file(env).is_file()


def _home(env: Env) -> Path:
    return Path(env.get("USERPROFILE" if sys.platform == "win32" else "HOME") or "~").expanduser()


def _app_folder(env: Env, name: str) -> Path:
    """A desktop program's settings folder."""
    if sys.platform == "darwin":
        return _home(env) / "Library" / "Application Support" / name
    if sys.platform == "win32":
        return Path(env.get("APPDATA") or _home(env) / "AppData" / "Roaming") / name
    return Path(env.get("XDG_CONFIG_HOME") or _home(env) / ".config") / name


def _claude(env: Env) -> Path:
    return Path(env["CLAUDE_CONFIG_DIR"]) if env.get("CLAUDE_CONFIG_DIR") else _home(env) / ".claude"


def _claude_servers(env: Env) -> Path:
    return (Path(env["CLAUDE_CONFIG_DIR"]) if env.get("CLAUDE_CONFIG_DIR") else _home(env)) / ".claude.json"


def _codex(env: Env) -> Path:
    return Path(env.get("CODEX_HOME") or _home(env) / ".codex")


def _gemini(env: Env) -> Path:
    return Path(env.get("GEMINI_CLI_HOME") or _home(env)) / ".gemini"


def _qwen(env: Env) -> Path:
    return Path(env["QWEN_HOME"]).expanduser() if env.get("QWEN_HOME") else _home(env) / ".qwen"


def _opencode(env: Env) -> Path:
    # On every system: opencode does not use the folders of macOS and Windows.
    return Path(env.get("XDG_CONFIG_HOME") or _home(env) / ".config") / "opencode"


def _opencode_config(env: Env) -> Path:
    folder = _opencode(env)
    names = ("opencode.json", "opencode.jsonc", "config.json")
    return next((folder / name for name in names if (folder / name).is_file()), folder / names[0])


_EVENTS = {
    "SessionStart": ("session-start", 15),
    "UserPromptSubmit": ("prompt", 15),
    "Stop": ("stop", 60),
    "PreCompact": ("pre-compact", 60),
    "SessionEnd": ("session-end", 30),
}
_GEMINI_EVENTS = {
    "SessionStart": ("session-start", 15),
    "BeforeAgent": ("prompt", 15),
    "AfterAgent": ("stop", 60),
    "PreCompress": ("pre-compact", 60),
    "SessionEnd": ("session-end", 30),
}

CLIENTS = {
    client.id: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            _claude,
            ServerPlace(
                "mcpServers",
                _claude_servers,
                ".mcp.json",
                shape="typed",
                # Otherwise its tools are deferred behind tool search, and absent from the first turn.
                options={"alwaysLoad": True},
            ),
            HookPlace(
                lambda env: _claude(env) / "settings.json",
                ".claude/settings.local.json",
                _EVENTS,
                project_is_shared=False,
                off_switch=(("disableAllHooks",), True),
            ),
            package=PackagePlace(lambda env: _claude(env) / "settings.json", ("enabledPlugins", "memslot@memslot")),
            program="claude",
            can_list=True,
        ),
        Client(
            "codex",
            "Codex",
            _codex,
            ServerPlace(
                "mcp_servers",
                lambda env: _codex(env) / "config.toml",
                ".codex/config.toml",
                syntax="toml",
                options={"startup_timeout_sec": 30},
                # Nothing else makes its first turn wait for the tools. It does not start without memslot then, which
                # must not be decided for other people.
                own_options={"required": True},
            ),
            HookPlace(
                lambda env: _codex(env) / "hooks.json",
                ".codex/hooks.json",
                # It clamps the last one to three seconds, and warns of more.
                {**_EVENTS, "SessionEnd": ("session-end", 3)},
            ),
            package=PackagePlace(
                lambda env: _codex(env) / "config.toml", ("plugins", "memslot@memslot", "enabled"), syntax="toml"
            ),
            program="codex",
            can_list=True,
            then="Start {name} and trust the hooks when it asks for a review; until then they do not run.",
        ),
        Client(
            "gemini",
            "Gemini CLI",
            _gemini,
            ServerPlace("mcpServers", lambda env: _gemini(env) / "settings.json", ".gemini/settings.json"),
            HookPlace(
                lambda env: _gemini(env) / "settings.json",
                ".gemini/settings.json",
                _GEMINI_EVENTS,
                milliseconds=True,
                off_switch=(("hooksConfig", "enabled"), False),
            ),
            package=PackagePlace(
                lambda env: _gemini(env) / "extensions" / "memslot" / "gemini-extension.json", ("name",), "memslot"
            ),
            program="gemini",
            can_list=True,
        ),
        Client(
            "opencode",
            "opencode",
            _opencode,
            # Its own limit is five seconds, which a busy machine exceeds.
            ServerPlace("mcp", _opencode_config, "opencode.json", shape="opencode", options={"timeout": 30_000}),
            plugin=PluginPlace(lambda env: _opencode(env) / "plugin" / "memslot.js", ".opencode/plugin/memslot.js"),
            program="opencode",
            can_list=True,
        ),
        Client(
            "qwen",
            "Qwen Code",
            _qwen,
            ServerPlace(
                "mcpServers",
                lambda env: _qwen(env) / "settings.json",
                ".qwen/settings.json",
                # Otherwise its tools are deferred behind tool search, as in Claude Code.
                options={"alwaysLoadTools": True},
            ),
            HookPlace(
                lambda env: _qwen(env) / "settings.json",
                ".qwen/settings.json",
                _EVENTS,
                off_switch=(("disableAllHooks",), True),
            ),
            program="qwen",
            can_list=True,
        ),
        Client(
            "cursor",
            "Cursor",
            lambda env: _home(env) / ".cursor",
            ServerPlace("mcpServers", lambda env: _home(env) / ".cursor" / "mcp.json", ".cursor/mcp.json"),
            program="cursor",
        ),
        Client(
            "vscode",
            "VS Code",
            lambda env: _app_folder(env, "Code"),
            ServerPlace(
                "servers",
                lambda env: _app_folder(env, "Code") / "User" / "mcp.json",
                ".vscode/mcp.json",
                shape="typed",
            ),
            program="code",
        ),
        Client(
            "claude-desktop",
            "Claude Desktop",
            lambda env: _app_folder(env, "Claude"),
            ServerPlace("mcpServers", lambda env: _app_folder(env, "Claude") / "claude_desktop_config.json"),
        ),
    )
}
