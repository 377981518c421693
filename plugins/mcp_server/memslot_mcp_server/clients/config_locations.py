"""Where each MCP client keeps its servers, and in which format."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Env = Mapping[str, str]


@dataclass(frozen=True)
class Client:
    """A program that starts MCP servers named in a config file."""

    id: str
    name: str
    key: str
    """Key of the object with the servers."""
    find_file: Callable[[Env], Path]
    project_file: str | None = None
    """Path of the config in a project, if the client has one."""
    syntax: Literal["json", "toml"] = "json"
    says_type: bool = False
    """Whether an entry names its transport."""


def _home(env: Env) -> Path:
    return Path(env.get("USERPROFILE" if sys.platform == "win32" else "HOME") or "~").expanduser()


def _app_folder(env: Env, name: str) -> Path:
    """A desktop program's settings folder."""
    if sys.platform == "darwin":
        return _home(env) / "Library" / "Application Support" / name
    if sys.platform == "win32":
        return Path(env.get("APPDATA") or _home(env) / "AppData" / "Roaming") / name
    return Path(env.get("XDG_CONFIG_HOME") or _home(env) / ".config") / name


def claude_folder(env: Env) -> Path:
    """Where Claude Code keeps its settings."""
    return Path(env["CLAUDE_CONFIG_DIR"]) if env.get("CLAUDE_CONFIG_DIR") else _home(env) / ".claude"


def _claude_code(env: Env) -> Path:
    return (Path(env["CLAUDE_CONFIG_DIR"]) if env.get("CLAUDE_CONFIG_DIR") else _home(env)) / ".claude.json"


def _codex(env: Env) -> Path:
    return Path(env.get("CODEX_HOME") or _home(env) / ".codex") / "config.toml"


CLIENTS = {
    client.id: client
    for client in (
        Client("claude-code", "Claude Code", "mcpServers", _claude_code, ".mcp.json", says_type=True),
        Client(
            "claude-desktop",
            "Claude Desktop",
            "mcpServers",
            lambda env: _app_folder(env, "Claude") / "claude_desktop_config.json",
        ),
        Client("codex", "Codex", "mcp_servers", _codex, ".codex/config.toml", syntax="toml"),
        Client("cursor", "Cursor", "mcpServers", lambda env: _home(env) / ".cursor" / "mcp.json", ".cursor/mcp.json"),
        Client(
            "vscode",
            "VS Code",
            "servers",
            lambda env: _app_folder(env, "Code") / "User" / "mcp.json",
            ".vscode/mcp.json",
            says_type=True,
        ),
    )
}
