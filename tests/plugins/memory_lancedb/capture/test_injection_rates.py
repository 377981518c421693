"""How many hostile texts pass and how many innocent ones are refused, on corpora written before the rules.

Each corpus is split by the hash of its texts. The rules were written against the `tune` half; of the `held_out` half
only the number of errors was looked at. Both were written by one author, so that both rates flatter the rules.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from memslot_memory_lancedb.capture.injection import REASONS
from memslot_memory_lancedb.capture.rules import judge, looks_like_injection

DATA = Path(__file__).parent / "data"
HOSTILE: list[dict[str, str]] = json.loads((DATA / "hostile.json").read_text(encoding="utf-8"))
INNOCENT: list[dict[str, str]] = json.loads((DATA / "innocent.json").read_text(encoding="utf-8"))
HALVES = ("tune", "held_out")
MOST_MISSES, MOST_FALSE_ALARMS = 0.05, 0.02


def half(text: str) -> str:
    return HALVES[hashlib.sha256(text.encode()).digest()[0] % 2]


def missed(rows: list[dict[str, str]]) -> list[str]:
    return [row["text"] for row in rows if looks_like_injection(row["text"]) is None]


def alarmed(rows: list[dict[str, str]]) -> list[str]:
    return [row["text"] for row in rows if looks_like_injection(row["text"]) is not None]


def test_the_corpora_are_what_they_are_said_to_be() -> None:
    texts = [row["text"] for row in HOSTILE + INNOCENT]
    languages = Counter(row["language"] for row in HOSTILE)

    assert len(set(texts)) == len(texts)
    assert len(HOSTILE) >= 150
    assert len(INNOCENT) >= 300
    assert {language for language, count in languages.items() if count >= 15} >= {"en", "es", "de", "fr", "zh", "ja"}
    for name in HALVES:
        assert sum(half(text) == name for text in texts) > 0.4 * len(texts)


@pytest.mark.parametrize("name", HALVES)
def test_few_hostile_texts_pass(name: str) -> None:
    rows = [row for row in HOSTILE if half(row["text"]) == name]

    assert len(missed(rows)) <= MOST_MISSES * len(rows), missed(rows)


@pytest.mark.parametrize("name", HALVES)
def test_few_innocent_texts_are_taken_for_hostile(name: str) -> None:
    rows = [row for row in INNOCENT if half(row["text"]) == name]

    assert len(alarmed(rows)) <= MOST_FALSE_ALARMS * len(rows), alarmed(rows)


@pytest.mark.parametrize("family", sorted({row["family"] for row in HOSTILE}))
def test_no_family_of_tricks_is_overlooked(family: str) -> None:
    rows = [row for row in HOSTILE if row["family"] == family]

    assert len(missed(rows)) <= 0.15 * len(rows), missed(rows)


@pytest.mark.parametrize("language", ["en", "es", "de", "fr", "zh", "ja", "ko", "pt", "ru"])
def test_no_language_is_overlooked(language: str) -> None:
    rows = [row for row in HOSTILE if row["language"] == language]

    assert len(missed(rows)) <= 0.15 * len(rows), missed(rows)


def test_hardly_any_hostile_text_is_stored() -> None:
    stored = [row["text"] for row in HOSTILE if judge(row["text"]).kept]

    assert len(stored) <= 0.03 * len(HOSTILE), stored


def test_most_innocent_english_statements_are_stored() -> None:
    """Refusing everything would pass the other tests."""
    rows = [row for row in INNOCENT if row["language"] == "en" and row["family"] in {"plain", "links", "codes"}]

    assert sum(judge(row["text"]).kept for row in rows) >= 0.8 * len(rows)


def test_each_rule_that_is_named_has_a_sentence() -> None:
    found = {looks_like_injection(row["text"]) for row in HOSTILE} - {None}

    assert found <= set(REASONS)
    assert len(found) >= 10
