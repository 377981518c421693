"""A provider that really embeds, notes how it was asked, and can be told to misbehave."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from memslot.embeddings import retries
from memslot.embeddings.circuit import Circuits
from memslot.testing import HashingProvider


class WatchedProvider(HashingProvider):
    """`before` is called with the texts of each request, and may wait or raise."""

    id = "watched"
    model = "watched-1"

    def __init__(self, before: Callable[[Sequence[str]], Any] = lambda texts: None, **parts: Any) -> None:
        super().__init__(dims=16)
        self.before = before
        self.requests: list[list[str]] = []
        self.queries: list[str] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        for name, value in parts.items():
            setattr(self, name, value)

    @property
    def sent(self) -> list[str]:
        return [text for request in self.requests for text in request]

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        with self._lock:
            self.requests.append(list(texts))
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            answer = self.before(texts)
            return answer if answer is not None else super().embed_documents(texts)
        finally:
            with self._lock:
                self._at_once -= 1

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        self.before([text])
        return self._embed(text)


@pytest.fixture(scope="session")
def make_provider() -> type[WatchedProvider]:
    return WatchedProvider


@pytest.fixture
def circuits() -> Circuits:
    """Circuits of its own for each test: the process-wide ones would let one test refuse another."""
    return Circuits()


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries happen at once, and as often as in real life."""
    monkeypatch.setattr(retries, "sleep", lambda seconds: None)


@pytest.fixture
def wait_until() -> Callable[[Callable[[], bool]], None]:
    def wait(condition: Callable[[], bool]) -> None:
        until = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < until, "it did not happen within 30 s"
            time.sleep(0.005)

    return wait
