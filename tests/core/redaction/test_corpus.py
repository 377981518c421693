"""How many secrets in public formats are caught, and how many innocent texts are touched."""

from __future__ import annotations

import pytest
from memslot import redact

from .corpus import INNOCENTS, INNOCENTS_KEPT_BACK, KEPT_BACK, SECRETS, TOKENS, secret_part
from .second_corpus import SECOND_INNOCENTS, SECOND_SECRETS

HALVES = ["worked with", "kept back"]


def is_left(text: str, secret: str) -> bool:
    """Whether the secret, or eight characters of it in a row, can still be read."""
    cleaned = redact(text)
    return any(secret[i : i + 8] in cleaned for i in range(max(1, len(secret) - 7)))


def test_the_lists_are_long_enough_to_say_something() -> None:
    assert len({text for text, _ in SECRETS}) >= 300
    assert len(set(INNOCENTS)) >= 180


@pytest.mark.parametrize("part", HALVES)
def test_nineteen_of_twenty_secrets_are_caught(part: str) -> None:
    asked = [each for i, each in enumerate(SECRETS) if (i in KEPT_BACK) == (part == "kept back")]
    missed = [text for text, secret in asked if is_left(text, secret)]
    assert len(missed) <= 0.02 * len(asked), missed


@pytest.mark.parametrize("part", HALVES)
def test_innocent_texts_are_left_alone(part: str) -> None:
    asked = [each for i, each in enumerate(INNOCENTS) if (i in INNOCENTS_KEPT_BACK) == (part == "kept back")]
    touched = [text for text in asked if redact(text) != text]
    assert len(touched) <= 0.03 * len(asked), touched


def test_a_second_authors_secrets_are_caught() -> None:
    missed = [text for text, secret in SECOND_SECRETS if is_left(text, secret)]
    assert len(SECOND_SECRETS) >= 300
    assert len(missed) <= 0.03 * len(SECOND_SECRETS), missed


def test_a_second_authors_innocent_texts_are_left_alone() -> None:
    touched = [text for text in SECOND_INNOCENTS if redact(text) != text]
    assert len(set(SECOND_INNOCENTS)) >= 200
    assert len(touched) <= 0.03 * len(SECOND_INNOCENTS), touched


@pytest.mark.parametrize("around", ["{}", "({})", '"{}"', "`{}`", "x={};", "see {}, please.", "<{}>", "a\n{}\nb"])
def test_a_token_is_found_wherever_it_stands(around: str) -> None:
    missed = [name for name, token in TOKENS.items() if is_left(around.format(token), secret_part(token))]
    assert missed == []


def test_redacting_twice_is_redacting_once() -> None:
    assert [text for text, _ in SECRETS if redact(redact(text)) != redact(text)] == []
