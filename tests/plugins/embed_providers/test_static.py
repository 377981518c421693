"""The zero-key provider: the same vectors as the library that brings the weights, offline, from many threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import memslot_embed_providers.static.model as static_model
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot import Host, ProviderError, ProviderOptions
from memslot.testing import EmbeddingProviderContract
from memslot.testing.samples import HOSTILE_QUERIES, LONE_SURROGATE, SCRIPTS
from memslot_embed_providers.static.provider import MODEL, StaticProvider, create, missing

TEXTS = [
    "The quarterly numbers came in 4% above what we told the board in March.",
    "She moved to Lisbon because the rent in Berlin had doubled.",
    " leading, trailing and   inner    spaces  ",
    "tabs\tand\nnewlines\r\n\n    indented code = {'a': [1, 2]}",
    "https://example.org/a?b=c&d=%20#e <b>markup</b> &amp;",
    "a <s> b</s> <unk>c written out",
    "▁a mark that ▁▁ the tokenizer uses itself▁",
    "x",
    *SCRIPTS.values(),
    "the harbour at night " * 400,
]


class TestStatic(EmbeddingProviderContract):
    def make_provider(self) -> StaticProvider:
        return StaticProvider()


class TestFewDimensions(EmbeddingProviderContract):
    def make_provider(self) -> StaticProvider:
        return StaticProvider(64)


@pytest.fixture(scope="module")
def library() -> Any:
    """The library whose weights are used, as it works by itself."""
    import logging

    handlers = logging.getLogger().handlers[:]
    import wordllama

    logging.getLogger().handlers[:] = handlers  # it calls logging.basicConfig
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def test_vectors_are_those_of_the_library(library: Any) -> None:
    ours = StaticProvider().embed_documents(TEXTS)
    theirs = library.embed(TEXTS, norm=True)
    for text, a, b in zip(TEXTS, ours, theirs, strict=True):
        assert numpy.dot(a, b) > 0.9999, text


@given(st.text(st.characters(codec="utf-8")) | st.text("ab <s>/▁\n.", min_size=1, max_size=40))
@settings(deadline=None, max_examples=200)
def test_words_cut_alone_give_the_tokens_of_the_whole_text(text: str) -> None:
    model = static_model.load_model()
    whole = model._tokenizer.encode(text, add_special_tokens=False).ids
    assert model.token_ids(text) == (whole if text.strip() else [])


def test_the_vocabulary_never_goes_on_after_a_space() -> None:
    """What allows a text to be cut into words first."""
    vocabulary = static_model.load_model()._tokenizer.get_vocab()
    assert [token for token in vocabulary if "▁" in token.lstrip("▁")] == []


@pytest.mark.parametrize("text", ["", " ", "\n\t \r\n", "\u2003"])
def test_white_space_has_no_direction(text: str) -> None:
    assert not numpy.any(StaticProvider().embed_query(text))


@pytest.mark.parametrize("name", HOSTILE_QUERIES)
def test_hostile_texts(name: str) -> None:
    vector = StaticProvider().embed_query(HOSTILE_QUERIES[name])
    assert numpy.isfinite(vector).all()


def test_half_an_emoji_is_a_replacement_character() -> None:
    provider = StaticProvider()
    assert numpy.array_equal(
        provider.embed_query(LONE_SURROGATE), provider.embed_query(LONE_SURROGATE[:-1] + "\N{REPLACEMENT CHARACTER}")
    )


def test_related_texts_are_nearer_than_unrelated_ones() -> None:
    query, near, far = StaticProvider().embed_documents(
        ["the cat sat on the mat", "a kitten on a rug", "quarterly tax report"]
    )
    assert numpy.dot(query, near) > 0.3 > 0.15 > numpy.dot(query, far)


def test_fewer_dimensions_are_the_first_ones() -> None:
    long, short = (StaticProvider(dims).embed_query("a violin in the attic") for dims in (256, 64))
    expected = numpy.asarray(long[:64]) / numpy.linalg.norm(long[:64])
    assert numpy.allclose(short, expected, atol=1e-6)


def test_token_vectors_have_length_one_and_add_up_to_the_text() -> None:
    provider = StaticProvider()
    text = "an extraordinarily long afternoon"
    tokens = numpy.asarray(provider.token_vectors(text))
    assert tokens.shape[0] >= 4
    assert tokens.shape[1] == provider.dims
    assert numpy.allclose(numpy.linalg.norm(tokens, axis=1), 1, atol=1e-5)
    raw = static_model.load_model().token_rows(text).sum(axis=0)
    assert numpy.dot(raw / numpy.linalg.norm(raw), provider.embed_query(text)) > 0.9999
    assert numpy.asarray(provider.token_vectors("")).shape == (0, provider.dims)


class TestMemoryOfWords:
    @pytest.fixture
    def model(self) -> static_model.StaticModel:
        shared = static_model.load_model()
        return static_model.StaticModel(shared._rows, shared._tokenizer)

    def test_is_bounded(self, model: static_model.StaticModel, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(static_model, "_MOST_KEPT", 50)
        for number in range(40):
            model.token_ids(" ".join(f"w{number}x{i}" for i in range(10)))
        assert len(model._known) <= 61
        assert model.token_ids("back again ") == static_model.load_model().token_ids("back again ")

    def test_keeps_no_long_words(self, model: static_model.StaticModel) -> None:
        model.token_ids("x" * 10_000 + " short")
        assert max(map(len, model._known)) < 50


class TestOptions:
    def test_another_model_is_refused_with_the_name_of_ours(self) -> None:
        lack = missing(ProviderOptions(model="text-embedding-3-small"))
        assert lack == f"static has one model, {MODEL}, and memorySearch.model asks for 'text-embedding-3-small'"
        with pytest.raises(ProviderError, match="one model"):
            create(ProviderOptions(model="text-embedding-3-small"))

    def test_its_own_model_and_dimensions_are_taken(self) -> None:
        assert create(ProviderOptions(model=MODEL, dimensions=128)).dims == 128

    def test_untrained_dimensions_are_refused(self) -> None:
        assert "64, 128 or 256" in (missing(ProviderOptions(dimensions=100)) or "")

    def test_missing_weights_are_a_sentence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        assert "pip install wordllama" in (missing(ProviderOptions()) or "")

    def test_broken_weights_are_a_sentence(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        class Spec:
            origin = str(tmp_path / "__init__.py")

        monkeypatch.setattr("importlib.util.find_spec", lambda name: Spec())
        monkeypatch.setattr(static_model, "_loaded", None)
        with pytest.raises(ProviderError, match="pip install --force-reinstall wordllama"):
            StaticProvider().embed_query("a text")


def test_auto_chooses_it_when_there_is_no_key(tmp_path: Path) -> None:
    with Host.load({}, home=tmp_path, env={}) as host:
        selection = host.select_embedder()
    assert selection.provider is not None, selection.passed_over
    assert selection.provider.id == "static"
    assert not selection.is_degraded


OFFLINE = """
import socket, sys

def refuse(*arguments, **options):
    raise AssertionError("the network was touched")

socket.socket.connect = socket.getaddrinfo = socket.create_connection = socket.socket.sendto = refuse
class NoSocket(socket.socket):
    __init__ = refuse
socket.socket = NoSocket

from memslot import Host
with Host.load({}, home=sys.argv[1], env={}) as host:
    provider = host.select_embedder().provider
    before = set(sys.modules)
    vectors = provider.embed_documents(["the cat sat on the mat", "a kitten on a rug"])
    loaded = {name.split(".")[0] for name in sys.modules} & {"wordllama", "requests", "huggingface_hub", "httpx2"}
print(provider.id, float(vectors[0] @ vectors[1]) > 0.3, loaded)
print("numpy" in before, "tokenizers" in before)
"""


def test_it_works_without_sockets_and_without_the_code_of_the_library(tmp_path: Path) -> None:
    home = tmp_path / "home"
    environ = {**os.environ, "HOME": str(tmp_path), "HF_HOME": str(tmp_path / "hf")}
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(home)], capture_output=True, text=True, check=False, env=environ
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["static True set()", "False False"]
    assert not (tmp_path / "hf").exists()


def test_forking_after_use_prints_nothing(tmp_path: Path) -> None:
    """The tokenizer's own thread pool would warn of a fork on stderr."""
    code = (
        "import os\nfrom memslot_embed_providers.static.provider import StaticProvider\n"
        "p = StaticProvider(); p.embed_documents(['a text'] * 200)\n"
        "pid = os.fork()\n"
        "if not pid:\n    p.embed_documents(['new words entirely']); os._exit(0)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
    )
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
