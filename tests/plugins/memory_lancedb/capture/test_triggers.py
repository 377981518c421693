"""Statements are kept and small talk is not, in nine languages."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from memslot_memory_lancedb.capture.rules import judge

DATA = Path(__file__).parent / "data"
STATEMENTS: list[dict[str, str]] = json.loads((DATA / "statements.json").read_text(encoding="utf-8"))
SMALL_TALK: list[dict[str, str]] = json.loads((DATA / "small_talk.json").read_text(encoding="utf-8"))
LANGUAGES = {"en", "es", "de", "fr", "pt", "cs", "zh", "ja", "ko"}


def test_every_language_has_examples() -> None:
    for rows in (STATEMENTS, SMALL_TALK):
        counts = Counter(row["language"] for row in rows)
        assert set(counts) == LANGUAGES
        assert min(counts.values()) >= 8


@pytest.mark.parametrize("row", STATEMENTS, ids=lambda row: f"{row['language']}: {row['text']}")
def test_a_statement_is_kept(row: dict[str, str]) -> None:
    verdict = judge(row["text"])

    assert verdict.kept, verdict.reason
    assert (verdict.category, verdict.language) == (row["category"], row["language"])
    assert verdict.text == row["text"]


@pytest.mark.parametrize("row", SMALL_TALK, ids=lambda row: f"{row['language']}: {row['text']}")
def test_small_talk_is_not_kept(row: dict[str, str]) -> None:
    verdict = judge(row["text"])

    assert verdict.rule in {"question", "no-trigger", "too-short"}, verdict
