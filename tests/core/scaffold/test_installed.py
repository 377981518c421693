"""Each kind of new package, installed into a fresh environment and used there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from memslot.scaffold.package import write_package

pytestmark = [pytest.mark.install, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def packages(fresh_environment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One package of each kind, written by the environment's own memslot and installed there."""
    folder = tmp_path_factory.mktemp("packages")
    made = {}
    for kind in ("embedder", "memory", "tool"):
        made[kind] = folder / kind
        fresh_environment.memslot("plugins", "init", f"new-{kind}", "--type", kind, "--dir", made[kind])
    fresh_environment.install(*made.values())
    return made


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"MEMSLOT_HOME": str(tmp_path / "home")}


@pytest.mark.parametrize("kind", ["embedder", "memory", "tool"])
def test_every_template_is_in_the_wheel(packages: dict[str, Path], tmp_path: Path, kind: str) -> None:
    from_checkout = {path.relative_to(tmp_path) for path in write_package(f"new-{kind}", kind, tmp_path)}
    assert all((packages[kind] / path).is_file() for path in from_checkout)


@pytest.mark.parametrize("kind", ["embedder", "memory", "tool"])
def test_its_own_tests_pass(fresh_environment, packages: dict[str, Path], kind: str) -> None:
    done = fresh_environment.run("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=packages[kind])
    assert " passed" in done.stdout
    assert "failed" not in done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.parametrize("kind", ["embedder", "memory", "tool"])
def test_it_is_valid_as_a_folder_and_as_an_installed_plugin(
    fresh_environment, packages: dict[str, Path], kind: str
) -> None:
    for target in (packages[kind], f"new-{kind}"):
        done = fresh_environment.memslot("plugins", "validate", target, "--json")
        assert json.loads(done.stdout)["ok"]


def test_the_list_shows_them(fresh_environment, packages: dict[str, Path], home: dict[str, str]) -> None:
    listed = json.loads(fresh_environment.memslot("plugins", "list", "--json", env=home).stdout)
    entries = {entry["id"]: entry for entry in listed["plugins"]}
    assert entries["new-embedder"]["runs"]
    assert entries["new-tool"]["runs"]
    assert not entries["new-memory"]["runs"]
    assert "memory-core" in entries["new-memory"]["reason"]


def test_the_memory_takes_the_slot_when_it_is_enabled(
    fresh_environment, packages: dict[str, Path], home: dict[str, str]
) -> None:
    fresh_environment.memslot("init", env=home)
    fresh_environment.memslot("plugins", "enable", "new-memory", env=home)
    given = json.loads(fresh_environment.memslot("run", "hello there", "--json", env=home).stdout)
    assert given["memory"] == "new-memory"
    assert {"new_memory_store", "new_memory_recall", "new_tool"} <= {tool["name"] for tool in given["tools"]}
