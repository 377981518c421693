"""Hosts for tests, with just the plugins a test names, loaded as they would be in real life."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from memslot.config.merge import merged
from memslot.errors import PluginError
from memslot.host import Host
from memslot.plugins.discovery import discover
from memslot.plugins.info import PluginInfo
from memslot.plugins.manifest import MANIFEST_NAME

_numbers = itertools.count(1)
_inline: dict[str, object] = {}


@dataclass(frozen=True)
class InlinePlugin:
    """A plugin that a test makes on the spot: an object (or module) with hooks.

    `manifest` holds further keys of the manifest it would have, such as `provides` or `configSchema`.
    """

    hooks: object
    id: str = "inline"
    kind: str = "tool"
    manifest: Mapping[str, Any] = field(default_factory=dict)


class HostOpener:
    """Opens hosts over one home folder, and closes them all in the end."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._hosts: list[Host] = []
        self._packages: list[str] = []

    def __call__(
        self,
        *plugins: str | Path | InlinePlugin,
        config: Mapping[str, Any] | None = None,
        agent: str | None = None,
        env: Mapping[str, str] | None = None,
        strict: bool = True,
    ) -> Host:
        """A host that runs these plugins and no others; all that are installed if none is named.

        Memory plugins among them get the memory slot, in the order of their names here, unless `config` says
        otherwise. With `strict` a plugin that does not run, or whose hook fails, raises a PluginError instead of
        becoming a diagnostic.
        """
        places = [plugin if isinstance(plugin, str) else self._folder_of(plugin) for plugin in plugins]
        wanted = _wanted(places)
        folders = [str(place) for place in places if isinstance(place, Path)]
        settings: dict[str, Any] = {"plugins": {"load": {"paths": folders}}}
        memories = [plugin.id for plugin in wanted if plugin.kind == "memory"]
        if memories:
            settings["plugins"]["slots"] = {"memory": memories[0] if len(memories) == 1 else memories}
        variables = {name: value for name, value in os.environ.items() if not name.startswith("MEMSLOT_")}
        if strict:
            variables["MEMSLOT_STRICT_PLUGINS"] = "1"
        if plugins:
            variables["MEMSLOT_LOAD_PLUGINS"] = ",".join(plugin.id for plugin in wanted)
        host = Host.load(merged(settings, config or {}), home=self.home, agent=agent, env={**variables, **(env or {})})
        self._hosts.append(host)
        if strict:
            _refuse_idle(host, wanted)
        return host

    def _folder_of(self, plugin: Path | InlinePlugin) -> Path:
        return self._write(plugin) if isinstance(plugin, InlinePlugin) else Path(plugin).absolute()

    def _write(self, plugin: InlinePlugin) -> Path:
        """Put a package on disk whose only line hands out the object: from there on it is a plugin like any other."""
        package = f"memslot_inline_{next(_numbers)}"
        folder = self.home / "inline" / package
        folder.mkdir(parents=True, mode=0o700)
        _inline[package] = plugin.hooks
        self._packages.append(package)
        manifest = {"id": plugin.id, "kind": plugin.kind, "name": plugin.id, "entry": f"{package}:plugin"}
        code = f"from memslot.testing.hosts import _inline\n\nplugin = _inline[{package!r}]\n"
        (folder / "__init__.py").write_text(code, encoding="utf-8")
        (folder / MANIFEST_NAME).write_text(json.dumps({**manifest, **plugin.manifest}), encoding="utf-8")
        return folder

    def close(self) -> None:
        """Close every host that was opened."""
        while self._hosts:
            self._hosts.pop().close()
        while self._packages:
            package = self._packages.pop()
            _inline.pop(package, None)
            sys.modules.pop(package, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _wanted(places: list[str | Path]) -> list[PluginInfo]:
    """The records of the plugins a test named, in its order; raises a PluginError for one that is not there."""
    folders = [place for place in places if isinstance(place, Path)]
    found = [plugin for plugin in discover(folders).plugins if plugin.overridden_by is None]
    installed = {plugin.id: plugin for plugin in found if plugin.origin == "installed"}
    missing = [place for place in places if isinstance(place, str) and place not in installed]
    if missing:
        raise PluginError(
            f'no plugin "{missing[0]}" is installed here; the installed ones are: '
            f"{', '.join(sorted(installed)) or 'none'}; install yours with: pip install -e ."
        )
    wanted: list[PluginInfo] = []
    for place in places:
        if isinstance(place, str):
            wanted.append(installed[place])
        else:  # the folder of a package, or one that holds packages
            inside = [
                plugin for plugin in found if plugin.origin == "folder" and Path(plugin.root).is_relative_to(place)
            ]
            wanted += [plugin for plugin in inside if plugin not in wanted]
    return wanted


def _refuse_idle(host: Host, wanted: list[PluginInfo]) -> None:
    """Raise a PluginError for a plugin that was asked for and does not run."""
    reasons = {decision.plugin.id: decision.reason for decision in host.activation.decisions}
    for plugin in wanted:
        if plugin.id not in host.plugins:
            why = host.failure(plugin.id) or reasons.get(plugin.id, "it was not found")
            raise PluginError(f"{plugin.id} does not run: {why}")
