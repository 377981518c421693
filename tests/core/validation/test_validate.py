"""`plugins validate`: every mistake an author can make has a line that says so."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from memslot import MemslotError
from memslot.cli.plugin_author import validate
from memslot.scaffold.package import write_package
from memslot.validation import trial


@pytest.fixture(autouse=True)
def _home(memslot_home: Path) -> None:
    """No test here may see the person's own settings."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_package("sample", "tool", tmp_path / "project")
    return tmp_path / "project"


def check(target: Path | str, *options: str) -> dict[str, Any]:
    """The answer of `validate --json`; its exit code must agree with it."""
    done = CliRunner().invoke(validate, [str(target), "--json", *options])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    answer: dict[str, Any] = json.loads(done.stdout)
    assert done.exit_code == (0 if answer["ok"] else 1)
    return answer


def problems(target: Path | str, *options: str) -> dict[str, str]:
    """What is wrong, by the name of the check."""
    plugins = check(target, *options)["plugins"]
    found: dict[str, str] = {}
    for each in (check for plugin in plugins for check in plugin["checks"] if not check["ok"]):
        found[each["name"]] = "; ".join(filter(None, (found.get(each["name"]), each["message"])))
    return found


def edit(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    tree = json.loads(file.read_text())
    change(tree)
    file.write_text(json.dumps(tree))


def manifest_of(project: Path) -> Path:
    return project / "memslot_sample" / "memslot.plugin.json"


def write_hooks(project: Path, code: str) -> None:
    (project / "memslot_sample" / "plugin.py").write_text(code)


def test_a_good_one_passes(project: Path) -> None:
    answer = check(project)
    assert answer["ok"]
    (plugin,) = answer["plugins"]
    assert plugin["id"] == "sample"
    names = [each["name"] for each in plugin["checks"]]
    assert names == ["manifest", "entry-point", "layout", "py.typed", "load", "tools"]


def test_people_get_a_line_for_each_check(project: Path) -> None:
    (project / "memslot_sample" / "__init__.py").unlink()
    done = CliRunner().invoke(validate, [str(project)])
    assert done.exit_code == 1
    assert "  ok       manifest: " in done.output
    assert "  problem  layout: there is no __init__.py" in done.output
    assert done.output.endswith("1 problem found.\n")


def test_the_current_folder_is_meant_unless_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    done = CliRunner().invoke(validate, [])
    assert done.exit_code == 0, done.output
    assert done.output.endswith("No problems found.\n")


def test_an_installed_plugin_by_its_id() -> None:
    answer = check("memory-core")
    assert answer["ok"], answer


def test_a_package_folder_alone(project: Path) -> None:
    assert check(project / "memslot_sample")["ok"]


def test_a_package_without_a_project(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "memslot_sample", tmp_path / "elsewhere" / "memslot_sample")
    assert check(tmp_path / "elsewhere" / "memslot_sample")["ok"]


def test_what_is_neither_a_folder_nor_installed() -> None:
    done = CliRunner().invoke(validate, ["nobody"])
    assert isinstance(done.exception, MemslotError)
    assert "neither a folder nor an installed plugin" in str(done.exception)


def test_a_folder_without_a_plugin(tmp_path: Path) -> None:
    done = CliRunner().invoke(validate, [str(tmp_path)])
    assert isinstance(done.exception, MemslotError)
    assert "there is no memslot.plugin.json" in str(done.exception)


# Files


def test_all_faults_of_a_manifest_are_told(project: Path) -> None:
    def spoil(tree: dict[str, Any]) -> None:
        tree.update(kind="sausage", minHostApi="one", colour="blue")
        del tree["name"]

    edit(manifest_of(project), spoil)
    told = problems(project)
    assert set(told) == {"manifest"}
    for word in ("kind", "minHostApi", "colour", "name is required"):
        assert word in told["manifest"]


def test_an_id_other_than_the_entry_points(project: Path) -> None:
    edit(manifest_of(project), lambda tree: tree.update(id="other"))
    told = problems(project)["entry-point"]
    assert 'no other = "memslot_sample.plugin"' in told
    assert "it names sample" in told


def test_an_entry_other_than_the_entry_points(project: Path) -> None:
    edit(manifest_of(project), lambda tree: tree.update(entry="memslot_sample.tools"))
    assert "they must match" in problems(project)["entry-point"]


def test_an_entry_point_outside_the_package(project: Path) -> None:
    file = project / "pyproject.toml"
    file.write_text(file.read_text().replace('"memslot_sample.plugin"', '"json"'))
    edit(manifest_of(project), lambda tree: tree.pop("entry"))
    assert "the folder of its manifest" in problems(project)["entry-point"]


def test_a_pyproject_that_cannot_be_read(project: Path) -> None:
    (project / "pyproject.toml").write_text("[project\nname=")
    assert "cannot be read" in problems(project)["entry-point"]


def test_no_init(project: Path) -> None:
    (project / "memslot_sample" / "__init__.py").unlink()
    assert "__init__.py" in problems(project)["layout"]


def test_no_py_typed_is_a_note_and_no_problem(project: Path) -> None:
    (project / "memslot_sample" / "py.typed").unlink()
    answer = check(project)
    assert answer["ok"]
    levels = {each["name"]: (each["level"], each["ok"]) for each in answer["plugins"][0]["checks"]}
    assert levels.pop("py.typed") == ("note", True)
    assert set(levels.values()) == {("ok", True)}


def test_people_see_a_note_too(project: Path) -> None:
    (project / "memslot_sample" / "py.typed").unlink()
    done = CliRunner().invoke(validate, [str(project)])
    assert done.exit_code == 0
    assert "  note     py.typed: there is no py.typed" in done.output
    assert done.output.endswith("No problems found.\n")


# Behaviour


def test_code_that_raises(project: Path) -> None:
    write_hooks(project, "raise RuntimeError('no luck')")
    assert "RuntimeError: no luck" in problems(project)["load"]


def test_code_that_ends_python(project: Path) -> None:
    write_hooks(project, "import os\nos._exit(7)")
    assert "exited with code 7" in problems(project)["load"]


def test_code_that_hangs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "TIMEOUT_SECONDS", 3.0)
    write_hooks(project, "import time\ntime.sleep(60)")
    assert "took longer than 3 s" in problems(project)["load"]


def test_the_plugin_is_not_loaded_into_this_process(project: Path, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    write_hooks(project, f"import os\nopen({str(mark)!r}, 'w').write(str(os.getpid()))")
    problems(project)
    assert int(mark.read_text()) != os.getpid()


def test_a_hook_that_does_not_exist(project: Path) -> None:
    write_hooks(project, "from memslot import hookimpl\n\n@hookimpl\ndef register_tool(ctx): ...\n")
    assert "there is no hook 'register_tool'" in problems(project)["load"]


def test_a_hook_with_an_argument_it_does_not_have(project: Path) -> None:
    write_hooks(project, "from memslot import hookimpl\n\n@hookimpl\ndef register_tools(context): ...\n")
    assert "context" in problems(project)["load"]


def test_a_hook_without_its_mark(project: Path) -> None:
    file = project / "memslot_sample" / "plugin.py"
    file.write_text(file.read_text() + "\n\ndef agent_end(ctx) -> None: ...\n")
    assert "agent_end is named like a hook, but is not marked" in problems(project)["hooks"]


def test_no_hook_at_all(project: Path) -> None:
    write_hooks(project, "")
    assert "implements no hook" in problems(project)["hooks"]


def test_a_tool_the_manifest_does_not_name(project: Path) -> None:
    edit(manifest_of(project), lambda tree: tree.pop("provides"))
    told = problems(project)
    assert set(told) == {"tools"}
    assert "registers sample, which the manifest's provides.tools does not name" in told["tools"]


def test_things_the_manifest_names_and_nobody_registers(project: Path) -> None:
    provides = {"tools": ["sample", "ghost"], "providers": ["phantom"], "commands": ["spook"]}
    edit(manifest_of(project), lambda tree: tree.update(provides=provides))
    told = problems(project)
    assert set(told) == {"tools", "providers", "commands"}
    for what, name in (("tools", "ghost"), ("providers", "phantom"), ("commands", "spook")):
        assert f"provides.{what} names {name}, which it does not register" in told[what]


def test_a_command_the_manifest_does_not_name(project: Path) -> None:
    file = project / "memslot_sample" / "plugin.py"
    more = "\n\n@hookimpl\ndef register_commands(cli) -> None:\n    cli.command('secret')(lambda: None)\n"
    file.write_text(file.read_text() + more)
    assert "registers secret" in problems(project)["commands"]


def test_a_tool_whose_schema_is_wrong(project: Path) -> None:
    code = (
        "from memslot import Tool, hookimpl\n\n@hookimpl\ndef register_tools():\n"
        "    schema = {'type': 'object', 'properties': {'x': {'type': 'wurst'}}}\n"
        "    return [Tool('sample', 'Try.', schema, print)]\n"
    )
    write_hooks(project, code)
    assert "schema is not valid" in problems(project)["register_tools"]


def test_a_hook_that_raises(project: Path) -> None:
    write_hooks(project, "from memslot import hookimpl\n\n@hookimpl\ndef register_tools():\n    1 / 0\n")
    assert "ZeroDivisionError" in problems(project)["register_tools"]


def test_a_memory_that_registers_none(project: Path) -> None:
    edit(manifest_of(project), lambda tree: tree.update(kind="memory"))
    assert "registers no memory" in problems(project)["memory"]


def test_printing_at_import_is_told(project: Path) -> None:
    file = project / "memslot_sample" / "plugin.py"
    file.write_text(file.read_text() + "\nprint('hello')\n")
    assert "printed" in problems(project)["import"]


def test_settings_that_are_required(project: Path) -> None:
    def require(tree: dict[str, Any]) -> None:
        tree["configSchema"]["properties"]["place"] = {"type": "string"}
        tree["configSchema"]["required"] = ["place"]

    edit(manifest_of(project), require)
    told = problems(project)["load"]
    assert "config.place: is required" in told
    assert "--settings" in told
    assert check(project, "--settings", '{"place": "here"}')["ok"]


@pytest.mark.parametrize("settings", ["{", "[1]", "7"])
def test_settings_that_are_no_object(project: Path, settings: str) -> None:
    done = CliRunner().invoke(validate, [str(project), "--settings", settings])
    assert done.exit_code == 2
    assert "--settings" in done.output


def test_what_lies_in_the_current_folder_is_not_imported(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    (trap / "click.py").write_text("raise SystemExit('trap')")
    monkeypatch.chdir(trap)
    assert check(project)["ok"]


def test_every_plugin_of_one_project(project: Path) -> None:
    (project / "src").mkdir()
    shutil.move(project / "memslot_sample", project / "src" / "memslot_sample")
    write_package("second", "tool", project / "second")
    shutil.move(project / "second" / "memslot_second", project / "src" / "memslot_second")
    shutil.rmtree(project / "second")
    file = project / "pyproject.toml"
    file.write_text(file.read_text().replace("sample = ", 'second = "memslot_second.plugin"\nsample = ', 1))
    assert [(plugin["id"], plugin["ok"]) for plugin in check(project)["plugins"]] == [
        ("sample", True),
        ("second", True),
    ]
