"""Many small installed plugins, whose code raises if anybody imports it."""

from __future__ import annotations

import json
from pathlib import Path


def write_plugins(site: Path, count: int) -> None:
    """Fill a folder of packages as pip would: a package with a manifest and a dist-info for each plugin."""
    for number in range(count):
        plugin_id, package = f"crowd-{number:02}", f"crowd_{number:02}"
        code = site / package
        code.mkdir(parents=True)
        (code / "__init__.py").write_text("raise RuntimeError('this plugin must not be imported')\n", encoding="utf-8")
        (code / "memslot.plugin.json").write_text(json.dumps(_manifest(plugin_id)), encoding="utf-8")
        info = site / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {plugin_id}\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[memslot.plugins]\n{plugin_id} = {package}\n", encoding="utf-8")


def _manifest(plugin_id: str) -> dict[str, object]:
    setting = {"type": "integer", "minimum": 1, "default": 10, "description": "How many."}
    return {
        "id": plugin_id,
        "kind": "tool",
        "name": plugin_id.title(),
        "description": "One of a crowd.",
        "configSchema": {"type": "object", "additionalProperties": False, "properties": {"limit": setting}},
        "provides": {"tools": [plugin_id.replace("-", "_")], "commands": [{"name": plugin_id, "help": "Do a thing."}]},
    }
