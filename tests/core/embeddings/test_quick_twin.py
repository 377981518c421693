"""A provider that can be had without the host makes the same vectors there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest
from memslot import EmbeddingPipeline, HasQuickTwin, ProviderError, QuickTwin


class Letters:
    """Counts letters."""

    id, model, dims, max_input_tokens = "letters", "l-1", 26, 1000

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def embed_query(self, text: str) -> list[float]:
        return [self.factor * text.count(chr(97 + number)) for number in range(self.dims)]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def quick_twin(self, folder: Path) -> tuple[str, dict[str, float]]:
        return "collections:OrderedDict", {"factor": self.factor}


class Short(Letters):
    def embed_query(self, text: str) -> list[float]:
        return [1.0]


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> str:
    """The way to the class, as a record has it."""
    monkeypatch.setattr("json.scanner.Letters", Letters, raising=False)
    monkeypatch.setattr("json.scanner.Short", Short, raising=False)
    return "json.scanner:Letters"


@pytest.mark.parametrize("text", ["a gate", "", "123", "x" * 500])
def test_a_twin_embeds_as_the_pipeline_does(letters: str, text: str) -> None:
    twin, pipeline = QuickTwin(letters, {"factor": 2.5}), EmbeddingPipeline(Letters(2.5))
    row, expected = twin.embed_query(text), pipeline.embed_query(text)
    assert row.dtype == numpy.float32
    assert row.tobytes() == expected.tobytes()
    assert twin.is_zero(row) == pipeline.is_zero(expected)


def test_a_vector_that_is_not_one_is_refused(letters: str) -> None:
    with pytest.raises(ProviderError, match="1 dimensions where 26 were due"):
        QuickTwin(letters.replace("Letters", "Short"), {}).embed_query("a")


def test_providers_that_have_a_twin_can_be_told(letters: str) -> None:
    assert isinstance(Letters(), HasQuickTwin)
    assert not isinstance(object(), HasQuickTwin)
    json.dumps(Letters().quick_twin(Path()))


def test_a_provider_that_has_something_to_keep_is_closed(letters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    twin = QuickTwin(letters, {})
    twin.close()
    monkeypatch.setattr(Letters, "close", lambda self: closed.append(self.id), raising=False)
    twin.close()
    assert closed == ["letters"]
