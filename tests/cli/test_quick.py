"""The quick door: the same answer without loading the host, for as long as nothing it depends on has changed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest
from memslot.cli import quick
from memslot.config.paths import CONFIG_NAMES
from memslot.config.project import FOLDER
from memslot.plugins.manifest import parse_manifest

PLUGIN = """
import click
from memslot import hookimpl, prepare_quick

@hookimpl
def register_commands(ctx, cli):
    @click.group()
    def shout(): ...

    @shout.command()
    @click.argument("words", nargs=-1)
    def loud(words):
        click.echo("usual " + " ".join(words).upper())
        prepare_quick("shout loud", {"sign": "!"})
        if "fail" in words:
            raise SystemExit(1)

    @shout.command()
    def soft():
        click.echo("soft")

    cli.add_command(shout)
"""
QUICK = """
def loud(arguments, kept):
    if "strange" in arguments:
        return None
    if "broken" in arguments:
        raise RuntimeError("broken")
    if "json" in arguments:
        return {"said": ["ü"]}
    return "quick " + " ".join(arguments).upper() + kept["sign"]
"""
MANIFEST = {
    "id": "shout",
    "kind": "app",
    "name": "Shout",
    "provides": {"commands": ["shout"], "quick": {"shout loud": "shout_pack.quick:loud"}},
    "requires": {"env": ["SHOUT_VOICE"]},
}


def put_on_path(site: Path, name: str, manifest: dict[str, Any], code: str, **modules: str) -> None:
    """An installed plugin, as pip would leave it in a folder of Python's."""
    package = site / f"{name}_pack"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for module, text in {"plugin": code, **modules}.items():
        (package / f"{module}.py").write_text(textwrap.dedent(text), encoding="utf-8")
    (package / "memslot.plugin.json").write_text(json.dumps(manifest), encoding="utf-8")
    info = site / f"{name}_pack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-pack\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[memslot.plugins]\n{name} = {name}_pack.plugin\n", encoding="utf-8")


@pytest.fixture
def shout(memslot, tmp_path: Path):
    """`memslot` with a plugin installed whose two ways of answering can be told apart."""
    put_on_path(tmp_path / "site", "shout", MANIFEST, PLUGIN, quick=QUICK)
    memslot.env["PYTHONPATH"] = str(tmp_path / "site")
    memslot.write_config({"plugins": {"entries": {}}})
    return memslot


@pytest.fixture
def warm(shout):
    """The same, after a command that went the usual way and left its record."""
    assert shout.ok("shout", "loud", "hey") == "usual HEY\n"
    assert shout.ok("shout", "loud", "hey") == "quick HEY!\n"
    return shout


def records(memslot) -> list[Path]:
    return sorted((memslot.home / "cache").glob("quick-*.json"))


def test_the_second_time_is_quick_and_loads_neither_click_nor_pydantic(warm) -> None:
    done = warm("shout", "loud", "hey", PYTHONPROFILEIMPORTTIME="1")
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.stdout == "quick HEY!\n"
    assert not loaded & {"click", "pydantic", "pluggy", "rich", "dataclasses", "pathlib", "hashlib", "memslot.host"}


def test_a_record_is_private_and_one_file_for_each_command(warm) -> None:
    (record,) = records(warm)
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert "shout-loud" in record.name


def test_other_commands_of_the_plugin_go_the_usual_way(warm) -> None:
    assert warm.ok("shout", "soft") == "soft\n"
    assert "Usage:" in warm.ok("shout", "--help")
    assert len(records(warm)) == 1


def test_another_agent_is_never_answered_quickly(warm) -> None:
    assert warm("--agent", "main", "shout", "loud", "hey").stdout == "usual HEY\n"


def test_json_is_printed_as_other_commands_print_it(warm) -> None:
    assert warm.ok("shout", "loud", "json") == '{\n  "said": [\n    "ü"\n  ]\n}\n'
    in_ascii = warm("shout", "loud", "json", PYTHONIOENCODING="ascii")
    assert json.loads(in_ascii.stdout) == {"said": ["ü"]}
    assert "\\u00fc" in in_ascii.stdout


@pytest.mark.parametrize("word", ["strange", "broken"])
def test_what_the_plugin_leaves_alone_goes_the_usual_way(warm, word: str) -> None:
    done = warm("shout", "loud", word)
    assert (done.stdout, done.stderr, done.returncode) == (f"usual {word.upper()}\n", "", 0)
    assert warm.ok("shout", "loud", "hey") == "quick HEY!\n", "the record still holds"


def edit_config(memslot) -> None:
    memslot.write_config({"plugins": {"entries": {}}, "agents": {}})


def add_better_config(memslot) -> None:
    memslot.write_config("{}")
    memslot.config.rename(memslot.home / "memslot.toml").write_text("", encoding="utf-8")


def add_project(memslot) -> None:
    (memslot.project / FOLDER).mkdir()
    (memslot.project / FOLDER / "memslot.json5").write_text("{}", encoding="utf-8")
    memslot.ok("trust")


def install_another(memslot) -> None:
    put_on_path(memslot.folder / "site", "other", {"id": "other", "kind": "app", "name": "Other"}, "")


def upgrade_manifest(memslot) -> None:
    file = memslot.folder / "site" / "shout_pack" / "memslot.plugin.json"
    file.write_text(json.dumps({**MANIFEST, "description": "New."}), encoding="utf-8")


def tear(memslot) -> None:
    (record,) = records(memslot)
    record.write_bytes(record.read_bytes()[:-20])


def open_to_others(memslot) -> None:
    (record,) = records(memslot)
    record.chmod(0o620)


@pytest.mark.parametrize(
    "change",
    [edit_config, add_better_config, add_project, install_another, upgrade_manifest, tear, open_to_others],
)
def test_what_has_changed_is_seen_and_then_kept_again(warm, change) -> None:
    change(warm)
    done = warm("shout", "loud", "hey")
    assert done.stdout == "usual HEY\n"
    if not done.stderr:
        assert warm.ok("shout", "loud", "hey") == "quick HEY!\n"


def test_variables_that_the_config_or_a_plugin_reads_count_and_others_do_not(shout) -> None:
    shout.write_config({"agents": {"defaults": {"workspace": "${NOTES}"}}})
    env = {"NOTES": str(shout.folder / "a"), "SHOUT_VOICE": "high", "ACME_API_KEY": "a-secret-of-mine"}
    assert shout.ok("shout", "loud", **env) == "usual \n"
    assert shout.ok("shout", "loud", **env, EDITOR="vi") == "quick !\n"
    (record,) = records(shout)
    kept = record.read_text(encoding="utf-8")
    assert "a-secret-of-mine" not in kept
    assert "high" not in kept
    for name in env:
        assert shout.ok("shout", "loud", **{**env, name: f"{env[name]}2"}) == "usual \n", name
        assert shout.ok("shout", "loud", **env) == "usual \n", name
        assert shout.ok("shout", "loud", **env) == "quick !\n", name


@pytest.mark.parametrize("name", ["MEMSLOT_STRICT_PLUGINS", "MEMSLOT_LOAD_PLUGINS", "MEMSLOT_QUICK"])
def test_a_variable_of_memslot_means_the_usual_way(warm, name: str) -> None:
    value = {"MEMSLOT_LOAD_PLUGINS": "shout"}.get(name, "0")
    assert warm("shout", "loud", "hey", **{name: value}).stdout == "usual HEY\n"
    assert warm.ok("shout", "loud", "hey") == "quick HEY!\n"


def test_another_folder_without_a_project_shares_the_record(warm) -> None:
    below = warm.project / "a" / "b"
    below.mkdir(parents=True)
    done = subprocess.run(
        # -P: the current folder is not where Python looks for packages, as with the installed command.
        [warm.argv[0], "-P", *warm.argv[1:], "shout", "loud"],
        env=warm.env, cwd=below, capture_output=True, text=True, check=True,
    )  # fmt: skip
    first = done.stdout
    done = subprocess.run(
        [warm.argv[0], "-P", *warm.argv[1:], "shout", "loud"],
        env=warm.env, cwd=warm.project, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (first, done.stdout) == ("usual \n", "quick !\n")


def test_a_command_that_fails_or_warns_leaves_no_record(shout) -> None:
    assert shout("shout", "loud", "fail").returncode == 1
    assert records(shout) == []
    (shout.project / FOLDER).mkdir()
    (shout.project / FOLDER / "memslot.json5").write_text("{}", encoding="utf-8")
    done = shout("shout", "loud")
    assert "not trusted" in done.stderr
    assert records(shout) == []


def test_without_a_home_nothing_is_kept(shout) -> None:
    for file in shout.home.iterdir():
        file.unlink()
    shout.home.rmdir()
    assert shout.ok("shout", "loud") == "usual \n"
    assert not shout.home.exists()


def test_a_reader_that_goes_away_and_a_full_disk_end_it_without_a_traceback(warm) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [*warm.argv, "shout", "loud"],
        env=warm.env,
        cwd=warm.project,
        stdout=theirs,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (1, b"")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*warm.argv, "shout", "loud"],
            env=warm.env,
            cwd=warm.project,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"Error: the answer cannot be written: No space left")
    assert done.stderr.count(b"\n") == 1


def test_the_door_knows_the_same_names_as_the_config() -> None:
    assert quick._CONFIG_NAMES == CONFIG_NAMES
    assert quick._PROJECT_FOLDER == FOLDER


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ({"other loud": "a.b:c"}, "no command of this plugin"),
        ({"shout loud now": "a.b:c"}, "shout loud now"),
        ({"shout loud": "a.b"}, "a.b"),
    ],
)
def test_a_manifest_names_quick_answers_only_for_its_own_commands(entries: dict[str, str], complaint: str) -> None:
    tree = {**MANIFEST, "provides": {"commands": ["shout"], "quick": entries}}
    with pytest.raises(Exception, match=complaint):
        parse_manifest(json.dumps(tree).encode(), "memslot.plugin.json")
