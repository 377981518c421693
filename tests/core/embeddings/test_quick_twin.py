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
    assert row.typecode == "f"
    assert numpy.allclose(row, expected, rtol=0, atol=1e-7)
    assert twin.is_zero(row) == pipeline.is_zero(expected)


def test_what_is_no_number_counts_as_nothing(letters: str, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = [float("nan"), float("inf"), -1e300, 3.0, 4.0, *[0.0] * 21]
    monkeypatch.setattr(Letters, "embed_query", lambda self, text: odd)
    row = QuickTwin(letters, {}).embed_query("a")
    assert row.tolist() == pytest.approx([0.0, 0.0, 0.0, 0.6, 0.8, *[0.0] * 21])
    assert numpy.allclose(row, EmbeddingPipeline(Letters()).embed_query("a"))


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
