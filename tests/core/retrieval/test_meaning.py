"""A text counts by how much it stands out of a query's noise, with any embedder and in any memory."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest
from memslot.retrieval import Background, MeaningScale, background_texts, chance
from numpy.typing import NDArray

DIMS = 96
STATEMENTS, QUESTIONS = 224, 32
Rows = NDArray[numpy.float32]


def units(rows: Rows) -> Rows:
    return numpy.asarray(rows / numpy.linalg.norm(rows, axis=-1, keepdims=True), dtype=numpy.float32)


class Embedder:
    """Random directions; questions have something in common, and so may all texts of a topic."""

    def __init__(self, seed: int = 1) -> None:
        self._random = numpy.random.default_rng(seed)
        self._asking = self.one()

    def some(self, count: int, *, about: Rows | None = None) -> Rows:
        rows = units(self._random.normal(size=(count, DIMS)))
        return rows if about is None else units(rows + about)

    def one(self) -> Rows:
        return self.some(1)[0]

    def ask(self, text: Rows) -> Rows:
        """A question that this text answers."""
        return units(text + self._asking + 0.5 * self.one())

    def background(self) -> Background:
        return Background.from_vectors(
            numpy.concatenate((self.some(STATEMENTS), self.some(QUESTIONS, about=self._asking)))
        )


@pytest.fixture
def embedder() -> Embedder:
    return Embedder()


def zs(background: Background | None, texts: Rows, query: Rows) -> Rows:
    scale = MeaningScale(background, texts)
    focused = scale.focus(query)
    noise = scale.noise(focused)
    assert noise is not None
    return numpy.array([noise.z(float(cosine)) for cosine in texts @ focused])


class TestBackground:
    def test_it_is_one_text_after_another(self) -> None:
        texts = background_texts()

        assert len(texts) == len(set(texts)) == STATEMENTS + QUESTIONS

    def test_it_is_read_as_it_was_written(self, embedder: Embedder) -> None:
        written = embedder.background()

        read = Background.from_bytes(written.to_bytes(), DIMS)

        assert read is not None
        assert read.statements == pytest.approx(written.statements, abs=1e-3)
        assert read.questions == pytest.approx(written.questions, abs=1e-3)

    def test_that_of_other_texts_or_another_embedder_is_not_read(self, embedder: Embedder) -> None:
        blob = embedder.background().to_bytes()

        assert Background.from_bytes(b"0" + blob[1:], DIMS) is None
        assert Background.from_bytes(blob, DIMS + 1) is None
        assert Background.from_bytes(blob[:40], DIMS) is None
        assert Background.from_bytes(b"", DIMS) is None

    def test_texts_without_a_direction_are_left_out(self, embedder: Embedder) -> None:
        rows = 3 * embedder.some(STATEMENTS + QUESTIONS)
        rows[:5] = 0.0
        rows[-1] = numpy.nan

        made = Background.from_vectors(rows)

        assert (len(made.statements), len(made.questions)) == (STATEMENTS - 5, QUESTIONS - 1)
        assert numpy.linalg.norm(made.statements, axis=1) == pytest.approx(1.0)
        read = Background.from_bytes(made.to_bytes(), DIMS)
        assert read is not None
        assert len(read.questions) == QUESTIONS - 1

    def test_vectors_of_something_else_are_refused(self, embedder: Embedder) -> None:
        with pytest.raises(ValueError, match="3 vectors"):
            Background.from_vectors(embedder.some(3))


@pytest.mark.parametrize("count", [1, 5, 40, 300])
def test_the_answer_stands_out_in_a_memory_of_any_size(embedder: Embedder, count: int) -> None:
    background, texts = embedder.background(), embedder.some(count)

    found = zs(background, texts, embedder.ask(texts[0]))

    assert found.argmax() == 0
    assert found[0] > 4
    assert (found[1:] < 4).all()


@pytest.mark.parametrize("count", [1, 40])
def test_nothing_stands_out_for_a_question_about_something_else(embedder: Embedder, count: int) -> None:
    background, texts = embedder.background(), embedder.some(count)

    assert zs(background, texts, embedder.ask(embedder.one())).max() < 3.5


@pytest.mark.parametrize("count", [20, 200])
def test_an_embedder_whose_cosines_are_all_high_gives_the_same_answers(embedder: Embedder, count: int) -> None:
    shift = 2.0 * embedder.one()
    background, texts = embedder.background(), embedder.some(count)
    query = embedder.ask(texts[0])
    shifted = replace(
        background, statements=units(background.statements + shift), questions=units(background.questions + shift)
    )
    texts_too, query_too = units(texts + shift), units(query + shift)
    assert (texts_too @ query_too).min() > 0.6

    plain, high = zs(background, texts, query), zs(shifted, texts_too, query_too)

    assert high.argmax() == plain.argmax() == 0
    assert high[0] == pytest.approx(plain[0], rel=0.2)
    assert numpy.corrcoef(plain, high)[0, 1] > 0.95


def test_what_the_few_texts_of_a_memory_share_still_counts(embedder: Embedder) -> None:
    topic, background = embedder.one(), embedder.background()
    texts = embedder.some(5, about=topic)

    assert zs(background, texts, embedder.ask(topic)).min() > 2


def test_what_the_many_texts_of_a_memory_share_does_not_hide_the_answer(embedder: Embedder) -> None:
    topic, background = 2 * embedder.one(), embedder.background()
    texts = embedder.some(300, about=topic)
    own = texts[0] - texts.mean(axis=0)
    query = embedder.ask(units(own + 2 * units(topic)))
    scale = MeaningScale(background, texts)

    assert float(scale.focus(query) @ units(topic)) < 0.5 * float(query @ units(topic))
    assert zs(background, texts, query).argmax() == 0


def test_a_question_about_nothing_has_little_noise_and_yet_nothing_stands_out(embedder: Embedder) -> None:
    background = embedder.background()
    far = embedder.some(40)
    outside = numpy.zeros(DIMS, dtype=numpy.float32)
    outside[-1] = 1.0
    statements = background.statements.copy()
    statements[:, -1] *= 0.1
    far[:, -1] *= 0.1

    found = zs(replace(background, statements=units(statements)), units(far), outside)

    assert found.max() < 2.5


class TestNoise:
    def test_it_is_unknown_without_a_background_and_with_few_texts(self, embedder: Embedder) -> None:
        query = embedder.one()

        few, many = (MeaningScale(None, embedder.some(count)) for count in (11, 12))

        assert few.noise(few.focus(query)) is None
        assert many.noise(many.focus(query)) is not None

    def test_it_is_unknown_where_all_texts_are_the_same(self, embedder: Embedder) -> None:
        row = embedder.one()
        scale = MeaningScale(None, numpy.repeat(row[numpy.newaxis], 30, axis=0))

        assert scale.noise(row) is None

    def test_a_background_is_enough(self, embedder: Embedder) -> None:
        scale = MeaningScale(embedder.background(), numpy.empty((0, DIMS), dtype=numpy.float32))

        assert scale.noise(scale.focus(embedder.one())) is not None

    def test_another_sample_has_its_own(self, embedder: Embedder) -> None:
        topic = embedder.one()
        scale = MeaningScale(embedder.background(), embedder.some(100))
        about = embedder.some(100, about=topic)

        plain, parts = scale.noise(topic), scale.noise(topic, about)

        assert plain is not None
        assert parts is not None
        assert parts.mean > plain.mean + 0.1


def test_the_best_of_more_texts_stands_out_more_by_chance() -> None:
    counts = [0, 1, 2, 3, 10, 100, 1000, 100_000]
    expected = [chance(count) for count in counts]

    assert expected[:2] == [0.0, 0.0]
    assert expected == sorted(expected)
    random = numpy.random.default_rng(3)
    for count in (10, 100, 1000):
        best = random.normal(size=(400, count)).max(axis=1).mean()
        assert chance(count) == pytest.approx(best, abs=0.25)
