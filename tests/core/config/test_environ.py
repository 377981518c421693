from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from memslot.config.environ import replace_variables

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
plain = st.text(max_size=10).filter(lambda text: "$" not in text)


@given(plain, names, st.text(min_size=1), plain)
def test_value_is_put_in_exactly_once(before: str, name: str, value: str, after: str) -> None:
    # The value may itself look like a reference: it is not looked at again.
    done = replace_variables({"k": [f"{before}${{{name}}}{after}"]}, {name: value})
    assert done.tree == {"k": [before + value + after]}
    assert done.names == {name}
    assert done.paths == {("k", 0)}
    assert not done.problems


@given(plain, names)
def test_doubled_dollar_is_the_text_itself(before: str, name: str) -> None:
    done = replace_variables(f"{before}$${{{name}}}", {name: "value"})
    assert done.tree == f"{before}${{{name}}}"
    assert not done.names
    assert not done.problems


@given(st.text(max_size=30).filter(lambda text: "${" not in text))
def test_text_without_references_is_left_alone(text: str) -> None:
    assert replace_variables({"a": text}, {}).tree == {"a": text}


def test_a_value_that_looks_like_a_reference_is_not_expanded_again() -> None:
    assert replace_variables("${A}", {"A": "${B}", "B": "no"}).tree == "${B}"


def test_all_unset_and_empty_variables_are_reported_with_their_keys() -> None:
    tree = {"a": {"b": ["x", "${ONE}"]}, "c": "${TWO} ${THREE}", "d": 5}
    done = replace_variables(tree, {"TWO": ""})
    told = {(problem.key, problem.reason) for _, problem in done.problems}
    assert told == {
        ("a.b[1]", "needs the environment variable ONE, which is not set"),
        ("c", "needs the environment variable TWO, which is set but empty"),
        ("c", "needs the environment variable THREE, which is not set"),
    }
    assert done.names == {"ONE", "TWO", "THREE"}


def test_keys_and_odd_dollar_signs_stay() -> None:
    tree = {"${A}": 1, "b": "$A ${} ${1A} ${A-B} $ {A} ${A"}
    assert replace_variables(tree, {"A": "x"}).tree == tree
