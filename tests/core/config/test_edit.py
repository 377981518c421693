from __future__ import annotations

import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyjson5
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memslot.config import edit
from memslot.config.check import check_tree
from memslot.config.edit import get_value, parse_cli_value, set_value, unset_value
from memslot.config.json5_edit import set_in_text, unset_in_text
from memslot.config.keypath import KeyPath, format_key, lookup, parse_key, put
from memslot.config.merge import copied
from memslot.config.outline import outline
from memslot.config.problems import ConfigProblem
from memslot.config.starter import starter_config
from memslot.errors import ConfigError
from memslot.plugins.config_loader import parse_config

MARK = re.compile(r"/\*#\d+#\*/")
slow = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)

SCHEMA = parse_config({}, env={"MEMSLOT_HOME": "/nowhere"}).schema


def check(tree: Mapping[str, Any]) -> list[ConfigProblem]:
    return check_tree(tree, {}, SCHEMA).located(lambda finding: finding[1])


def paths_of(tree: Any, path: KeyPath = ()) -> list[KeyPath]:
    below = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [each for key, value in below for each in ((*path, key), *paths_of(value, (*path, key)))]


def without_blanks(text: str) -> str:
    return re.sub(r"\s", "", text)


def is_within(small: str, large: str) -> bool:
    """Whether every character of one text is, in order, in the other."""
    rest = iter(large)
    return all(character in rest for character in small)


@slow
@given(data=st.data())
def test_replacing_a_value_touches_nothing_else(json5: SimpleNamespace, data: st.DataObject) -> None:
    tree, text = data.draw(json5.texts(json5.objects.filter(bool)))
    path = data.draw(st.sampled_from(paths_of(tree)))
    value = data.draw(json5.values)
    entry = outline(text).entry(path)
    assert entry is not None
    after = set_in_text(text, path, value)
    assert after.startswith(text[: entry.value.start])
    assert after.endswith(text[entry.value.end :])
    assert lookup(pyjson5.decode(after), path) == value
    expected = copied(tree)
    put(expected, path, value)
    assert pyjson5.decode(after) == expected


@slow
@given(data=st.data())
def test_new_keys_are_added_and_every_comment_is_kept(json5: SimpleNamespace, data: st.DataObject) -> None:
    tree, text = data.draw(json5.texts(json5.objects))
    owners = [(), *(path for path in paths_of(tree) if isinstance(lookup(tree, path), dict | list))]
    owner = data.draw(st.sampled_from(owners))
    inside = lookup(tree, owner)
    if isinstance(inside, list):
        step: str | int = len(inside)
    else:
        step = data.draw(json5.keys.filter(lambda key: key not in inside))
    path = (*owner, step, *data.draw(st.lists(json5.keys, max_size=2)))
    value = data.draw(json5.values)
    after = set_in_text(text, path, value)
    expected = copied(tree)
    put(expected, path, value)
    assert pyjson5.decode(after) == expected
    assert MARK.findall(after) == MARK.findall(text)
    assert is_within(without_blanks(text), without_blanks(after))


@slow
@given(data=st.data())
def test_removing_a_key_keeps_every_comment_around_it(json5: SimpleNamespace, data: st.DataObject) -> None:
    tree, text = data.draw(json5.texts(json5.objects.filter(bool)))
    path = data.draw(st.sampled_from(paths_of(tree)))
    entry = outline(text).entry(path)
    assert entry is not None
    after = unset_in_text(text, path)
    expected = copied(tree)
    edit._unset(expected, path)
    assert pyjson5.decode(after) == expected
    kept = MARK.findall(text[: entry.start]) + MARK.findall(text[entry.value.end :])
    assert MARK.findall(after) == kept


@slow
@given(data=st.data())
def test_key_paths_survive_being_written_and_read(json5: SimpleNamespace, data: st.DataObject) -> None:
    steps = json5.keys | st.integers(0, 99)
    path = (data.draw(json5.keys), *data.draw(st.lists(steps, max_size=4)))
    assert parse_key(format_key(path)) == path


@pytest.mark.parametrize("key", ["", ".", "a.", ".a", "a..b", "a[", "a[x]", "a[0", "a b", "a.'b", '"a"b', "[0]"])
def test_bad_keys_are_refused(key: str) -> None:
    with pytest.raises(ConfigError, match="has a syntax error"):
        parse_key(key)


def test_lists_take_dots_and_brackets() -> None:
    tree = {"agents": {"list": [{"id": "a"}, {"id": "b"}]}, "0": {"x": 1}}
    assert get_value(tree, "agents.list[1].id") == get_value(tree, "agents.list.1.id") == "b"
    assert get_value(tree, "0.x") == 1
    with pytest.raises(ConfigError, match="is not set"):
        get_value(tree, "agents.list[2].id")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("6", 6),
        ("true", True),
        ("null", None),
        ("[1, 'a']", [1, "a"]),
        ("{a: 1}", {"a": 1}),
        ('"6"', "6"),
        ("memory-core", "memory-core"),
        ("~/notes", "~/notes"),
        ("", ""),
        ("a: b", "a: b"),
        ("[" * 5000, "[" * 5000),
        ("${KEY}", "${KEY}"),
    ],
)
def test_command_line_values(text: str, value: Any) -> None:
    assert parse_cli_value(text) == value


def file(tmp_path: Path, text: str, name: str = "c.json5") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("{}", "plugins.enabled", False, "{\n  plugins: {\n    enabled: false,\n  },\n}"),
        (
            "{\n\t'plugins': {\n\t\t'enabled': true // why\n\t}\n}\n",
            "plugins.deny",
            ["a"],
            "{\n\t'plugins': {\n\t\t'enabled': true, // why\n\t\t'deny': ['a']\n\t}\n}\n",
        ),
        (
            "{\r\n    plugins: { enabled: true }, // x\r\n}\r\n",
            "memory.citations",
            "on",
            '{\r\n    plugins: { enabled: true }, // x\r\n    memory: {\r\n        citations: "on",\r\n    },\r\n}\r\n',
        ),
        (
            "{ plugins: { enabled: true } }",
            "plugins.slots.memory",
            "none",
            '{ plugins: { enabled: true, slots: { memory: "none" } } }',
        ),
        (
            "{ plugins: { enabled: true, } }",
            "plugins.deny",
            [],
            "{ plugins: { enabled: true, deny: [], } }",
        ),
        (
            "{\n  plugins: {\n    // allow: [],\n  },\n}",
            "plugins.allow",
            ["x", "y"],
            '{\n  plugins: {\n    // allow: [],\n    allow: ["x", "y"],\n  },\n}',
        ),
        ("{plugins: null}", "plugins.enabled", True, "{plugins: { enabled: true }}"),
        ("{ /* later */ }", "plugins", {}, "{ /* later */ plugins: {} }"),
    ],
)
def test_new_text_looks_like_the_persons_own(tmp_path: Path, before: str, key: str, value: Any, after: str) -> None:
    path = file(tmp_path, before)
    assert set_value(path, key, value, check=check) is True
    assert path.read_bytes().decode() == after


def test_strict_json_stays_strict_json(tmp_path: Path) -> None:
    import json

    path = file(tmp_path, '{\n  "plugins": {"enabled": true}\n}\n', "c.json")
    set_value(path, "memory.citations", "on", check=check)
    set_value(path, "agents.list[0].id", "a", check=check)
    assert json.loads(path.read_text())["agents"] == {"list": [{"id": "a"}]}
    unset_value(path, "agents", check=check)
    unset_value(path, "memory", check=check)
    assert path.read_text() == '{\n  "plugins": {"enabled": true}\n}\n'


def test_set_then_unset_gives_the_starter_back(tmp_path: Path) -> None:
    path = file(tmp_path, starter_config())
    for key, value, added in [
        ("plugins.entries.memory-core.config", {"a": 1}, "plugins.entries"),
        ("agents.list[0]", {"id": "x"}, "agents.list"),
        ("$schema", "s", "$schema"),
    ]:
        assert set_value(path, key, value, check=check)
        assert get_value(pyjson5.decode(path.read_text()), key) == value
        assert unset_value(path, added, check=check)
    assert path.read_text() == starter_config()


def test_missing_file_is_created_private(tmp_path: Path) -> None:
    path = tmp_path / "new/home/memslot.json5"
    assert set_value(path, "memory.citations", "off", check=check)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert pyjson5.decode(path.read_text()) == {"memory": {"citations": "off"}}


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o400])
def test_mode_of_an_existing_file_is_kept(tmp_path: Path, mode: int) -> None:
    path = file(tmp_path, "{}")
    path.chmod(mode)
    set_value(path, "memory.citations", "off", check=check)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_symlink_and_byte_order_mark_are_kept(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json5"
    real.write_bytes(b"\xef\xbb\xbf{}")
    (tmp_path / "c.json5").symlink_to(real)
    set_value(tmp_path / "c.json5", "memory.citations", "off", check=check)
    assert (tmp_path / "c.json5").is_symlink()
    assert real.read_bytes().startswith(b"\xef\xbb\xbf{")
    assert b"off" in real.read_bytes()


def test_setting_what_is_there_writes_nothing(tmp_path: Path) -> None:
    path = file(tmp_path, "{memory: {citations: 'off'}, plugins: {enabled: true}}")
    before = path.stat()
    assert set_value(path, "memory.citations", "off", check=check) is False
    assert unset_value(path, "memory.backend", check=check) is False
    assert unset_value(path, "nothing.here[3].x", check=check) is False
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_unset_of_a_missing_file_makes_no_file(tmp_path: Path) -> None:
    assert unset_value(tmp_path / "c.json5", "memory", check=check) is False
    assert not (tmp_path / "c.json5").exists()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("memory.citations", "onn", 'did you mean "on"'),
        ("memory.citation", "on", 'did you mean "citations"'),
        ("plugins.enabled", 1, "true or false"),
        ("plugins.entries.x.enabld", True, 'did you mean "enabled"'),
        ("plugins.entries.x", 3, "must be an object"),
        ("agents.defaults.apiKey", "${SURELY_NOT_SET}", "SURELY_NOT_SET"),
        ("agents.list[0].name", "x", "agents.list[0].id: is required"),
        ("agents.list[2].id", "x", "[0]"),
        ("memory.backend.x", 1, "single value"),
        ("memory.citations", "\ud800", "not valid Unicode"),
        ("plugins.entries.x.config.n", 1 << 5000, "too large"),
        ("plugins.entries.x.config.n", {1, 2}, "set"),
    ],
)
def test_invalid_result_is_refused_and_nothing_is_written(tmp_path: Path, key: str, value: Any, said: str) -> None:
    path = file(tmp_path, "{memory: {backend: 'qmd'}} // keep")
    with pytest.raises(ConfigError) as caught:
        set_value(path, key, value, check=check)
    assert said in str(caught.value)
    assert path.read_text() == "{memory: {backend: 'qmd'}} // keep"


def test_broken_file_can_be_repaired_step_by_step(tmp_path: Path) -> None:
    path = file(tmp_path, "{plugins: {enabled: 'yes', slot: 1}, agents: {list: [{x: 1}, {id: 'b', y: 1}]}}")
    with pytest.raises(ConfigError, match="no"):
        set_value(path, "plugins.enabled", "no", check=check)  # still wrong, and the person just said so
    with pytest.raises(ConfigError, match="slott"):
        set_value(path, "plugins.slott", 1, check=check)  # one more
    assert set_value(path, "plugins.enabled", True, check=check)
    assert set_value(path, "memory.citations", "on", check=check)  # has nothing to do with it
    assert unset_value(path, "agents.list[0]", check=check)  # what is wrong with [1] is now wrong with [0]
    assert unset_value(path, "agents.list[0].y", check=check)
    assert unset_value(path, "plugins.slot", check=check)
    assert parse_config(pyjson5.decode(path.read_text()), env={}).config.agent_ids() == ["b"]


def test_file_that_cannot_be_parsed_is_left_alone(tmp_path: Path) -> None:
    path = file(tmp_path, "{a: 1 b: 2}")
    with pytest.raises(ConfigError, match="line 1, column 7"):
        set_value(path, "memory.citations", "on", check=check)
    assert path.read_text() == "{a: 1 b: 2}"


def test_what_the_check_refuses_is_not_written(tmp_path: Path) -> None:
    def no_x(tree: Any) -> list[ConfigProblem]:
        return [ConfigProblem("plugins.entries.p.config.x", "is not wanted")] if "x" in str(tree) else []

    path = file(tmp_path, "{}")
    with pytest.raises(ConfigError, match="is not wanted"):
        set_value(path, "plugins.entries.p.config.x", 1, check=no_x)
    assert set_value(path, "plugins.entries.p.config.y", 1, check=no_x)


TOML = """\
# mine
[plugins]
enabled = true   # because

[agents.defaults]
workspace = 'x'

[[agents.list]]
id = "a" # first
"""


def test_toml_edits_keep_comments(tmp_path: Path) -> None:
    path = file(tmp_path, TOML, "c.toml")
    set_value(path, "plugins.enabled", False, check=check)
    assert path.read_text() == TOML.replace("true", "false")
    set_value(path, "agents.list[1].id", "b", check=check)
    set_value(path, "agents.list[0].name", "A", check=check)
    set_value(path, 'plugins.entries."a.b".config.deep', {"k": [1, {"z": 2.5}]}, check=check)
    set_value(path, "memory.search.query.maxResults", 3, check=check)
    tree = tomllib.loads(path.read_text())
    assert tree["agents"]["list"] == [{"id": "a", "name": "A"}, {"id": "b"}]
    assert tree["plugins"]["entries"] == {"a.b": {"config": {"deep": {"k": [1, {"z": 2.5}]}}}}
    assert tree["memory"] == {"search": {"query": {"maxResults": 3}}}
    for comment in ("# mine", "# because", "# first"):
        assert comment in path.read_text()
    assert unset_value(path, "agents.list[0]", check=check)
    assert unset_value(path, "agents.defaults.workspace", check=check)
    assert unset_value(path, "agents.defaults.workspace", check=check) is False
    assert tomllib.loads(path.read_text())["agents"] == {"defaults": {}, "list": [{"id": "b"}]}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("agents.defaults.model", None, "null"),
        ("plugins.enabled.x", 1, "single value"),
        ("agents.list[5].id", "x", "append"),
        ("memory.citations", "onn", "did you mean"),
    ],
)
def test_toml_refusals(tmp_path: Path, key: str, value: Any, said: str) -> None:
    path = file(tmp_path, TOML, "c.toml")
    with pytest.raises(ConfigError, match=said):
        set_value(path, key, value, check=check)
    assert path.read_text() == TOML


def test_toml_file_is_created(tmp_path: Path) -> None:
    set_value(tmp_path / "c.toml", "agents.list[0].id", "x", check=check)
    assert tomllib.loads((tmp_path / "c.toml").read_text()) == {"agents": {"list": [{"id": "x"}]}}
