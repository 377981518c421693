"""One place of a JSON text changes, and every other character stays."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot import MemslotError, edit_json
from memslot_mcp_server.clients.draft import parse_json

KEYS = st.text(alphabet="abc\"\\/é {}[]:,'\n", max_size=5)
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=12,
    ),
    max_size=4,
)


@given(
    tree=TREES, path=st.lists(KEYS, min_size=1, max_size=3), value=TREES, indent=st.sampled_from([None, 0, 2, 4, "\t"])
)
def test_exactly_one_place_changes(tree: dict[str, Any], path: list[str], value: Any, indent: Any) -> None:
    text = json.dumps(tree, indent=indent, ensure_ascii=False)
    wanted = copy.deepcopy(tree)
    owner: Any = wanted
    for step in path[:-1]:
        if isinstance(owner, dict) and owner.get(step) is None:
            owner[step] = {}  # null holds nothing, so it may be replaced
        owner = owner[step] if isinstance(owner, dict) else None
    if not isinstance(owner, dict):
        with pytest.raises(MemslotError):
            edit_json(text, tuple(path), value)
        return
    owner[path[-1]] = value

    changed = edit_json(text, tuple(path), value)

    assert json.loads(changed) == wanted  # strict JSON stays strict JSON
    assert json.loads(edit_json(changed, tuple(path), value)) == wanted


COMMENTED = """\
// mine
{
  /* servers */ "servers": {
    "other": { "command": "x" }, // keep { this }
    // and this: "servers"
  },
  "inputs": [],
}
"""


def test_comments_and_trailing_commas_stay() -> None:
    changed = edit_json(COMMENTED, ("servers", "memslot"), {"command": "memslot"})

    assert parse_json(changed)["servers"]["memslot"] == {"command": "memslot"}
    assert changed.splitlines() == [
        "// mine",
        "{",
        '  /* servers */ "servers": {',
        '    "other": { "command": "x" }, // keep { this }',
        '    // and this: "servers"',
        '    "memslot": {',
        '      "command": "memslot"',
        "    },",
        "  },",
        '  "inputs": [],',
        "}",
    ]


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("{}", '{\n  "a": 1\n}'),
        ("{ }\n", '{\n  "a": 1\n}\n'),
        ('{"b": 2}', '{"b": 2, "a": 1}'),
        ('{"b": 2,}', '{"b": 2, "a": 1,}'),
        ('{\n\t"b": 2\n}', '{\n\t"b": 2,\n\t"a": 1\n}'),
        ('{\r\n  "b": 2\r\n}\r\n', '{\r\n  "b": 2,\r\n  "a": 1\r\n}\r\n'),
        ('{\n  "b": 2 // two\n}', '{\n  "b": 2, // two\n  "a": 1\n}'),
        ('{"a": 0, "a": 2}', '{"a": 0, "a": 1}'),
    ],
)
def test_what_is_added_looks_like_the_rest(text: str, changed: str) -> None:
    assert edit_json(text, ("a",), 1) == changed


def test_an_item_is_added_to_a_list_and_one_inside_is_changed() -> None:
    text = '{"hooks": [\n  {"x": [1, 2]} // one\n]}'

    assert parse_json(edit_json(text, ("hooks", 1), {"y": 3}))["hooks"] == [{"x": [1, 2]}, {"y": 3}]
    assert edit_json(text, ("hooks", 0, "x", 1), 9) == '{"hooks": [\n  {"x": [1, 9]} // one\n]}'


@pytest.mark.parametrize("text", ["{", "", "nonsense", '{"a": }', "[1", '{"a": "x'])
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(MemslotError):
        parse_json(text)
