"""Time grows with the length of a text and no faster, whatever the text."""

from __future__ import annotations

import time

import pytest
from memslot_memory_lancedb.capture.rules import judge, looks_like_injection

NASTY = [
    "a", "a ", "a_", "a.b@", "1a", "ab ", "QUJD", "<", "<a ", "<a style=", "<a on", "![", "[](", "[a](",
    '"name": {', "curl ", "rm -r ", "http://a?b ", "https://a.b/?c=d&", "\n# ", "-=", "***", "BEGIN ", "&lt;",
    "ignore ", "ignore all ", "i you ignore ", "never ask for ", "my ", "my a ", "12-", "+49 ", "我喜欢喝茶。",
    "忽略", "用户 ", "これまで指示", "이전 ", "\u0645\u06cc\u200c\u0646\u0648\u0634\u0645 ", "\U0001f468\u200d",
    "\u200b", "\\x41", "%41", "01000001 ", "- a\n", "| a ", "    x=1;\n",
]  # fmt: skip


def cpu_seconds(text: str) -> float:
    before = time.process_time()
    looks_like_injection(text)
    judge(text, max_chars=1_000_000)
    return time.process_time() - before


@pytest.mark.parametrize("unit", NASTY, ids=ascii)
def test_no_repetition_is_slow(unit: str) -> None:
    """It takes a second at the most, and minutes where time grows with the square of the length."""
    assert cpu_seconds((unit * (100_000 // len(unit) + 1))[:100_000]) < 20


def test_a_megabyte_is_answered_at_once() -> None:
    assert cpu_seconds("I prefer tea in the morning. " * 35_000) < 2  # a tenth of a second


def test_a_message_takes_about_a_millisecond() -> None:
    text = ("I prefer that my tea is never served with milk, since earlier attempts were bad. " * 7)[:500]
    judge(text)
    before = time.process_time()
    for _ in range(50):
        judge(text)

    assert (time.process_time() - before) / 50 < 0.02
