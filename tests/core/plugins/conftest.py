"""Plugins as folders on disk, brought in by the same door as anybody's: `plugins.load.paths`."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from memslot import Host

WritePlugin = Callable[..., Path]
LoadHost = Callable[..., Host]


@pytest.fixture
def write_plugin(tmp_path: Path) -> Iterator[WritePlugin]:
    """Write a development plugin and give its folder; `code` is its `__init__.py`."""
    written: list[str] = []

    def write(plugin_id: str, code: str = "", *, manifest: Any = None, **fields: Any) -> Path:
        package = f"dev_{plugin_id.replace('-', '_')}_{len(written)}"
        folder = tmp_path / "plugins" / package
        folder.mkdir(parents=True)
        header = "from memslot import *\nfrom memslot import hookimpl\nimport memslot\n"
        (folder / "__init__.py").write_text(header + textwrap.dedent(code))
        content = {"id": plugin_id, "kind": "tool", "name": plugin_id, **fields} if manifest is None else manifest
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / "memslot.plugin.json").write_text(text)
        written.append(package)
        return folder

    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] in written]:
        del sys.modules[name]


@pytest.fixture
def load_host(tmp_path: Path) -> Iterator[LoadHost]:
    """Load a host on plugin folders; only those run unless `allow` says otherwise."""
    hosts: list[Host] = []

    def load(*folders: Path, env: dict[str, str] | None = None, **plugins: Any) -> Host:
        config = {"plugins": {"load": {"paths": [str(folder) for folder in folders]}, **plugins}}
        if "allow" not in plugins:
            ids = [json.loads((folder / "memslot.plugin.json").read_text())["id"] for folder in folders]
            config["plugins"]["allow"] = ids
        host = Host.load(config, home=tmp_path / "home", env=env or {})
        hosts.append(host)
        return host

    yield load
    for host in hosts:
        host.close()
