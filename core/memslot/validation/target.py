"""Resolves the plugin to validate: a source folder, or an installed plugin's id."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memslot.errors import PluginError
from memslot.plugins.discovery import GROUP, discover
from memslot.plugins.manifest import MANIFEST_NAME

_SKIPPED_FOLDERS = frozenset(
    {"tests", "test", "docs", "examples", "build", "dist", "node_modules", "venv", "__pycache__"}
)
_DEPTH = 4
"""Deep enough for `src/package/part/memslot.plugin.json`."""


@dataclass(frozen=True)
class Project:
    """The plugin-related parts of a `pyproject.toml`. `fault` says why it could not be read."""

    name: str = ""
    entry_points: dict[str, str] = field(default_factory=dict)
    fault: str | None = None


@dataclass(frozen=True)
class Target:
    """One plugin to check: its manifest, and its project or its id if it is installed."""

    manifest: Path
    project: Project | None
    installed_id: str | None = None

    @property
    def folder(self) -> Path:
        return self.manifest.parent


def find_targets(named: str) -> list[Target]:
    """Return all plugins in a folder, or the installed one with that id. Raises PluginError if there is none."""
    path = Path(named).expanduser()
    if path.is_dir():
        found = [Target(manifest, _project_around(manifest)) for manifest in sorted(_manifests(path.resolve()))]
        if not found:
            raise PluginError(f"there is no {MANIFEST_NAME} in {path}; pass a plugin's project or package folder")
        return found
    if path.name == MANIFEST_NAME and path.is_file():
        return [Target(path.resolve(), _project_around(path.resolve()))]
    return [_installed(named)]


def _installed(plugin_id: str) -> Target:
    plugins = [plugin for plugin in discover().plugins if plugin.overridden_by is None]
    for plugin in plugins:
        if plugin.id == plugin_id:
            if not plugin.root:
                raise PluginError(f"{plugin_id} is installed, but {plugin.problem}")
            return Target(Path(plugin.root) / MANIFEST_NAME, None, plugin_id)
    ids = ", ".join(sorted({plugin.id for plugin in plugins})) or "none"
    raise PluginError(f'"{plugin_id}" is neither a folder nor an installed plugin; installed plugins: {ids}')


def _manifests(folder: Path, depth: int = _DEPTH) -> Iterator[Path]:
    if (folder / MANIFEST_NAME).is_file():
        yield folder / MANIFEST_NAME
        return
    if depth > 1:
        for sub in folder.iterdir():
            if (
                sub.is_dir()
                and not sub.is_symlink()
                and not sub.name.startswith(".")
                and sub.name not in _SKIPPED_FOLDERS
            ):
                yield from _manifests(sub, depth - 1)


def _project_around(manifest: Path) -> Project | None:
    for folder in manifest.parents[1 : _DEPTH + 1]:
        file = folder / "pyproject.toml"
        if file.is_file():
            return _read_project(file)
    return None


def _read_project(file: Path) -> Project:
    try:
        tree = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return Project(fault=f"{file} cannot be read: {error}")
    project: Any = tree.get("project")
    if not isinstance(project, dict) or not isinstance(project.get("name"), str):
        return Project(fault=f"{file} has no [project] with a name")
    groups = project.get("entry-points", {})
    points = groups.get(GROUP, {}) if isinstance(groups, dict) else {}
    if not isinstance(points, dict) or not all(isinstance(value, str) for value in points.values()):
        return Project(fault=f'{file}: [project.entry-points."{GROUP}"] must map ids to modules')
    return Project(re.sub(r"[^A-Za-z0-9._-]", "-", project["name"]), points)
