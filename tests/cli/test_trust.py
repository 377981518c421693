"""`memslot trust`: a project's config is ignored until the person has said so, and again after a change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PROJECT_CONFIG = '{ plugins: { slots: { memory: "none" } } }\n'


def write_project(memslot: Any, text: str = PROJECT_CONFIG) -> Path:
    file: Path = memslot.project / ".memslot" / "memslot.json5"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def slot(memslot: Any) -> tuple[str, str]:
    done = memslot("config", "get", "plugins.slots.memory")
    assert done.returncode == 0
    return done.stdout.strip(), done.stderr


def test_a_projects_config_is_ignored_with_a_warning_until_trusted(memslot) -> None:
    file = write_project(memslot)
    value, warning = slot(memslot)
    assert value == "memory-core"
    assert f"{file} is not trusted yet and was ignored" in warning
    assert "memslot trust" in warning
    assert "trusted" in memslot.ok("trust")
    assert slot(memslot) == ("none", "")


def test_a_changed_config_must_be_trusted_again(memslot) -> None:
    write_project(memslot)
    memslot.ok("trust")
    write_project(memslot, PROJECT_CONFIG + "// harmless\n")
    value, warning = slot(memslot)
    assert value == "memory-core"
    assert "has changed since you trusted it" in warning
    memslot.ok("trust")
    assert slot(memslot) == ("none", "")


def test_a_config_changed_back_is_the_one_that_was_trusted(memslot) -> None:
    write_project(memslot)
    memslot.ok("trust")
    write_project(memslot, "{}")
    assert "has changed" in slot(memslot)[1]
    write_project(memslot)
    assert slot(memslot) == ("none", "")


def test_trust_holds_for_the_folders_below(memslot) -> None:
    write_project(memslot)
    memslot.ok("trust")
    below = memslot.project / "src" / "deep"
    below.mkdir(parents=True)
    memslot.project = below
    assert slot(memslot) == ("none", "")


def test_trust_can_be_revoked(memslot) -> None:
    write_project(memslot)
    memslot.ok("trust")
    memslot.ok("trust", "--revoke")
    assert slot(memslot)[0] == "memory-core"
    done = memslot("trust", "--revoke")
    assert done.returncode == 1
    assert "was not trusted" in done.stderr


def test_what_is_trusted_can_be_listed(memslot) -> None:
    assert memslot.json("trust", "--list") == []
    file = write_project(memslot)
    assert memslot.json("trust")["trusted"] is True
    (record,) = memslot.json("trust", "--list")
    assert record["path"] == str(file)
    assert record["trustedAt"]
    assert str(file) in memslot.ok("trust", "--list")


def test_trusting_a_project_that_has_no_config_fails(memslot) -> None:
    done = memslot("trust")
    assert (done.returncode, done.stdout) == (1, "")
    assert "does not exist" in done.stderr


def test_a_project_cannot_bring_code_trusted_or_not(memslot) -> None:
    ran = memslot.folder / "ran"
    memslot.add_plugin("intruder", f"open({str(ran)!r}, 'w')\n", kind="tool")
    write_project(memslot, json.dumps({"plugins": {"load": memslot.load}}))
    listed = memslot.json("plugins", "list")
    assert "intruder" not in {plugin["id"] for plugin in listed["plugins"]}
    assert any("not trusted" in warning for warning in listed["warnings"])
    shown = memslot.ok("trust")
    assert "plugins.load.paths" in shown
    assert "can't bring code" in shown
    done = memslot("run", "hello", "--json")
    assert json.loads(done.stdout)["memory"] == "memory-core"
    assert "plugins.load.paths was ignored" in done.stderr
    assert not ran.exists()


def test_trust_shows_what_it_admits_and_asks_on_a_terminal(memslot) -> None:
    file = write_project(memslot, '{ memory: { search: { extraPaths: ["/etc"] } } }')
    assert "outside the project" in memslot.ok("trust", "--dry-run")
    assert memslot.json("trust", "--list") == []
    code, shown = memslot.on_a_terminal("trust", typed="n\n")
    assert (code, "/etc" in shown, "Trust it?" in shown) == (1, True, True)
    assert memslot.json("trust", "--list") == []
    assert memslot.on_a_terminal("trust", typed="y\n")[0] == 0
    assert len(memslot.json("trust", "--list")) == 1
    assert memslot.json("trust") == {
        "path": str(file),
        "trusted": True,
        "sets": [{"key": "memory.search.extraPaths[0]", "value": "/etc", "remark": "outside the project"}],
    }


def test_listing_without_any_trusted_project_says_so(memslot) -> None:
    assert memslot.ok("trust", "--list") == "No project is trusted.\n"


def test_a_warning_never_gets_into_json(memslot) -> None:
    write_project(memslot)
    for command in (
        ("config", "get"),
        ("paths", "--json"),
        ("plugins", "list", "--json"),
        ("config", "validate", "--json"),
    ):
        json.loads(memslot.ok(*command))


def test_every_command_that_reads_the_config_warns(memslot) -> None:
    write_project(memslot)
    for command in (("run", "hello"), ("plugins", "list"), ("config", "validate"), ("paths",), ("doctor",)):
        done = memslot(*command)
        assert "is not trusted yet" in done.stdout + done.stderr, command


def test_a_projects_own_settings_can_be_set_and_stay_trusted(memslot) -> None:
    memslot.ok("config", "set", "--project", "plugins.slots.memory", "none")
    assert slot(memslot) == ("none", "")
    memslot.ok("config", "set", "--project", "agents.defaults.memorySearch.provider", "none")
    assert slot(memslot) == ("none", "")


def test_setting_something_in_an_untrusted_project_does_not_trust_it(memslot) -> None:
    write_project(memslot)
    done = memslot("config", "set", "--project", "agents.defaults.memorySearch.provider", "none")
    assert done.returncode == 0
    assert "is not trusted" in done.stderr
    assert slot(memslot)[0] == "memory-core"
