"""What `plugins init` writes, and what it refuses."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from memslot import PluginError
from memslot.cli.plugin_author import init, validate
from memslot.plugins.manifest import read_manifest
from memslot.scaffold.names import names_for
from memslot.scaffold.package import KINDS, write_package


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_is_whole(tmp_path: Path, kind: str) -> None:
    files = {str(path.relative_to(tmp_path)) for path in write_package("my-thing", kind, tmp_path)}
    assert files == {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    package = "memslot_my_thing"
    needed = ["__init__.py", "plugin.py", "memslot.plugin.json", "py.typed"]
    assert {"pyproject.toml", "README.md", "tests/test_plugin.py", *(f"{package}/{name}" for name in needed)} <= files
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]
    assert project["name"] == "memslot-my-thing"
    assert project["entry-points"]["memslot.plugins"] == {"my-thing": f"{package}.plugin"}
    manifest = read_manifest(tmp_path / package / "memslot.plugin.json")
    assert (manifest.id, manifest.kind) == ("my-thing", kind)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_to_fill_in(tmp_path: Path, kind: str) -> None:
    for path in write_package("my-thing", kind, tmp_path):
        text = path.read_text()
        assert "$" not in text, path
        assert ".tmpl" not in str(path)
        assert max((len(line) for line in text.splitlines()), default=0) <= 120, path


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_written_is_valid(tmp_path: Path, kind: str, memslot_home: Path) -> None:
    write_package("my-thing", kind, tmp_path / "new")
    done = CliRunner().invoke(validate, [str(tmp_path / "new"), "--json"])
    answer = json.loads(done.stdout)
    assert answer["ok"], answer
    assert done.exit_code == 0


def test_a_prefix_is_not_doubled() -> None:
    assert names_for("memslot-weather") == names_for("weather")
    assert names_for("weather").package == "memslot_weather"


@pytest.mark.parametrize(
    ("name", "provider"), [("embed-acme", "acme"), ("acme", "acme"), ("memslot-embed-acme", "acme"), ("embed", "embed")]
)
def test_the_provider_of_an_embedder_has_the_short_name(
    tmp_path: Path, memslot_home: Path, name: str, provider: str
) -> None:
    package = names_for(name).package
    write_package(name, "embedder", tmp_path / "new")
    manifest = read_manifest(tmp_path / "new" / package / "memslot.plugin.json")
    assert manifest.id == name.removeprefix("memslot-")
    assert manifest.provides.providers == [provider]
    assert f"memorySearch.provider {provider}\n" in (tmp_path / "new" / "README.md").read_text()
    assert CliRunner().invoke(validate, [str(tmp_path / "new")]).exit_code == 0


def test_a_module_of_python_is_not_hidden() -> None:
    assert names_for("json").package == "memslot_json"
    assert names_for("class").package == "memslot_class"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-a",
        "a-",
        "a--b",
        "My-Thing",
        "my_thing",
        "my thing",
        "../evil",
        "a/b",
        "a\\b",
        "a.b",
        "thing\n",
        "naïve",
        "٣",
        "a\x00",
        "memslot-",
        "x" * 51,
    ],
)
def test_names_that_cannot_be_used(tmp_path: Path, name: str) -> None:
    with pytest.raises(PluginError, match="lower-case letters, digits and single dashes"):
        write_package(name, "tool", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["core", "memslot-core", "memory-core", "embed-providers", "memslot"])
def test_names_of_the_project_itself(tmp_path: Path, name: str) -> None:
    with pytest.raises(PluginError, match="reserved for memslot itself"):
        write_package(name, "tool", tmp_path)


@pytest.mark.parametrize("name", ["auto", "none", "embed-auto"])
def test_names_with_a_meaning(tmp_path: Path, name: str) -> None:
    with pytest.raises(PluginError, match="is a reserved word in the config"):
        write_package(name, "embedder", tmp_path)


def test_an_unknown_kind(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="embedder, memory, tool"):
        write_package("x", "sausage", tmp_path)  # type: ignore[arg-type]


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(PluginError, match="is not empty"):
        write_package("x", "tool", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(PluginError, match="cannot be created"):
        write_package("x", "tool", tmp_path / "taken")


def test_the_command_says_what_it_wrote_and_what_comes_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(init, ["weather", "--type", "tool"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "weather" / "memslot_weather" / "plugin.py").is_file()
    assert "wrote weather/pyproject.toml" in done.output
    assert "cd weather" in done.output
    assert 'pip install -e ".[test]"' in done.output


@pytest.mark.parametrize("name", ["../evil", "/evil", "."])
def test_the_command_refuses_a_path_as_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    done = CliRunner().invoke(init, [name, "--type", "tool"])
    assert isinstance(done.exception, PluginError)
    assert [path.name for path in tmp_path.rglob("*")] == ["here"]


def test_the_command_needs_a_type() -> None:
    done = CliRunner().invoke(init, ["weather"])
    assert done.exit_code == 2
    assert "embedder" in done.output


def test_the_command_writes_where_it_is_told(tmp_path: Path) -> None:
    done = CliRunner().invoke(init, ["weather", "--type", "memory", "--dir", str(tmp_path / "deep" / "down")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "deep" / "down" / "pyproject.toml").is_file()
