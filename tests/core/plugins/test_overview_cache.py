"""The cache is never believed when something it came from has changed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from memslot import Places
from memslot.plugins import discovery
from memslot.plugins.overview import Overview, read_overview


class Home:
    """A home whose overview can be read, and a count of how often it was worked out anew."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        folder.mkdir()
        self.env = {"MEMSLOT_HOME": str(folder)}
        self.searched = 0
        real = discovery.discover

        def counting(*arguments: object) -> object:
            self.searched += 1
            return real(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(discovery, "discover", counting)

    def configure(self, tree: object) -> None:
        (self.folder / "memslot.json5").write_text(json.dumps(tree))

    def read(self) -> Overview:
        return read_overview(Places.from_env(self.env), self.env)

    def state(self, plugin_id: str) -> str:
        return next(d.code for d in self.read().activation.decisions if d.plugin.id == plugin_id)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.chdir(tmp_path)
    return Home(tmp_path / "home", monkeypatch)


def write_plugin(folder: Path, **fields: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text("")
    manifest = {"id": "dev", "kind": "tool", "name": "Dev", **fields}
    (folder / "memslot.plugin.json").write_text(json.dumps(manifest))
    return folder


def test_second_reading_comes_from_the_cache_and_is_the_same(home: Home) -> None:
    first, second = home.read(), home.read()
    assert first == second
    assert home.searched == 1


def test_changed_config_counts_at_once(home: Home) -> None:
    assert home.state("memory-core") == "slot-owner"
    home.configure({"plugins": {"deny": ["memory-core"]}})
    assert home.state("memory-core") == "denied"
    home.configure({"plugins": {"slots": {"memory": "none"}}})
    assert home.state("memory-core") == "slot-off"


def test_changed_manifest_counts_at_once(home: Home, tmp_path: Path) -> None:
    folder = write_plugin(tmp_path / "dev" / "pack")
    home.configure({"plugins": {"load": {"paths": [str(tmp_path / "dev")]}}})
    assert home.state("dev") == "enabled"
    write_plugin(folder, minHostApi=99)
    assert home.state("dev") == "broken"


def test_new_plugin_in_a_development_folder_counts_at_once(home: Home, tmp_path: Path) -> None:
    write_plugin(tmp_path / "dev" / "pack")
    home.configure({"plugins": {"load": {"paths": [str(tmp_path / "dev")]}}})
    home.read()
    write_plugin(tmp_path / "dev" / "another", id="another")
    assert home.state("another") == "enabled"


def test_development_folder_that_becomes_unsafe_counts_at_once(home: Home, tmp_path: Path) -> None:
    folder = write_plugin(tmp_path / "dev" / "pack")
    home.configure({"plugins": {"load": {"paths": [str(tmp_path / "dev")]}}})
    assert home.state("dev") == "enabled"
    (folder / "memslot.plugin.json").chmod(0o666)
    assert home.state("dev") == "broken"


def test_installed_distribution_counts_at_once(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    home.read()
    write_plugin(site / "late_pack", id="late")
    info = site / "late_pack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: late-pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[memslot.plugins]\nlate = late_pack\n")
    assert home.state("late") == "enabled"


def test_variable_in_a_plugins_settings_counts_when_it_changes(home: Home, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"key": {"type": "string", "minLength": 5}}}
    write_plugin(tmp_path / "dev" / "pack", configSchema=schema)
    home.configure(
        {"plugins": {"load": {"paths": [str(tmp_path / "dev")]}, "entries": {"dev": {"config": {"key": "${KEY}"}}}}}
    )
    home.env["KEY"] = "long enough"
    assert home.state("dev") == "enabled"
    home.env["KEY"] = "tiny"
    assert home.state("dev") == "bad-config"
    del home.env["KEY"]
    assert home.state("dev") == "bad-config"


def test_secret_from_the_environment_is_not_in_the_cache(home: Home, tmp_path: Path) -> None:
    write_plugin(tmp_path / "dev" / "pack", configSchema={"type": "object"})
    home.configure(
        {"plugins": {"load": {"paths": [str(tmp_path / "dev")]}, "entries": {"dev": {"config": {"key": "${KEY}"}}}}}
    )
    home.env["KEY"] = "sk-very-secret-indeed"
    home.read()
    files = list((home.folder / "cache").iterdir())
    assert files
    for file in files:
        assert "very-secret" not in file.read_text()
        assert file.stat().st_mode & 0o077 == 0


def test_environment_switches_are_part_of_the_key(home: Home) -> None:
    assert home.state("memory-core") == "slot-owner"
    home.env["MEMSLOT_DISABLE_PLUGINS"] = "1"
    assert home.state("memory-core") == "plugins-off"
    del home.env["MEMSLOT_DISABLE_PLUGINS"]
    assert home.state("memory-core") == "slot-owner"


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b'{"key": 1}', b"\x00\xff" * 100, b"[" * 100_000])
def test_torn_cache_is_made_again(home: Home, garbage: bytes) -> None:
    first = home.read()
    for file in (home.folder / "cache").iterdir():
        file.write_bytes(garbage)
    assert home.read() == first
    assert home.searched == 2


def test_home_that_cannot_be_written_only_costs_the_cache(home: Home) -> None:
    (home.folder / "cache").write_text("a file where the folder should be")
    assert home.read() == home.read()
    assert home.searched == 2


def test_without_a_home_nothing_is_written(tmp_path: Path) -> None:
    env = {"MEMSLOT_HOME": str(tmp_path / "absent")}
    read_overview(Places.from_env(env), env)
    assert not (tmp_path / "absent").exists()


def test_old_entries_are_thrown_away(home: Home) -> None:
    home.read()
    cache = home.folder / "cache"
    for number in range(60):
        path = cache / f"overview-{number:016x}.json"
        path.write_text("{}")
        os.utime(path, (number, number))
    home.configure({"plugins": {"deny": ["x"]}})
    home.read()
    assert len(list(cache.iterdir())) <= 34
