"""Plugins on disk that come in through the true door, and hosts that are closed after the test."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from memslot import Host

HEADER = """\
import asyncio, json, os, sys, threading, time
from memslot import AgentStart, PromptSection, Tool, ToolCallVerdict, ToolResult, hookimpl

HEARD = []
"""


class Bench:
    """Writes plugins into development folders and loads hosts that run just those."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self._plugins = folder / "plugins"
        self._plugins.mkdir()
        self.entries: dict[str, Any] = {}
        self._hosts: list[Host] = []
        self._packages: list[str] = []

    def write(self, plugin_id: str, code: str, *, timeout_ms: int | None = None, **manifest: Any) -> None:
        package = plugin_id.replace("-", "_")
        folder = self._plugins / package
        folder.mkdir()
        (folder / "__init__.py").write_text(HEADER + textwrap.dedent(code), encoding="utf-8")
        tree = {"id": plugin_id, "kind": "tool", "name": plugin_id, **manifest}
        (folder / "memslot.plugin.json").write_text(json.dumps(tree), encoding="utf-8")
        self._packages.append(package)
        if timeout_ms is not None:
            self.entries[plugin_id] = {"hooks": {"timeoutMs": timeout_ms}}

    @property
    def config(self) -> dict[str, Any]:
        load = {"paths": [str(self._plugins)]} if self._packages else {}
        return {"plugins": {"load": load, "slots": {"memory": "none"}, "entries": self.entries}}

    def load(self, **env: str) -> Host:
        ids = ",".join(package.replace("_", "-") for package in self._packages)
        host = Host.load(self.config, home=self.home, env={"MEMSLOT_LOAD_PLUGINS": ids, **env})
        self._hosts.append(host)
        assert not list(host.diagnostics) or env, list(host.diagnostics)
        return host

    def heard(self, plugin_id: str) -> list[Any]:
        """What a plugin put into its list HEARD."""
        return list(sys.modules[plugin_id.replace("-", "_")].HEARD)

    def clear(self) -> None:
        for host in self._hosts:
            host.close()
        for name in [name for name in sys.modules if name.split(".")[0] in self._packages]:
            del sys.modules[name]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.clear()
