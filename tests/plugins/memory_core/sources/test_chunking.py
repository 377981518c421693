from __future__ import annotations

import hashlib
import itertools
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot_memory_core.sources.chunking import Chunk, chunk_lines, max_weight, weigh

# Every plane, and what a chunker trips over.
PLANES = st.characters(exclude_categories=("Cs",), exclude_characters="\n\r")
TRICKY = st.sampled_from(list("ab .\t漢かカ한ᄀ、。ａｱ\u0301\u200d\u3000👩💻🇵🇱\U00020000\U0003134a\U000e0100"))
LINE = st.one_of(
    st.text(TRICKY, max_size=200),
    st.text(PLANES, max_size=60),
    st.builds(lambda text, times: text * times, st.text(TRICKY, max_size=4), st.integers(0, 300)),
    st.just(""),
)
LINES = st.lists(LINE, max_size=30)
SIZES = st.tuples(st.integers(1, 60), st.integers(0, 80))


def cut(lines: list[str], size: tuple[int, int], numbers: list[int] | None = None) -> list[Chunk]:
    return chunk_lines(lines, numbers, tokens=size[0], overlap=size[1])


@settings(max_examples=300, deadline=None)
@given(LINES, SIZES)
def test_every_line_that_says_something_is_in_a_chunk_at_its_own_number(
    lines: list[str], size: tuple[int, int]
) -> None:
    chunks = cut(lines, size)
    shown: dict[int, set[str]] = {}
    parts: dict[int, str] = {}
    for chunk in chunks:
        texts = chunk.text.split("\n")
        assert len(texts) == chunk.end_line - chunk.start_line + 1
        for number, text in enumerate(texts, chunk.start_line):
            shown.setdefault(number, set()).add(text)
            parts[number] = parts.get(number, "") + text
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if weigh(line) <= max_weight(size[0]):
            assert shown[number] == {line}
        else:  # blank parts of a long line are dropped with their chunk
            assert "".join(parts[number].split()) == "".join(line.split())


@settings(max_examples=300, deadline=None)
@given(LINES, SIZES)
def test_chunks_are_ordered_within_size_and_reproducible(lines: list[str], size: tuple[int, int]) -> None:
    chunks = cut(lines, size)
    assert chunks == cut(list(lines), size)
    for chunk in chunks:
        assert weigh(chunk.text) <= max_weight(size[0])
        assert chunk.text.strip()
        assert 1 <= chunk.start_line <= chunk.end_line <= len(lines)
        assert chunk.hash == hashlib.sha256(chunk.text.encode()).hexdigest()
    for one, two in itertools.pairwise(chunks):
        assert one.start_line <= two.start_line
        assert one.end_line <= two.end_line
        assert one.start_line < two.start_line or not two.begins_line


@settings(max_examples=200, deadline=None)
@given(LINES, SIZES, st.data())
def test_cutting_can_be_taken_up_at_any_chunk_that_begins_a_line(
    lines: list[str], size: tuple[int, int], data: st.DataObject
) -> None:
    chunks = cut(lines, size)
    beginnings = [at for at, chunk in enumerate(chunks) if chunk.begins_line]
    if not beginnings:
        return
    at = data.draw(st.sampled_from(beginnings))
    first = chunks[at].start_line
    rest = lines[first - 1 :]
    assert cut(rest, size, list(range(first, len(lines) + 1))) == chunks[at:]


def test_a_chunk_begins_with_the_last_lines_of_the_one_before_it() -> None:
    lines = [f"line {number:02}" + "." * 12 for number in range(1, 21)]  # 20 characters with the line end: 19 + 1
    chunks = chunk_lines(lines, None, tokens=25, overlap=10)  # 100 characters, 40 carried
    assert [(chunk.start_line, chunk.end_line) for chunk in chunks] == [
        (1, 5),
        (4, 8),
        (7, 11),
        (10, 14),
        (13, 17),
        (16, 20),
    ]
    assert chunks[0].text == "\n".join(lines[:5])


def test_the_overlap_gives_way_to_a_line_that_needs_the_room() -> None:
    lines = ["a" * 40, "b" * 40, "c" * 90]
    chunks = chunk_lines(lines, None, tokens=25, overlap=20)
    assert [(chunk.start_line, chunk.end_line) for chunk in chunks] == [(1, 2), (3, 3)]


def test_parts_of_a_line_are_not_carried_over() -> None:
    lines = ["x" * 110, "a" * 60, "b" * 60]
    chunks = chunk_lines(lines, None, tokens=25, overlap=20)
    assert [(chunk.start_line, chunk.end_line, chunk.begins_line) for chunk in chunks] == [
        (1, 1, True),
        (1, 2, False),
        (3, 3, True),
    ]


def test_a_part_that_was_cut_early_shares_its_chunk_with_the_line_above() -> None:
    chunks = chunk_lines(["# Head", "x" * 80 + " " + "y" * 90], None, tokens=25, overlap=0)
    assert [chunk.text for chunk in chunks] == ["# Head\n" + "x" * 80 + " ", "y" * 90]


def test_an_overlap_as_large_as_a_chunk_still_comes_to_an_end() -> None:
    chunks = chunk_lines(["x" * 10] * 50, None, tokens=10, overlap=500)
    assert chunks[-1].end_line == 50
    assert [chunk.start_line for chunk in chunks] == sorted({chunk.start_line for chunk in chunks})


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("", 0),
        ("plain", 5),
        ("café", 4),
        ("Привет", 6),
        ("漢字", 8),
        ("ひらカタ", 16),
        ("ｶﾅ", 8),
        ("한국", 8),
        ("\u1112\u1161", 8),
        ("ㄅ", 4),
        ("。「", 8),
        ("Ａ！", 8),
        ("\U00020000\U0002a700\U0002f800\U00030000\U00031350", 20),
        ("ปี", 2),
        ("😀", 1),
        ("a漢b", 6),
    ],
)
def test_cjk_characters_weigh_a_token_each(text: str, weight: int) -> None:
    assert weigh(text) == weight


def test_line_numbers_are_the_ones_given() -> None:
    chunks = chunk_lines(["one", "two"], [7, 19], tokens=400, overlap=80)
    assert [(chunk.start_line, chunk.end_line) for chunk in chunks] == [(7, 19)]


def test_blank_lines_alone_are_no_chunk() -> None:
    assert chunk_lines(["", "  ", "\t", "\u3000" * 500], None, tokens=10, overlap=5) == []
    assert chunk_lines([], None, tokens=10, overlap=5) == []


def test_a_long_line_is_cut_between_words() -> None:
    line = "Every word of this very long line should stay in one piece. " * 20
    chunks = chunk_lines([line], None, tokens=25, overlap=5)
    assert "".join(chunk.text for chunk in chunks) == line
    assert {word for chunk in chunks for word in chunk.text.split()} == set(line.split())
    assert [chunk.begins_line for chunk in chunks] == [True] + [False] * (len(chunks) - 1)
    assert {(chunk.start_line, chunk.end_line) for chunk in chunks} == {(1, 1)}


@pytest.mark.parametrize("cluster", ["e\u0301", "कि", "👩\u200d💻", "👍\U0001f3fd", "\u1112\u1161\u11ab", "☺\ufe0f"])
def test_a_long_line_is_not_cut_inside_a_character_as_people_see_it(cluster: str) -> None:
    for shift in range(len(cluster)):
        line = "x" * shift + cluster * 300
        chunks = chunk_lines([line], None, tokens=10, overlap=0)
        assert "".join(chunk.text for chunk in chunks) == line
        for chunk in chunks[1:]:
            assert chunk.text.startswith(cluster)


@pytest.mark.parametrize(
    "line",
    ["x" * 10_000_000, "word " * 2_000_000, "漢" * 3_400_000, "漢a" * 2_500_000, "a" + "\u0301" * 5_000_000],
    ids=["no spaces", "words", "han", "mixed", "accents"],
)
def test_a_line_of_ten_megabytes_takes_no_time_worth_mentioning(line: str) -> None:
    begin = time.process_time()
    chunks = chunk_lines([line], None, tokens=400, overlap=80)
    assert time.process_time() - begin < 4  # about 0.1 to 0.7 s; quadratic work would take minutes
    assert "".join(chunk.text for chunk in chunks) == line
    assert max(weigh(chunk.text) for chunk in chunks) <= 1600


def test_every_plane_survives() -> None:
    lines = []
    for plane in range(17):
        characters = [chr(plane * 0x10000 + code) for code in range(0, 0x10000, 97)]
        lines.append("".join(c for c in characters if unicodedata.category(c) != "Cs" and c not in "\n\r"))
    text = "".join("".join(chunk.text for chunk in chunk_lines([line], None, tokens=8, overlap=2)) for line in lines)
    assert text == "".join(lines)
