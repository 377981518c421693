from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyjson5
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memslot.config.outline import Node, outline


def agree(text: str, node: Node, value: Any) -> None:
    assert pyjson5.decode(text[node.start : node.end]) == value
    if isinstance(value, dict):
        assert node.kind == "object"
        assert [entry.key for entry in node.entries] == list(value)
    elif isinstance(value, list):
        assert node.kind == "array"
        assert len(node.entries) == len(value)
    else:
        assert node.kind == "scalar"
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for entry, item in zip(node.entries, below, strict=True):
        agree(text, entry.value, item)
        if entry.comma is not None:
            assert text[entry.comma] == ","


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_positions_agree_with_the_parser(json5: SimpleNamespace, data: st.DataObject) -> None:
    tree, text = data.draw(json5.texts(json5.values))
    assert pyjson5.decode(text) == tree
    agree(text, outline(text).root, tree)


@pytest.mark.parametrize(
    "text",
    [
        "{a:1,'b':\"x\",\"c\":'y',}",
        "{ // c }\n a /* : */ : /* 1 */ +0x1F /* , */ , }",
        '{"a\\\nb": "c\\\r\nd", $_é: -Infinity, n: NaN, i: +Infinity, f: .5, g: 5., h: 1e3}',
        "{\\u0061b: 1, '\\x41\\'': 2, \"\\\"\": 3}",
        "\ufeff [1, [2, {}], [], {x: []},]\n// end",
        "{a:/* x\n */\u2028null//y\u2029,b:true}",
        "{𝒳: 1, ünï: 2, null: 3, true: 4}",
    ],
)
def test_known_oddities(text: str) -> None:
    value = pyjson5.decode(text)
    node = outline(text).root
    assert [entry.key for entry in node.entries] == (list(value) if isinstance(value, dict) else [None] * len(value))
    below = value.values() if isinstance(value, dict) else value
    for entry, item in zip(node.entries, below, strict=True):
        assert repr(pyjson5.decode(text[entry.value.start : entry.value.end])) == repr(item)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_are_counted_for_every_kind_of_newline(newline: str) -> None:
    found = outline(newline.join(["{", " a: 1,", " b: [", "  2,", "  {c: 3}", " ]", "}"]))
    assert [found.line_of(path) for path in (("a",), ("b",), ("b", 0), ("b", 1, "c"))] == [2, 3, 4, 5]
    assert found.line_of(("b", 1, "missing")) == 5
    assert found.line_of(("missing",)) is None
    assert found.position(found.text.index("c:")) == (5, 4)


def test_duplicate_keys_are_found_with_both_lines() -> None:
    found = outline("{a: 1,\n b: [{x: 1, y: 2,\n \"x\": 3}],\n '\\u0061': 4}").duplicates()
    assert [(each.path, each.first_line, each.second_line) for each in found] == [(("b", 0, "x"), 2, 3), (("a",), 1, 4)]
