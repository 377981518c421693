from __future__ import annotations

from pathlib import Path

import pytest
from memslot import Host

PROVIDERS = ["static", "local", "openai", "gemini", "voyage", "ollama"]


def test_every_provider_is_registered_by_a_plugin_of_its_own(tmp_path: Path) -> None:
    with Host.load({}, home=tmp_path, env={}) as host:
        assert sorted(spec.id for spec in host.embedding_providers.specs) == sorted(PROVIDERS)
        assert not list(host.diagnostics)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_each_can_be_denied_alone(tmp_path: Path, provider: str) -> None:
    with Host.load({"plugins": {"deny": [f"embed-{provider}"]}}, home=tmp_path, env={}) as host:
        left = {spec.id for spec in host.embedding_providers.specs}
    assert left == set(PROVIDERS) - {provider}


def test_search_says_that_no_provider_is_ready(tmp_path: Path) -> None:
    with Host.load({}, home=tmp_path, env={"OPENAI_API_KEY": "sk-not-a-real-key-at-all"}) as host:
        selection = host.select_embedder()
    assert selection.provider is None
    assert dict(selection.passed_over)["openai"] == 'the provider "openai" cannot embed yet in this version'
    assert [name for name, _ in selection.passed_over] == ["local", "openai", "gemini", "voyage", "static"]
