from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from memslot.plugins.discovery import discover

MANIFEST = {"kind": "tool", "name": "N"}


def write_package(folder: Path, plugin_id: str, **fields: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text("raise AssertionError('this plugin was imported')\n")
    (folder / "memslot.plugin.json").write_text(json.dumps({"id": plugin_id, **MANIFEST, **fields}))
    return folder


def write_distribution(site: Path, name: str, entry_points: dict[str, str]) -> None:
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{key} = {value}" for key, value in entry_points.items()]
    (info / "entry_points.txt").write_text("[memslot.plugins]\n" + "\n".join(lines) + "\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on sys.path, as site-packages is."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def found(plugin_id: str, **arguments: object):
    return [plugin for plugin in discover(**arguments).plugins if plugin.id == plugin_id]  # type: ignore[arg-type]


def test_installed_plugin_is_found_without_being_imported(site: Path) -> None:
    write_package(site / "pack_a", "plug-a")
    write_distribution(site, "pack-a", {"plug-a": "pack_a"})
    (plugin,) = found("plug-a")
    assert plugin.problem is None
    assert plugin.version == "1.0"
    assert plugin.distribution == "pack-a"
    assert "pack_a" not in sys.modules


def test_manifest_is_found_for_a_module_inside_a_package_and_for_a_subpackage(site: Path) -> None:
    write_package(site / "pack_b", "plug-b")
    write_package(site / "pack_b" / "inner" / "deep", "plug-deep")
    write_distribution(site, "pack-b", {"plug-b": "pack_b.hooks:plugin", "plug-deep": "pack_b.inner.deep"})
    assert found("plug-b")[0].problem is None
    assert found("plug-deep")[0].problem is None
    assert "pack_b" not in sys.modules


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("no_such_package_at_all", "there is no 'no_such_package_at_all' to import"),
        ("json.decoder", "there is no memslot.plugin.json"),
        ("this", "is a single file"),
        ("..evil", "cannot be read"),
        ("", ""),
    ],
)
def test_entry_point_that_leads_nowhere_is_listed_with_the_reason(site: Path, entry: str, said: str) -> None:
    write_distribution(site, "pack-c", {"plug-c": entry})
    (plugin,) = found("plug-c")
    assert plugin.problem is not None
    assert said in plugin.problem


def test_manifest_that_lies_about_its_id_does_not_run(site: Path) -> None:
    write_package(site / "pack_d", "memory-core")
    write_distribution(site, "pack-d", {"plug-d": "pack_d"})
    (plugin,) = found("plug-d")
    assert plugin.problem == "its manifest says id 'memory-core', its entry point says 'plug-d': they must be equal"


def test_first_of_an_id_wins_and_the_loser_is_listed_as_overridden(site: Path, tmp_path: Path) -> None:
    write_package(site / "pack_e", "plug-e")
    write_distribution(site, "pack-e", {"plug-e": "pack_e"})
    folder = write_package(tmp_path / "dev" / "pack_e", "plug-e")
    first, second = found("plug-e", load_paths=[folder])
    assert (first.origin, first.overridden_by) == ("folder", None)
    assert (second.origin, second.overridden_by) == ("installed", str(folder))


def test_folder_of_packages_gives_each_of_them(tmp_path: Path) -> None:
    write_package(tmp_path / "dev" / "one", "one")
    write_package(tmp_path / "dev" / "two", "two")
    ids = [p.id for p in discover([tmp_path / "dev"]).plugins if p.origin == "folder"]
    assert ids == ["one", "two"]


def test_folder_that_is_not_there_is_listed_with_the_reason(tmp_path: Path) -> None:
    (plugin,) = found("gone", load_paths=[tmp_path / "gone"])
    assert "is not a folder" in str(plugin.problem)


def test_folder_without_a_plugin_is_listed_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (plugin,) = found("empty", load_paths=[tmp_path / "empty"])
    assert "no memslot.plugin.json" in str(plugin.problem)


@pytest.mark.parametrize("what", ["root", "package", "file", "nested file"])
def test_folder_that_everybody_can_write_is_refused(tmp_path: Path, what: str) -> None:
    root = tmp_path / "dev"
    package = write_package(root / "pack", "pack")
    nested = write_package(package / "sub", "sub") / "__init__.py"
    target = {"root": root, "package": package, "file": package / "__init__.py", "nested file": nested}[what]
    target.chmod(0o777)
    (plugin,) = found("pack", load_paths=[root])
    assert "can be written by everybody" in str(plugin.problem)
    assert str(target) in str(plugin.problem)


def test_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    package = write_package(tmp_path / "dev" / "pack", "pack")
    if os.geteuid() != 0:
        pytest.fail("this test gives a file away, which needs root; run the suite as root or in a container")
    os.chown(package / "__init__.py", 12345, -1)
    (plugin,) = found("pack", load_paths=[tmp_path / "dev"])
    assert "belongs to another user (uid 12345)" in str(plugin.problem)


def test_package_that_is_a_link_out_of_its_root_is_refused(tmp_path: Path) -> None:
    outside = write_package(tmp_path / "outside", "outside")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "pack").symlink_to(outside)
    (plugin,) = found("pack", load_paths=[tmp_path / "dev"])
    assert "leads out of" in str(plugin.problem)


def test_code_file_that_is_a_link_out_of_its_root_is_refused(tmp_path: Path) -> None:
    package = write_package(tmp_path / "dev" / "pack", "pack")
    (tmp_path / "elsewhere.py").write_text("")
    (package / "evil.py").symlink_to(tmp_path / "elsewhere.py")
    (plugin,) = found("pack", load_paths=[tmp_path / "dev"])
    assert "leads out of" in str(plugin.problem)


@pytest.mark.parametrize("name", ["with space", "ünïcode", "new\nline", "quote'\"", "-dash", "a" * 200])
def test_hostile_folder_names_are_no_trouble(tmp_path: Path, name: str) -> None:
    write_package(tmp_path / name / "pack", "pack")
    assert found("pack", load_paths=[tmp_path / name])[0].problem is None


def test_fifty_installed_plugins_are_listed_and_none_is_imported(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for number in range(50):
        write_package(site / f"many_{number}", f"many-{number}")
        write_distribution(site, f"many-{number}", {f"many-{number}": f"many_{number}"})
    (tmp_path / "home").mkdir()
    env = {**os.environ, "PYTHONPATH": str(site), "MEMSLOT_HOME": str(tmp_path / "home")}
    for _ in ("cold", "warm"):
        done = subprocess.run(
            [sys.executable, "-m", "memslot", "plugins", "list", "--json"],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        listed = json.loads(done.stdout)["plugins"]
        assert sum(plugin["id"].startswith("many-") and plugin["runs"] for plugin in listed) == 50
        assert done.stderr == ""
