from __future__ import annotations

from typing import Any

import pytest
from memslot import EmbeddingProvider, ProviderOptions
from memslot.testing import EmbeddingProviderContract
from memslot_embed_providers import voyage as plugin


class TestContract(EmbeddingProviderContract):
    @pytest.fixture(autouse=True)
    def _server(self, wire: Any, make: Any) -> None:
        self.server, self.make = wire("voyage"), make

    def make_provider(self) -> EmbeddingProvider:
        return self.make("voyage", base_url=self.server.url)

    def make_failing_provider(self, api_key: str) -> EmbeddingProvider:
        self.server.fail("401-echo")
        return self.make("voyage", base_url=self.server.url, api_key=api_key)


@pytest.mark.parametrize(("way", "input_type"), [("embed_query", "query"), ("embed_documents", "document")])
def test_the_request_is_as_documented(way: str, input_type: str, wire: Any, make: Any, key: str) -> None:
    server = wire("voyage")
    server.key = key
    provider = make("voyage", base_url=server.url, dimensions=None)
    getattr(provider, way)("word" if way == "embed_query" else ["word"])

    (seen,) = server.seen
    assert (seen.method, seen.path) == ("POST", "/v1/embeddings")
    assert seen.headers["authorization"] == f"Bearer {key}"
    assert seen.json == {"input": ["word"], "model": "voyage-4-large", "input_type": input_type}


def test_dimensions_are_sent_only_when_they_are_set(wire: Any, make: Any) -> None:
    server = wire("voyage")
    assert len(make("voyage", base_url=server.url, dimensions=512).embed_query("q")) == 512
    assert server.seen[0].json["output_dimension"] == 512


def test_a_thousand_texts_go_into_one_request(wire: Any, make: Any) -> None:
    server = wire("voyage")
    assert len(make("voyage", base_url=server.url, dimensions=8).embed_documents(["a"] * 1001)) == 1001
    assert [len(seen.json["input"]) for seen in server.seen] == [1000, 1]


def test_known_dims_need_no_request(make: Any) -> None:
    assert make("voyage", dimensions=None).dims == 1024


def test_missing_says_what_lacks() -> None:
    assert plugin.missing(ProviderOptions()) == "it needs a key: set VOYAGE_API_KEY, or memorySearch.remote.apiKey"
    assert plugin.missing(ProviderOptions(env={"VOYAGE_API_KEY": "pa-x"})) is None
