from __future__ import annotations

from collections.abc import Callable

import pytest
from memslot_memory_core.index.vectors.engine_choice import LARGE, Choice, choose_engine


def loads(**lacks: str) -> Callable[[str], str | None]:
    return lambda name: lacks.get(name.replace("-", "_"))


ALL = loads()


def test_sqlite_vec_is_the_default() -> None:
    assert choose_engine("auto", rows=1000, dims=256, loads=ALL) == Choice(
        "sqlite-vec", "the default up to 7,812 vectors of 256 dimensions"
    )


@pytest.mark.parametrize(("rows", "dims"), [(10_000, 256), (LARGE, 1), (1400, 1536), (1_000_000, 256)])
def test_vec1_takes_over_where_there_is_much_to_compare(rows: int, dims: int) -> None:
    expected = "vec1" if dims > 1 else "sqlite-vec"

    assert choose_engine("auto", rows=rows, dims=dims, loads=ALL).name == expected


def test_an_index_at_the_border_is_not_rewritten_time_and_again() -> None:
    border = LARGE // 256 + 1
    below = border - 100

    assert choose_engine("auto", rows=below, dims=256, loads=ALL, current="vec1").name == "vec1"
    assert choose_engine("auto", rows=below, dims=256, loads=ALL, current="sqlite-vec").name == "sqlite-vec"
    assert choose_engine("auto", rows=border, dims=256, loads=ALL, current="sqlite-vec").name == "vec1"
    assert choose_engine("auto", rows=border // 2 - 10, dims=256, loads=ALL, current="vec1").name == "sqlite-vec"


def test_the_other_extension_helps_out_and_the_reason_says_why() -> None:
    choice = choose_engine("auto", rows=10, dims=256, loads=loads(sqlite_vec="it is not installed"))

    assert choice == Choice("vec1", "sqlite-vec is not available: it is not installed")
    assert choose_engine("auto", rows=10**6, dims=256, loads=loads(vec1="too old")) == Choice(
        "sqlite-vec", "vec1 is not available: too old"
    )


def test_without_extensions_numpy_works_and_both_reasons_are_told() -> None:
    choice = choose_engine("auto", rows=10, dims=256, loads=loads(sqlite_vec="no file", vec1="too old"))

    assert choice == Choice("numpy", "no extension is available; sqlite-vec: no file; vec1: too old")


@pytest.mark.parametrize("name", ["sqlite-vec", "vec1", "numpy"])
def test_a_wish_is_followed_at_every_size(name: str) -> None:
    for rows in (1, 10**7):
        assert choose_engine(name, rows=rows, dims=256, loads=ALL) == Choice(name, "set in the config")  # type: ignore[arg-type]


def test_a_wish_that_cannot_be_followed_ends_at_numpy_with_the_reason() -> None:
    choice = choose_engine("vec1", rows=10, dims=256, loads=loads(vec1="this build of apsw does not include vec1"))

    assert choice.name == "numpy"
    assert choice.reason == "vec1 is configured but not available: this build of apsw does not include vec1"


@pytest.mark.parametrize(
    ("dims", "name"), [(4096, "vec1"), (4097, "sqlite-vec"), (8192, "sqlite-vec"), (8193, "numpy")]
)
def test_what_an_extension_cannot_hold_goes_to_one_that_can(dims: int, name: str) -> None:
    assert choose_engine("auto", rows=100_000, dims=dims, loads=ALL).name == name


def test_vec1_cannot_be_had_for_single_numbers() -> None:
    assert "2 to 4,096" in choose_engine("vec1", rows=1, dims=1, loads=ALL).reason
