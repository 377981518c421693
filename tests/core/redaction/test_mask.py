"""One mask for settings and error messages: known secrets, and whatever looks like one."""

from __future__ import annotations

import pytest
from memslot import SecretMask


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("bad key abcd-efgh-ijkl-mnop!", "bad key ***!"),
        ("bad key abcd-efgh-...", "bad key ***..."),
        ("ends with ijkl-mnop", "ends with ***"),
        ("encoded a%2Fb%2Bc%3D%3D12345678", "encoded ***"),
        ("abcd is a word", "abcd is a word"),
    ],
)
def test_a_known_secret_and_pieces_of_it_are_masked(told: str, shown: str) -> None:
    assert SecretMask(["abcd-efgh-ijkl-mnop", "a/b+c==12345678", ""])(told) == shown


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("refused hf_" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z12", "refused ***"),
        ("sk-short", "***"),
        ("Bearer abc", "***"),
        ("https://api.example/v1?key=abc123&page=2", "https://api.example/v1?key=***&page=2"),
        ("https://me:s3cretpass@api.example", "https://me:***@api.example"),
        ("https://api.example/v1?key=${MY_KEY}", "https://api.example/v1?key=${MY_KEY}"),
        ("connection refused", "connection refused"),
    ],
)
def test_what_looks_like_a_secret_is_masked(told: str, shown: str) -> None:
    assert SecretMask()(told) == shown


def test_a_short_secret_is_masked_whole_and_a_tiny_one_not_at_all() -> None:
    assert SecretMask(["abcdef", "no"])("abcdef is no word") == "*** is no word"


def test_the_mask_does_not_show_what_it_knows() -> None:
    assert "abcdefgh" not in repr(SecretMask(["abcdefgh"]))
