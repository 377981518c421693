from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest
from memslot import EmbeddingProvider, ProviderError, ProviderOptions, extra_install_command
from memslot.testing import EmbeddingProviderContract
from memslot_embed_providers import openai as plugin


class TestContract(EmbeddingProviderContract):
    @pytest.fixture(autouse=True)
    def _server(self, wire: Any, make: Any) -> None:
        self.server, self.make = wire("openai"), make

    def make_provider(self) -> EmbeddingProvider:
        return self.make("openai", base_url=self.server.url)

    def make_failing_provider(self, api_key: str) -> EmbeddingProvider:
        self.server.fail("401-echo")
        return self.make("openai", base_url=self.server.url, api_key=api_key)


def test_the_request_is_as_documented(wire: Any, make: Any, key: str) -> None:
    server = wire("openai")
    server.key = key
    make("openai", base_url=server.url, dimensions=None).embed_documents(["one", "two"])

    (seen,) = server.seen
    assert (seen.method, seen.path) == ("POST", "/v1/embeddings")
    assert seen.json == {"model": "text-embedding-3-small", "input": ["one", "two"], "encoding_format": "base64"}
    assert seen.headers["authorization"] == f"Bearer {key}"
    assert seen.headers["content-type"] == "application/json"


def test_dimensions_are_sent_only_when_they_are_set(wire: Any, make: Any) -> None:
    server = wire("openai")
    provider = make("openai", base_url=server.url, dimensions=256)
    assert provider.dims == 256
    assert len(provider.embed_query("q")) == 256
    assert server.seen[0].json["dimensions"] == 256


@pytest.mark.parametrize(("model", "dims"), [("text-embedding-3-small", 1536), ("text-embedding-3-large", 3072)])
def test_known_models_need_no_request_to_tell_their_dims(model: str, dims: int, wire: Any, make: Any) -> None:
    server = wire("openai")
    provider = make("openai", base_url=server.url, model=model, dimensions=None)
    assert provider.dims == dims
    assert server.seen == []
    assert len(provider.embed_query("q")) == dims


def test_an_unknown_model_is_asked_once(wire: Any, make: Any) -> None:
    server = wire("openai")
    server.dims = 384
    provider = make("openai", base_url=server.url, model="bge-small", dimensions=None)
    assert [provider.dims, provider.dims, provider.dims] == [384] * 3
    assert len(server.seen) == 1


def test_an_answer_tells_the_dims_too(wire: Any, make: Any) -> None:
    server = wire("openai")
    provider = make("openai", base_url=server.url, model="bge-small", dimensions=None)
    provider.embed_query("q")
    assert provider.dims == 64
    assert len(server.seen) == 1


def test_a_server_that_changes_its_model_is_noticed(wire: Any, make: Any) -> None:
    server = wire("openai")
    provider = make("openai", base_url=server.url, model="bge-small", dimensions=None)
    provider.embed_query("q")
    server.dims = 32
    with pytest.raises(ProviderError, match="32 dimensions instead of 64"):
        provider.embed_query("q")


def test_plain_floats_are_read_like_base64(wire: Any, make: Any) -> None:
    server = wire("openai")
    provider = make("openai", base_url=server.url)
    packed = provider.embed_documents(["one", "two"])
    server.plain_floats = True
    assert provider.embed_documents(["one", "two"]) == packed


def test_extra_headers_are_sent(wire: Any, make: Any) -> None:
    server = wire("openai")
    make("openai", base_url=server.url, headers={"X-Team": "orchid"}).embed_query("q")
    assert server.seen[0].headers["x-team"] == "orchid"


def test_a_server_of_one_s_own_needs_no_key(wire: Any, make: Any) -> None:
    server = wire("openai")
    assert len(make("openai", base_url=server.url + "/", api_key=None).embed_query("q")) == 64
    assert server.seen[0].path == "/v1/embeddings"


def test_more_texts_than_a_request_holds_are_split(wire: Any, make: Any) -> None:
    server = wire("openai")
    texts = [str(i) for i in range(2050)]
    assert len(make("openai", base_url=server.url, dimensions=8).embed_documents(texts)) == 2050
    assert [len(seen.json["input"]) for seen in server.seen] == [2048, 2]


def test_blank_texts_are_not_sent(wire: Any, make: Any) -> None:
    server = wire("openai")
    first, second, third = make("openai", base_url=server.url).embed_documents(["", "word", " \n"])
    assert [any(vector) for vector in (first, second, third)] == [False, True, False]
    assert server.seen[0].json["input"] == ["word"]


def test_missing_says_what_lacks() -> None:
    assert plugin.missing(ProviderOptions()) == "it needs a key: set OPENAI_API_KEY, or memorySearch.remote.apiKey"
    assert plugin.missing(ProviderOptions(env={"OPENAI_API_KEY": "  "})) is not None
    assert plugin.missing(ProviderOptions(env={"OPENAI_API_KEY": "sk-x"})) is None
    assert plugin.missing(ProviderOptions(base_url="http://127.0.0.1:8080/v1")) is None


@pytest.mark.parametrize("name", ["openai", "gemini", "voyage", "ollama"])
def test_missing_names_the_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)  # as if it were not installed
    missing = importlib.import_module(f"memslot_embed_providers.{name}").missing
    told = f"the package httpx2 is not installed; get it with: {extra_install_command(name)}"
    assert missing(ProviderOptions(api_key="sk-x", model="m")) == told


def test_the_provider_says_its_limits(make: Any) -> None:
    provider = make("openai")
    assert (provider.max_batch_items, provider.max_input_tokens) == (2048, 8191)
    assert provider.max_batch_tokens == 32_000
    assert make("openai", base_url="http://127.0.0.1:8080/v1").max_batch_tokens == 8000, "a small server needs time"
    assert repr(provider) == "<OpenAIProvider text-embedding-3-small at https://api.openai.com/v1>"


@pytest.mark.parametrize("url", ["ftp://example.org", "example.org/v1", "http://", "http://[::1", "http://a:port"])
def test_an_address_that_is_none_is_refused(url: str, make: Any) -> None:
    with pytest.raises(ProviderError, match=r"remote\.baseUrl must start with http"):
        make("openai", base_url=url)
