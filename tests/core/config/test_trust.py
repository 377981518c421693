from __future__ import annotations

import json
import os
import shlex
import stat
from pathlib import Path

import pytest
from memslot.config.edit import parse_cli_value, set_value
from memslot.config.paths import Places
from memslot.config.project import find_project_file
from memslot.config.trust import read_requests, revoke_trust, trust_project, trusted_projects
from memslot.errors import ConfigError, TrustError
from memslot.plugins.config_loader import load_config, setting_schemas
from memslot.plugins.loaded_config import LoadedConfig

TEXT = "{memory: {citations: 'off'}, agents: {defaults: {workspace: 'notes'}}}"


@pytest.fixture
def project(home: Path) -> Path:
    folder = home / "code/app"
    (folder / ".memslot").mkdir(parents=True)
    (folder / "src/deep").mkdir(parents=True)
    (folder / ".memslot/memslot.json5").write_text(TEXT)
    return folder


def citations(loaded: LoadedConfig) -> str:
    """What a memory would read; "auto" is its default."""
    return str(loaded.config.memory.written().get("citations", "auto"))


def load(places: Places, start: Path) -> LoadedConfig:
    return load_config(places, project_dir=start, env={})


def test_untrusted_project_is_ignored_with_one_warning(places: Places, project: Path) -> None:
    loaded = load(places, project)
    assert citations(loaded) == "auto"
    assert loaded.files == ()
    (warning,) = loaded.warnings
    assert str(project / ".memslot/memslot.json5") in warning
    assert "is not trusted yet" in warning
    assert "`memslot trust`" in warning


@pytest.mark.parametrize("named", ["", ".memslot", ".memslot/memslot.json5"])
def test_trusted_project_lies_over_the_users_file(places: Places, project: Path, named: str) -> None:
    places.config_file.write_text("{memory: {citations: 'on', backend: 'qmd'}}")
    record = trust_project(project / named, places)
    loaded = load(places, project / "src/deep")
    assert loaded.config.memory.written() == {"citations": "off", "backend": "qmd"}
    assert loaded.files == (places.config_file, record.path)
    assert loaded.warnings == ()
    assert loaded.config.workspace("main", places) == project / "notes"


def test_current_folder_is_where_the_search_starts(
    places: Places, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust_project(project, places)
    monkeypatch.chdir(project / "src")
    assert citations(load_config(places, env={})) == "off"
    assert citations(load_config(places, project_dir=None, env={})) == "auto"


def test_one_changed_byte_ends_the_trust(places: Places, project: Path) -> None:
    trust_project(project, places)
    (project / ".memslot/memslot.json5").write_text(TEXT + "\n")
    loaded = load(places, project)
    assert citations(loaded) == "auto"
    assert "has changed since you trusted it" in loaded.warnings[0]
    trust_project(project, places)
    assert citations(load(places, project)) == "off"


def test_bytes_that_were_hashed_are_the_bytes_that_are_used(
    places: Places, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Swap the file right after it was read: what runs is still what was trusted."""
    from memslot.config import read as module

    trust_project(project, places)
    real = module.read_config_bytes

    def swap_after(path: Path) -> object:
        found = real(path)
        if path.is_relative_to(project):
            path.write_text("{memory: {backend: 'qmd'}}")
        return found

    monkeypatch.setattr(module, "read_config_bytes", swap_after)
    loaded = load(places, project)
    assert loaded.config.memory.written() == {"citations": "off"}


def test_trust_does_not_travel_to_a_copy(places: Places, project: Path, home: Path) -> None:
    trust_project(project, places)
    (home / "other/.memslot").mkdir(parents=True)
    (home / "other/.memslot/memslot.json5").write_text(TEXT)
    assert "is not trusted yet" in load(places, home / "other").warnings[0]


def test_trust_can_be_listed_and_taken_back(places: Places, project: Path) -> None:
    record = trust_project(project, places)
    assert trusted_projects(places) == (record,)
    assert stat.S_IMODE(places.trust_file.stat().st_mode) == 0o600
    assert revoke_trust(project, places) is True
    assert revoke_trust(project, places) is False
    assert trusted_projects(places) == ()
    assert citations(load(places, project)) == "auto"


def test_trust_of_a_deleted_project_can_be_taken_back(places: Places, project: Path) -> None:
    trust_project(project, places)
    (project / ".memslot/memslot.json5").unlink()
    assert revoke_trust(project, places) is True


@pytest.mark.parametrize(
    "junk", [b"", b"{", b"[]", b'{"projects": []}', b'{"projects": {"x": 1}}', b"\xff", b"[" * 9999]
)
def test_corrupt_trust_file_trusts_nothing_and_says_so(places: Places, project: Path, junk: bytes) -> None:
    trust_project(project, places)
    places.trust_file.write_bytes(junk)
    loaded = load(places, project)
    assert citations(loaded) == "auto"
    assert len(loaded.warnings) == 2
    assert "no project is trusted" in loaded.warnings[0]
    trust_project(project, places)
    assert load(places, project).warnings == ()


def test_symlink_out_of_the_project_is_refused(places: Places, project: Path, tmp_path: Path) -> None:
    file = project / ".memslot/memslot.json5"
    (tmp_path / "evil.json5").write_text(TEXT)
    file.unlink()
    file.symlink_to(tmp_path / "evil.json5")
    with pytest.raises(TrustError, match="symlink out of"):
        trust_project(project, places)
    loaded = load(places, project)
    assert citations(loaded) == "auto"
    assert "symlink out of" in loaded.warnings[0]


def test_symlink_within_the_project_is_fine(places: Places, project: Path) -> None:
    file = project / ".memslot/memslot.json5"
    file.rename(project / "shared.json5")
    file.symlink_to("../shared.json5")
    trust_project(project, places)
    assert citations(load(places, project)) == "off"


def test_world_writable_file_is_refused_even_when_trusted(places: Places, project: Path) -> None:
    trust_project(project, places)
    (project / ".memslot/memslot.json5").chmod(0o666)
    assert "world-writable" in load(places, project).warnings[0]
    with pytest.raises(TrustError, match="world-writable"):
        trust_project(project, places)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_file_of_another_user_is_refused(places: Places, project: Path) -> None:
    trust_project(project, places)
    os.chown(project / ".memslot/memslot.json5", 65534, 65534)
    assert "another user" in load(places, project).warnings[0]
    with pytest.raises(TrustError, match="another user"):
        trust_project(project, places)


def test_unreadable_kinds_of_project_files_are_warnings(places: Places, project: Path) -> None:
    file = project / ".memslot/memslot.json5"
    file.unlink()
    os.mkfifo(file)
    assert "pipe" in load(places, project).warnings[0]


def test_problems_in_a_trusted_project_name_its_file_and_line(places: Places, project: Path) -> None:
    places.config_file.write_text("{memory: {backend: 'qmd'},\n plugins: {slot: 1}}")
    file = project / ".memslot/memslot.json5"
    file.write_text("{\n\n memory: {citations: 3}}")
    trust_project(project, places)
    with pytest.raises(ConfigError) as caught:
        load(places, project)
    told = {(problem.file, problem.line, problem.key) for problem in caught.value.problems}
    assert told == {(str(file), 3, "memory.citations"), (str(places.config_file), 2, "plugins.slot")}


def test_nearest_project_wins_and_the_home_folder_is_none(places: Places, project: Path, home: Path) -> None:
    inner = project / "src/.memslot"
    inner.mkdir()
    (inner / "memslot.toml").write_text("")
    assert find_project_file(project / "src/deep", places) == inner / "memslot.toml"
    assert find_project_file(project, places) == project / ".memslot/memslot.json5"
    (home / ".memslot/memslot.json5").write_text("{}")
    elsewhere = Places(home / "elsewhere", home / "elsewhere/memslot.json5")
    assert find_project_file(home, elsewhere) is None
    assert find_project_file(home / "code", elsewhere) is None


def test_users_own_config_is_never_a_project(home: Path) -> None:
    folder = home / "work"
    (folder / ".memslot").mkdir(parents=True)
    (folder / ".memslot/memslot.json5").write_text(TEXT)
    as_home = Places(folder / ".memslot", folder / ".memslot/memslot.json5")
    assert find_project_file(folder, as_home) is None
    as_config = Places(home / ".memslot", folder / ".memslot/memslot.json5")
    assert find_project_file(folder, as_config) is None


def test_search_above_a_folder_outside_home_ends_at_the_root(places: Places, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert find_project_file(tmp_path / "out", places) is None
    assert find_project_file(tmp_path / "gone", places) is None
    assert find_project_file(Path("/"), places) is None


CODE = {
    "plugins": {"load": {"paths": ["tools/plugin", "/abs"]}},
    "memory": {"qmd": {"command": "./qmd"}, "search": {"store": {"vector": {"extensionPath": "./a.so"}}}},
    "agents": {
        "defaults": {"memorySearch": {"store": {"vector": {"extensionPath": "./b.so"}}}},
        "list": [{"id": "x", "memorySearch": {"store": {"vector": {"extensionPath": "./c.so"}}}}],
    },
}


def test_trusted_project_brings_no_code(places: Places, project: Path) -> None:
    (project / ".memslot/memslot.json5").write_text(json.dumps(CODE))
    trust_project(project, places)
    loaded = load(places, project)
    assert loaded.config.plugins.load.paths == ()
    assert loaded.config.memory.written() == {"qmd": {}, "search": {"store": {"vector": {}}}}
    assert loaded.config.memory_search("x").written() == {"store": {"vector": {}}}
    assert len(loaded.warnings) == 5
    assert all("can't bring code" in warning for warning in loaded.warnings)


def test_following_the_advice_gives_the_code_and_ends_the_warning(places: Places, project: Path) -> None:
    places.config_file.write_text("{plugins: {load: {paths: ['/mine']}}}")
    (project / ".memslot/memslot.json5").write_text(json.dumps({"plugins": CODE["plugins"]}))
    trust_project(project, places)
    (warning,) = load(places, project).warnings
    *_, key, value = shlex.split(warning.partition("your own config: ")[2])
    set_value(places.config_file, key, parse_cli_value(value), check=lambda tree: [])
    loaded = load(places, project)
    assert loaded.warnings == ()
    assert loaded.config.plugins.load.paths == ("/mine", str(project / "tools/plugin"), "/abs")


def test_what_a_project_sets_is_told_with_what_it_can_reach(places: Places, project: Path, tmp_path: Path) -> None:
    (project / "linked").symlink_to(tmp_path)
    (project / "notes").mkdir()
    search = {
        "remote": {"baseUrl": "https://example.org/${DEPLOY_TOKEN}", "apiKey": "sk-secretsecret"},
        "extraPaths": ["../other", "linked", "notes"],
        "store": {"path": "/var/x.sqlite"},
    }
    tree = {**CODE, "agents": {"defaults": {"memorySearch": search}}}
    (project / ".memslot/memslot.json5").write_text(json.dumps(tree))
    told = {
        each.key.removeprefix("agents.defaults.memorySearch."): each
        for each in read_requests(project, setting_schemas(places))[1]
    }
    assert told["remote.baseUrl"].remark == "reaches another machine; reads DEPLOY_TOKEN from the environment"
    assert told["remote.apiKey"].value == "***"
    assert [told[f"extraPaths[{n}]"].remark for n in range(3)] == ["outside the project", "outside the project", ""]
    assert told["store.path"].remark == "outside the project"
    assert "can't bring code" in told["plugins.load.paths[0]"].remark
    assert "can't bring code" in told["memory.qmd.command"].remark


def test_what_was_shown_is_what_is_trusted(places: Places, project: Path) -> None:
    """The file changes while the person reads the list."""
    seen, _ = read_requests(project, setting_schemas(places))
    (project / ".memslot/memslot.json5").write_text("{memory: {backend: 'qmd'}}")
    trust_project(project, places, seen=seen)
    assert "has changed" in load(places, project).warnings[0]
