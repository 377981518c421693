from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from memslot.config.paths import Places, workspace_key
from memslot.errors import ConfigError


def test_everything_is_in_the_dot_folder_by_default(home: Path) -> None:
    places = Places.from_env({})
    assert places.home == home / ".memslot"
    assert places.config_file == home / ".memslot/memslot.json5"
    assert places.memory_dir == home / ".memslot/memory"
    assert places.cache_dir == home / ".memslot/cache"
    assert places.trust_file == home / ".memslot/trusted.json"
    assert places.default_workspace == home / ".memslot/workspace"
    assert places.sessions_dir("main") == home / ".memslot/agents/main/sessions"
    assert places.plugin_state_dir("memory-core") == home / ".memslot/plugins/memory-core"


def test_variables_move_home_and_config(home: Path, tmp_path: Path) -> None:
    places = Places.from_env({"MEMSLOT_HOME": "~/else", "MEMSLOT_CONFIG": str(tmp_path / "c.toml")})
    assert places.home == home / "else"
    assert places.config_file == tmp_path / "c.toml"


def test_empty_variables_count_as_unset(home: Path) -> None:
    assert Places.from_env({"MEMSLOT_HOME": "", "MEMSLOT_CONFIG": ""}).home == home / ".memslot"


def test_relative_home_becomes_absolute(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Places.from_env({"MEMSLOT_HOME": "here"}).home == tmp_path / "here"


@pytest.mark.parametrize("name", ["memslot.toml", "memslot.json"])
def test_other_suffixes_are_found_when_there_is_no_json5(places: Places, name: str) -> None:
    (places.home / name).write_text("{}" if name.endswith("json") else "")
    assert Places.from_env({"MEMSLOT_HOME": str(places.home)}).config_file.name == name
    (places.home / "memslot.json5").write_text("{}")
    assert Places.from_env({"MEMSLOT_HOME": str(places.home)}).config_file.name == "memslot.json5"


def test_index_file_follows_the_template(home: Path, places: Places) -> None:
    own = places.default_workspace
    assert places.index_file("a", own) == places.home / "memory/a.sqlite"
    assert places.index_file("a", own, "~/x/{agentId}/i.db") == home / "x/a/i.db"
    assert places.index_file("a", own, "/srv/{agentId}.db") == Path("/srv/a.db")
    assert places.index_file("a", own, "rel.db") == places.home / "rel.db"
    key = workspace_key(own)
    assert places.index_file("a", own, "/srv/{agentId}/{workspace}.db") == Path(f"/srv/a/{key}.db")


def test_each_workspace_has_an_index_of_its_own(places: Places, tmp_path: Path) -> None:
    one, other = tmp_path / "one/Büro & notes", tmp_path / "other/Büro & notes"
    files = {places.index_file("a", each) for each in (one, other, places.default_workspace)}
    assert len(files) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,80}", file.name) for file in files)
    assert places.index_file("a", one).name.startswith("a-b-ro-notes.")


def test_a_workspace_is_the_same_by_any_path_that_leads_to_it(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / "notes"
    workspace.mkdir()
    (tmp_path / "link").symlink_to(workspace)
    monkeypatch.chdir(tmp_path)
    names = [workspace, tmp_path / "link", Path("notes"), tmp_path / "x" / ".." / "notes"]
    assert len({places.index_file("a", each) for each in names}) == 1
    places.default_workspace.symlink_to(workspace)
    assert places.index_file("a", workspace) == places.home / "memory/a.sqlite"


def test_no_agent_id_looks_like_another_agent_with_a_workspace(places: Places, tmp_path: Path) -> None:
    name = places.index_file("a", tmp_path / "notes").stem
    with pytest.raises(ConfigError):
        places.index_file(name, places.default_workspace)


@pytest.mark.parametrize("bad", ["", "..", "a/b", "../x", "a\n", "-a", "a.b", "é", "a\0", "x" * 65])
def test_unsafe_agent_ids_never_reach_a_path(places: Places, bad: str) -> None:
    with pytest.raises(ConfigError, match="Agent id"):
        places.index_file(bad, places.default_workspace)
    with pytest.raises(ConfigError, match="Agent id"):
        places.sessions_dir(bad)


@pytest.mark.parametrize("bad", ["", "..", ".", "a/b", "a..", "a\n", "\\", "x" * 129])
def test_unsafe_plugin_ids_never_reach_a_path(places: Places, bad: str) -> None:
    with pytest.raises(ConfigError, match="Plugin id"):
        places.plugin_state_dir(bad)


def test_paths_import_nothing_slow() -> None:
    slow = ["pydantic", "pyjson5", "tomlkit", "tomllib", "filelock", "hashlib", "json", "tempfile"]
    code = f"import sys, memslot.config.paths; print([m for m in {slow!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_loading_without_a_project_imports_no_locks_and_no_editor(tmp_path: Path) -> None:
    code = (
        "import sys; from memslot.config.paths import Places; from memslot.plugins.config_loader import load_config;"
        "load_config(Places.from_env()); print([m for m in ('tomlkit', 'filelock', 'memslot.config.trust') "
        "if m in sys.modules])"
    )
    env = {**os.environ, "MEMSLOT_HOME": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env, cwd=tmp_path
    )
    assert done.stdout.strip() == "[]"
