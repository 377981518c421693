"""What QMD prints is read, whatever comes with it; what is no answer is an error."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memslot_memory_core.qmd.errors import QmdError
from memslot_memory_core.qmd.output import missing_vectors, read_rows

ROW = {"docid": "#a1", "score": 0.61, "file": "qmd://notes/a b/ü#1.md", "line": 7, "title": "T"}


def row(**changes: Any) -> dict[str, Any]:
    return {**ROW, "snippet": "@@ -6,3 @@ (5 before, 9 after)\nold\nnew\n", **changes}


def test_file_lines_and_text_are_taken_apart() -> None:
    [found] = read_rows(json.dumps([row()], indent=2))

    assert (found.collection, found.path) == ("notes", "a b/ü#1.md")
    assert (found.start_line, found.line_count, found.text) == (6, 3, "old\nnew\n")
    assert found.score == 0.61
    assert not found.is_cut


def test_text_without_a_header_begins_at_the_line_that_is_named() -> None:
    [found] = read_rows(json.dumps([row(snippet="just text")]))

    assert (found.start_line, found.text) == (7, "just text")


def test_name_of_another_index_is_no_part_of_the_path() -> None:
    [found] = read_rows(json.dumps([row(file="qmd://notes/why?.md?index=work")]))

    assert found.path == "why?.md"


@pytest.mark.parametrize(
    "before", ["Warning: 3 documents need embeddings\n", "[1/2] memory\n", "[warn] slow\n[12] x\n", "(node:1) Note\n\n"]
)
@pytest.mark.parametrize("after", ["", "\n", "\nIf qmd behaves unexpectedly, run qmd doctor.\n"])
def test_warnings_around_the_results_do_no_harm(before: str, after: str) -> None:
    assert len(read_rows(before + json.dumps([row(), row()], indent=2) + after)) == 2


@pytest.mark.parametrize("stdout", ["[]", "[]\n", "No results found.\n"])
def test_nothing_found_is_an_answer(stdout: str) -> None:
    assert read_rows(stdout) == []


@pytest.mark.parametrize(
    "stdout",
    ["", "  \n", "{}", '"text"', "[1, 2]", '[{"file": ', "null", "[" * 100_000, '[{"score": 1}]']
    + [json.dumps([row(file=file)]) for file in (None, 3, "", "notes/a.md", "qmd://notes", "qmd://notes/")]
    + [json.dumps([row(snippet=7)])],
)
def test_what_is_no_answer_is_an_error(stdout: str) -> None:
    with pytest.raises(QmdError, match=r"QMD (printed|did not print)"):
        read_rows(stdout)


@pytest.mark.parametrize(
    ("given_score", "shown"),
    [(1.7, 1.0), (-3, 0.0), (True, 1.0), ("0.9", 0.0), (None, 0.0), (float("nan"), 0.0), (float("inf"), 0.0)],
)
def test_score_is_always_between_0_and_1(given_score: Any, shown: float) -> None:
    [found] = read_rows(json.dumps([row(score=given_score)]))

    assert found.score == shown


@given(st.text())
def test_any_text_gives_rows_or_the_one_error(stdout: str) -> None:
    with contextlib.suppress(QmdError):
        assert isinstance(read_rows(stdout), list)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "file": st.text(min_size=1).map(lambda path: f"qmd://notes/{path}"),
                "snippet": st.text(),
                "score": st.floats() | st.integers(),
                "line": st.integers() | st.none() | st.text(),
            }
        ),
        min_size=1,
    )
)
def test_rows_keep_their_number_and_order(rows: list[dict[str, Any]]) -> None:
    found = read_rows(json.dumps(rows, indent=2))

    assert len(found) == len(rows)
    for one, other in zip(found, rows, strict=True):
        assert other["file"].startswith(f"qmd://notes/{one.path}")
        assert 0 <= one.score <= 1
        assert one.start_line is None or one.start_line >= 0


def test_missing_vectors_are_counted() -> None:
    warning = "Warning: 3 documents (100%) need embeddings. Run 'qmd embed' for better results.\n"

    assert missing_vectors(warning) == (3, 100)
    assert missing_vectors("all is well") is None
