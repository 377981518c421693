from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from memslot.config.merge import merged

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=4)
keys = st.sampled_from("abcd")
trees = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(keys, below, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(keys, trees, max_size=4)


def leaves(tree: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if isinstance(tree, dict) and tree:
        return {k: v for key, value in tree.items() for k, v in leaves(value, (*path, key)).items()}
    return {path: tree}


@given(objects)
def test_nothing_changes_when_merged_with_itself_or_with_nothing(tree: dict[str, Any]) -> None:
    assert merged(tree, tree) == merged(tree, {}) == merged({}, tree) == merged(tree) == tree


@given(objects, objects)
def test_later_layer_wins_wherever_it_speaks(first: dict[str, Any], second: dict[str, Any]) -> None:
    result = leaves(merged(first, second))
    for path, value in leaves(second).items():
        if path and value != {}:  # an empty object says nothing
            assert result[path] == value


@given(objects, objects)
def test_first_layer_fills_what_the_second_leaves_out(first: dict[str, Any], second: dict[str, Any]) -> None:
    result = merged(first, second)
    for key, value in first.items():
        if key not in second:
            assert result[key] == value


@given(objects, objects)
def test_laying_the_same_layer_over_twice_is_laying_it_once(first: dict[str, Any], second: dict[str, Any]) -> None:
    assert merged(merged(first, second), second) == merged(first, second)


@given(objects, objects)
def test_inputs_are_not_changed_and_not_shared(first: dict[str, Any], second: dict[str, Any]) -> None:
    before = copy.deepcopy((first, second))
    result = merged(first, second)

    def scribble(value: Any) -> None:
        if isinstance(value, dict):
            for item in value.values():
                scribble(item)
            value["scribbled"] = 1
        elif isinstance(value, list):
            for item in value:
                scribble(item)
            value.append("scribbled")

    scribble(result)
    assert (first, second) == before


def test_lists_replace_and_objects_merge() -> None:
    assert merged({"a": [1, 2], "b": {"x": 1, "y": 1}}, {"a": [3], "b": {"y": 2}}) == {"a": [3], "b": {"x": 1, "y": 2}}
