from __future__ import annotations

from typing import Any

import pytest
from memslot import EmbeddingProvider, ProviderOptions
from memslot.testing import EmbeddingProviderContract
from memslot_embed_providers import gemini as plugin


class TestContract(EmbeddingProviderContract):
    @pytest.fixture(autouse=True)
    def _server(self, wire: Any, make: Any) -> None:
        self.server, self.make = wire("gemini"), make

    def make_provider(self) -> EmbeddingProvider:
        return self.make("gemini", base_url=self.server.url)

    def make_failing_provider(self, api_key: str) -> EmbeddingProvider:
        self.server.fail("401-echo")
        return self.make("gemini", base_url=self.server.url, api_key=api_key)


def test_a_query_is_sent_as_documented(wire: Any, make: Any, key: str) -> None:
    server = wire("gemini")
    server.key = key
    assert len(make("gemini", base_url=server.url, dimensions=None).embed_query("where?")) == 3072

    (seen,) = server.seen
    assert (seen.method, seen.path, seen.query) == ("POST", "/v1beta/models/gemini-embedding-001:embedContent", {})
    assert seen.headers["x-goog-api-key"] == key
    assert "authorization" not in seen.headers
    assert seen.json == {
        "model": "models/gemini-embedding-001",
        "content": {"parts": [{"text": "where?"}]},
        "taskType": "RETRIEVAL_QUERY",
    }


def test_documents_are_sent_as_documented(wire: Any, make: Any) -> None:
    server = wire("gemini")
    make("gemini", base_url=server.url, dimensions=128).embed_documents(["here", "there"])

    (seen,) = server.seen
    assert seen.path == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert seen.json == {
        "requests": [
            {
                "model": "models/gemini-embedding-001",
                "content": {"parts": [{"text": text}]},
                "taskType": "RETRIEVAL_DOCUMENT",
                "outputDimensionality": 128,
            }
            for text in ("here", "there")
        ]
    }


def test_a_hundred_texts_go_into_one_request(wire: Any, make: Any) -> None:
    server = wire("gemini")
    assert len(make("gemini", base_url=server.url).embed_documents([str(i) for i in range(101)])) == 101
    assert [len(seen.json["requests"]) for seen in server.seen] == [100, 1]


def test_a_model_may_be_named_as_google_does(wire: Any, make: Any) -> None:
    server = wire("gemini")
    provider = make("gemini", base_url=server.url, model="models/other", dimensions=None)
    assert (provider.model, provider.dims) == ("other", 64)
    assert server.seen[0].path == "/v1beta/models/other:batchEmbedContents"


def test_known_dims_need_no_request(make: Any) -> None:
    assert make("gemini", dimensions=None).dims == 3072


def test_missing_says_what_lacks() -> None:
    told = plugin.missing(ProviderOptions())
    assert told == "it needs a key: set GEMINI_API_KEY or GOOGLE_API_KEY, or memorySearch.remote.apiKey"
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        assert plugin.missing(ProviderOptions(env={name: "AIza-x"})) is None


def test_gemini_s_own_variable_comes_first(wire: Any, make: Any) -> None:
    server = wire("gemini")
    env = {"GOOGLE_API_KEY": "google-key", "GEMINI_API_KEY": "gemini-key"}
    make("gemini", base_url=server.url, api_key=None, env=env).embed_query("q")
    assert server.seen[0].headers["x-goog-api-key"] == "gemini-key"
