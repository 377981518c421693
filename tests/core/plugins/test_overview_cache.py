"""The cache is never believed when something it came from has changed."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from memslot import Config, ConfigError, Places
from memslot.plugins import config_loader, discovery, fingerprints
from memslot.plugins.cache import Cache
from memslot.plugins.fingerprints import fingerprint
from memslot.plugins.overview import Overview, read_overview, read_setup


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
        self.checked = 0
        real_check = config_loader.check_tree

        def counting_checks(*arguments: object) -> object:
            self.checked += 1
            return real_check(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(config_loader, "check_tree", counting_checks)

    def configure(self, tree: object) -> None:
        (self.folder / "memslot.json5").write_text(json.dumps(tree))
        time.sleep(0.06)  # what was written a moment ago is not kept

    def read(self) -> Overview:
        return read_overview(Places.from_env(self.env), self.env)

    def config(self) -> Config:
        return read_setup(Places.from_env(self.env), self.env)[0].config

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


# The config in the cache


def test_config_is_checked_once_and_then_comes_from_the_cache(home: Home) -> None:
    home.configure({"agents": {"defaults": {"memorySearch": {"dimensions": 8.0}}, "list": [{"id": "a"}]}})
    first, second = home.config(), home.config()
    assert first == second
    assert second.memory_search("a").dimensions == 8
    assert home.checked == 1


def test_changed_config_is_never_taken_from_the_cache(home: Home) -> None:
    for length in (3, 4, 3):
        home.configure({"agents": {"defaults": {"memorySearch": {"dimensions": length}}}})
        assert home.config().memory_search().dimensions == length
    (home.folder / "memslot.json5").unlink()
    assert home.config().memory_search().dimensions is None


def test_variable_in_the_config_is_filled_in_anew_and_never_kept(home: Home) -> None:
    home.configure({"agents": {"defaults": {"apiKey": "${CHAT_KEY}", "model": "${MODEL}"}}})
    home.env |= {"CHAT_KEY": "hush-hush-1", "MODEL": "m1"}
    assert [home.config().agents.defaults.api_key for _ in range(2)] == ["hush-hush-1"] * 2
    assert home.checked == 1
    home.env["CHAT_KEY"] = "hush-hush-2"
    assert home.config().agents.defaults.api_key == "hush-hush-2"
    assert not any("hush" in file.read_text() for file in (home.folder / "cache").iterdir())
    del home.env["CHAT_KEY"]
    with pytest.raises(ConfigError, match="1 problem"):
        home.config()


@pytest.mark.parametrize(
    "tree",
    [
        {"agents": {"defaults": {"apiKey": "hush-hush"}}},
        {"agents": {"defaults": {"memorySearch": {"remote": {"headers": {"X-Who": "hush-hush"}}}}}},
        {"plugins": {"entries": {"dev": {"config": {"pin": "hush-hush"}}}}},
    ],
)
def test_secret_that_is_written_into_the_config_is_not_copied(home: Home, tmp_path: Path, tree: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"pin": {"type": "string"}}}
    write_plugin(tmp_path / "dev" / "pack", configSchema=schema, uiHints={"pin": {"sensitive": True}})
    tree.setdefault("plugins", {})["load"] = {"paths": [str(tmp_path / "dev")]}
    home.configure(tree)
    assert home.config() == home.config()
    assert home.config().written() == tree
    assert not any("hush" in file.read_text() for file in (home.folder / "cache").iterdir())


@pytest.mark.parametrize("part", ["version", "python"])
def test_another_version_of_memslot_or_python_counts_at_once(
    home: Home, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    home.config()
    if part == "version":
        monkeypatch.setattr(fingerprints, "__version__", "99.0")
    else:
        monkeypatch.setattr(sys, "version", "4.0")
    home.config()
    assert (home.checked, home.searched) == (2, 2)


@pytest.mark.parametrize("damage", [{"agents": 3}, {"agents": {"list": [{}]}}, {"nonsense": 1}, [1], "text"])
def test_a_damaged_config_in_the_cache_is_ignored(home: Home, damage: Any) -> None:
    first = home.config()
    (file,) = (home.folder / "cache").glob("overview-*")
    entry = json.loads(file.read_text())
    entry["data"]["config"] = damage
    file.write_text(json.dumps(entry))
    assert home.config() == first


def test_an_entry_that_somebody_else_could_have_written_is_ignored(home: Home) -> None:
    home.config()
    for file in (home.folder / "cache").iterdir():
        file.chmod(0o666)
    home.config()
    assert (home.checked, home.searched) == (2, 2)


def test_what_changed_a_moment_ago_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two changes within one tick of the clock look like one."""
    cache, file = Cache(tmp_path / "cache"), tmp_path / "config"
    kept = []
    for tick in (3600.0, 0.05):
        monkeypatch.setattr("memslot.plugins.cache._CLOCK_TICK_NS", tick * 1e9)
        file.write_text("x")
        time.sleep(0.06)
        cache.put("it", ["key"], 1, watched=[(str(file), fingerprint(str(file)))], env={})
        kept.append(cache.get("it", ["key"], {}, int))
    assert kept == [None, 1]


def test_files_in_a_folder_without_distributions_do_not_count(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scripts").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "scripts"))
    home.read()
    (tmp_path / "scripts" / "notes.txt").write_text("A script's folder changes all the time.")
    home.read()
    assert home.searched == 1
