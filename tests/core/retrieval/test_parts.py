"""The parts of a text: list items, paragraphs and lines that say something of their own."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot.retrieval.parts import MAX_PARTS, parts_of


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "# Home\n- Ana prefers tea\n  over coffee\n* The gate is green\n+ Ben has a boat",
            ["Ana prefers tea over coffee", "The gate is green", "Ben has a boat"],
        ),
        (
            "1. Boil the water\n2) Add the leaves\n10. Wait a while",
            ["Boil the water", "Add the leaves", "Wait a while"],
        ),
        ("- [ ] paint the fence\n- [x] call the plumber", ["paint the fence", "call the plumber"]),
        (
            "The keeper paints\nthe tower red.\n\nThe harbour is deep\nand cold in winter.",
            ["The keeper paints the tower red.", "The harbour is deep and cold in winter."],
        ),
        (
            "Ana: I like tea\nBen: I prefer coffee\nAna: so we differ",
            ["Ana: I like tea", "Ben: I prefer coffee", "Ana: so we differ"],
        ),
        (
            "| name | drink |\n|------|:-----:|\n| Ana | green tea |",
            ["| name | drink |", "| Ana | green tea |"],
        ),
        (
            "We deploy on Friday.\n```sh\nrm -rf build\n```\nWe test on Monday.",
            ["We deploy on Friday.", "We test on Monday."],
        ),
        ("- Ana prefers tea\nWe live in Porto", ["Ana prefers tea", "We live in Porto"]),
        ("安娜喜欢喝茶。\n本喜欢咖啡。\n- 大门的密码", ["安娜喜欢喝茶。", "本喜欢咖啡。", "大门的密码"]),
    ],
    ids=[
        "list items with their continuation",
        "numbered list",
        "checkboxes",
        "wrapped paragraphs",
        "dialogue",
        "table rows",
        "code is left out",
        "a sentence after a list",
        "unspaced script",
    ],
)
def test_each_thing_that_is_said_is_a_part(text: str, parts: list[str]) -> None:
    assert parts_of(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Ana prefers tea over coffee.",
        "# Drinks\n\n- Ana prefers tea over coffee.\n",
        "Ana prefers\ntea over coffee",
        "- Ana prefers tea over coffee.\n- 4711 0815\n- ok",
        "- Ana prefers tea.\n- Ana prefers tea.",
    ],
    ids=["nothing", "a sentence", "one item", "one wrapped line", "one that says something", "the same twice"],
)
def test_a_text_that_is_one_part_has_none(text: str) -> None:
    assert parts_of(text) == []


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    sentences = [f"Sentence number {number} tells of one more windmill in the north." for number in range(30)]

    parts = parts_of(" ".join(sentences))

    assert 1 < len(parts) < 10
    assert " ".join(parts) == " ".join(sentences)
    assert all(part.startswith("Sentence") and part.endswith("north.") for part in parts)


def test_a_long_paragraph_without_spaces_is_cut_between_sentences() -> None:
    parts = parts_of("".join(f"第{number}句话说的是北方的一座风车。" for number in range(60)))

    assert len(parts) > 1
    assert all(part.startswith("第") and part.endswith("。") for part in parts)


def test_a_list_of_thousands_gives_so_many_parts_and_no_more() -> None:
    parts = parts_of("\n".join(f"- fact number {number}" for number in range(5000)))

    assert parts == [f"fact number {number}" for number in range(MAX_PARTS)]


LINES = st.sampled_from(
    [
        "- Ana prefers tea",
        "  over coffee",
        "Ben: hello there",
        "# Head",
        "```",
        "| a | bread |",
        "",
        "安娜喜欢喝茶。",
        "---",
    ]
)


@given(st.lists(LINES | st.text(max_size=60), max_size=30).map("\n".join))
def test_a_part_says_nothing_that_the_text_does_not(text: str) -> None:
    parts = parts_of(text)

    assert len(parts) != 1
    assert len(parts) == len(set(parts)) <= MAX_PARTS
    words = set(re.findall(r"\w+", text))
    for part in parts:
        assert set(re.findall(r"\w+", part)) <= words
        assert "\n" not in part
