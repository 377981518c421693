"""Messages name a command that works: from the index, or from the clone that memslot was installed from."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from click import ClickException
from memslot import extra_install_command, install_command
from memslot.cli.plugins import find_decision
from memslot.plugins.hints import install_command_for

METADATA = """Metadata-Version: 2.4
Name: memslot
Version: 0.1.0
Requires-Dist: memslot-memory-core==0.1.0
Requires-Dist: memslot-embed-providers[openai]==0.1.0; extra == "openai"
Requires-Dist: memslot-adapters[claude-agent]==0.1.0; extra == "claude-agent"
Requires-Dist: memslot-mcp-server==0.1.0; extra == "claude-agent"
Requires-Dist: memslot-mcp-server==0.1.0; extra == "mcp"
Requires-Dist: memslot-far-memory==0.1.0; extra == "far"
Requires-Dist: memslot[mcp,openai]; extra == "all"
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, origin: dict[str, object] | None) -> None:
    """Put a distribution `memslot` before the one of the environment."""
    info = folder / "site" / "memslot-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text("[memslot.commands]\nconnect = mcp\n")
    if origin is not None:
        (info / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(str(info.parent))


def clone(folder: Path, *plugins: str) -> Path:
    for plugin in plugins:
        (folder / "a clone" / "plugins" / plugin).mkdir(parents=True)
    return folder / "a clone"


def test_what_came_from_an_index_is_added_to_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, None)

    assert install_command("memory-core") == "pip install memslot"
    assert install_command("mcp-server") == 'pip install "memslot[mcp]"'
    assert install_command_for("connect") == extra_install_command("mcp") == 'pip install "memslot[mcp]"'
    assert (install_command("unheard-of"), install_command_for("unheard-of")) == (None, None)


def test_a_misspelt_plugin_of_an_extra_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, None)
    monkeypatch.setenv("MEMSLOT_HOME", str(tmp_path / "home"))

    with pytest.raises(ClickException, match='did you mean "far-memory"'):
        find_decision("far-memry")
    with pytest.raises(ClickException, match=re.escape('pip install "memslot[far]"')):
        find_decision("far-memory")


def test_what_came_from_a_clone_is_added_to_from_its_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = clone(tmp_path, "memory_core", "mcp_server", "embed_providers", "adapters")
    install(tmp_path, monkeypatch, {"url": root.as_uri(), "dir_info": {}})
    plugins = root / "plugins"

    assert install_command("memory-core") == f'pip install "{plugins / "memory_core"}"'
    assert extra_install_command("openai") == f'pip install "{plugins / "embed_providers"}[openai]"'
    assert extra_install_command("claude-agent") == (
        f'pip install "{plugins / "adapters"}[claude-agent]" "{plugins / "mcp_server"}"'
    )


def test_a_clone_that_is_gone_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, {"url": (tmp_path / "gone").as_uri(), "dir_info": {"editable": True}})

    assert extra_install_command("mcp") == 'pip install "memslot[mcp]"'


def test_a_wheel_that_was_installed_by_its_path_is_no_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = clone(tmp_path, "mcp_server")
    install(tmp_path, monkeypatch, {"url": root.as_uri(), "archive_info": {}})

    assert extra_install_command("mcp") == 'pip install "memslot[mcp]"'


def test_each_command_of_a_plugin_that_only_an_extra_brings_is_listed() -> None:
    root = Path(__file__).parents[3]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    base = {each.partition("==")[0] for each in project["dependencies"]}
    extras = {needs[0].partition("==")[0]: extra for extra, needs in project["optional-dependencies"].items()}
    expected = {}
    for manifest in root.glob("plugins/*/*/memslot.plugin.json"):
        own = tomllib.loads((manifest.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
        commands = json.loads(manifest.read_text(encoding="utf-8")).get("provides", {}).get("commands", [])
        if own not in base:
            expected |= {each if isinstance(each, str) else each["name"]: extras[own] for each in commands}
    assert project["entry-points"]["memslot.commands"] == expected
