"""How alike two texts are, without holding up whoever asks."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from memslot.embeddings.likeness import Likeness
from memslot.embeddings.selection import Selection
from memslot.testing import FailingProvider, HashingProvider


def test_the_cosine_of_two_texts() -> None:
    likeness = Likeness(lambda: Selection(HashingProvider(), "hashing", "asked for"))
    assert likeness("green tea", "green tea") == pytest.approx(1.0)
    alike, unlike = likeness("green tea", "green tea please"), likeness("green tea", "stock market")
    assert alike is not None
    assert unlike is not None
    assert unlike < alike < 1


@pytest.mark.parametrize(
    "selection",
    [
        Selection(None, "none", "asked for"),
        Selection(HashingProvider(), "remote", "asked for", sends_text_away=True),
        Selection(FailingProvider(), "failing", "asked for"),
    ],
)
def test_where_nobody_can_tell_there_is_none(selection: Selection) -> None:
    assert Likeness(lambda: selection)("tea", "coffee") is None


def test_an_embedder_that_hangs_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    release, asked = threading.Event(), []

    class Hanging(HashingProvider):
        def embed_documents(self, texts: Any) -> Any:
            asked.append(texts)
            release.wait(60)
            return super().embed_documents(texts)

    monkeypatch.setattr("memslot.embeddings.likeness.SECONDS", 0.05)
    likeness = Likeness(lambda: Selection(Hanging(), "hanging", "asked for"))
    assert [likeness("tea", "coffee") for _ in range(5)] == [None] * 5
    assert len(asked) == 1
    release.set()
    monkeypatch.setattr("memslot.embeddings.likeness.SECONDS", 30.0)
    while (cosine := likeness("tea", "tea")) is None:
        threading.Event().wait(0.01)
    assert cosine == pytest.approx(1.0)
