from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from memslot import EmbeddingProvider, Host, ProviderBusyError, ProviderOptions, ProviderRefusedError
from memslot.embeddings.contract import timeouts_of
from memslot.testing import EmbeddingProviderContract
from memslot_embed_providers import ollama as plugin
from memslot_embed_providers.ollama import server_address


class TestContract(EmbeddingProviderContract):
    @pytest.fixture(autouse=True)
    def _server(self, wire: Any, make: Any) -> None:
        self.server, self.make = wire("ollama"), make

    def make_provider(self) -> EmbeddingProvider:
        return self.make("ollama", base_url=self.server.url, dimensions=None)

    def make_failing_provider(self, api_key: str) -> EmbeddingProvider:
        self.server.fail("401-echo")
        return self.make("ollama", base_url=self.server.url, api_key=api_key)


def test_the_request_is_as_documented(wire: Any, make: Any) -> None:
    server = wire("ollama")
    make("ollama", base_url=server.url, api_key=None, dimensions=None).embed_documents(["one", "two"])

    (seen,) = server.seen
    assert (seen.method, seen.path) == ("POST", "/api/embed")
    assert seen.json == {"model": "nomic-embed-text", "input": ["one", "two"], "truncate": True}
    assert "authorization" not in seen.headers


def test_dimensions_are_sent_only_when_they_are_set(wire: Any, make: Any) -> None:
    server = wire("ollama")
    assert len(make("ollama", base_url=server.url, dimensions=32).embed_query("q")) == 32
    assert server.seen[0].json["dimensions"] == 32


def test_a_model_that_is_not_there_comes_with_the_command_that_gets_it(wire: Any, make: Any) -> None:
    server = wire("ollama")
    server.models = {"all-minilm"}
    with pytest.raises(ProviderRefusedError) as caught:
        make("ollama", base_url=server.url).embed_query("q")
    assert str(caught.value) == (
        f"Ollama at {server.url} has no model nomic-embed-text; get it with: ollama pull nomic-embed-text"
    )


def test_a_server_that_does_not_run_comes_with_the_command_that_starts_it(make: Any) -> None:
    with pytest.raises(ProviderBusyError, match="start it with: ollama serve"):
        make("ollama", base_url="http://127.0.0.1:1").embed_query("q")


def test_what_stays_on_this_machine_does_not_go_through_a_proxy(
    wire: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, proxy = wire("ollama"), wire("ollama")
    monkeypatch.setenv("HTTP_PROXY", proxy.origin)
    monkeypatch.setenv("http_proxy", proxy.origin)
    make("ollama", base_url=server.url).embed_query("q")
    assert (len(server.seen), proxy.seen) == (1, [])


def test_missing_says_that_there_is_no_model() -> None:
    told = plugin.missing(ProviderOptions())
    assert told == "it needs a model in memorySearch.model, such as nomic-embed-text"
    assert plugin.missing(ProviderOptions(model="all-minilm")) is None


@pytest.mark.parametrize(
    ("told", "address"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:1234", "http://127.0.0.1:1234"),
        (":1234", "http://127.0.0.1:1234"),
        ("gpu.example", "http://gpu.example:11434"),
        ("gpu.example:80", "http://gpu.example:80"),
        ("https://gpu.example", "https://gpu.example"),
        ("https://gpu.example/ollama/", "https://gpu.example/ollama"),
        ("[::1]:11434", "http://[::1]:11434"),
    ],
)
def test_the_address_is_read_as_ollama_reads_it(told: str, address: str) -> None:
    assert server_address(None, {"OLLAMA_HOST": told}) == address
    assert server_address("http://configured:1/", {"OLLAMA_HOST": told}) == "http://configured:1"


@pytest.mark.parametrize(
    ("url", "variable", "away"),
    [
        (None, None, False),
        ("http://localhost:11434", None, False),
        ("http://[::1]:11434", "gpu.example", False),
        ("https://gpu.example", None, True),
        (None, "gpu.example", True),
        ("http://127.0.0.1.example", None, True),
    ],
)
def test_text_stays_here_only_when_the_server_is_here(
    url: str | None, variable: str | None, away: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    if variable:
        monkeypatch.setenv("OLLAMA_HOST", variable)
    settings = {"agents": {"defaults": {"memorySearch": {"remote": {"baseUrl": url}}}}} if url else {}
    with Host.load(settings, home=tmp_path) as host:
        (spec,) = [spec for spec in host.embedding_providers.specs if spec.id == "ollama"]
    assert spec.sends_text_away is away
    assert spec.auto_order is None


def test_the_pipeline_waits_as_long_as_a_model_may_take_to_load(wire: Any, make: Any) -> None:
    assert timeouts_of(make("ollama", base_url=wire("ollama").url)) == (300.0, 600.0)
