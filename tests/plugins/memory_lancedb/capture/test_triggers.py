"""Statements are kept and small talk is not, in nine languages."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

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


def test_every_statement_is_kept_with_its_category_and_language() -> None:
    wanted = [(True, row["category"], row["language"], row["text"]) for row in STATEMENTS]
    verdicts = [judge(row["text"]) for row in STATEMENTS]

    assert [(each.kept, each.category, each.language, each.text) for each in verdicts] == wanted


def test_no_small_talk_is_kept() -> None:
    verdicts = {row["text"]: judge(row["text"]).rule for row in SMALL_TALK}

    assert {text: rule for text, rule in verdicts.items() if rule not in {"question", "no-trigger", "too-short"}} == {}
