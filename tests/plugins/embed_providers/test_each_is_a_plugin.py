from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from memslot import Host

PROVIDERS = ["universal", "local", "openai", "gemini", "voyage", "ollama"]


def test_every_provider_is_registered_by_a_plugin_of_its_own(tmp_path: Path) -> None:
    with Host.load({}, home=tmp_path, env={}) as host:
        assert sorted(spec.id for spec in host.embedding_providers.specs) == sorted(PROVIDERS)
        assert not list(host.diagnostics)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_each_can_be_denied_alone(tmp_path: Path, provider: str) -> None:
    with Host.load({"plugins": {"deny": [f"embed-{provider}"]}}, home=tmp_path, env={}) as host:
        left = {spec.id for spec in host.embedding_providers.specs}
    assert left == set(PROVIDERS) - {provider}


@pytest.mark.parametrize(
    ("variable", "chosen"),
    [
        ("OPENAI_API_KEY", "openai"),
        ("GEMINI_API_KEY", "gemini"),
        ("GOOGLE_API_KEY", "gemini"),
        ("VOYAGE_API_KEY", "voyage"),
        ("OLLAMA_HOST", "universal"),
    ],
)
def test_a_key_decides_which_provider_is_automatic(tmp_path: Path, variable: str, chosen: str) -> None:
    with Host.load({}, home=tmp_path, env={variable: "not-a-real-key-at-all"}) as host:
        selection = host.select_embedder()
    assert selection.provider is not None, selection
    assert selection.provider.id == chosen
    order = ["local", "openai", "gemini", "voyage", "universal"]
    assert [name for name, _ in selection.passed_over] == order[: order.index(chosen)]


def test_a_remote_provider_loads_its_client_with_its_first_request() -> None:
    code = """
import sys
from memslot import ProviderOptions
from memslot_embed_providers import gemini, ollama, openai, voyage
for plugin in (gemini, ollama, openai, voyage):
    plugin.create(ProviderOptions(model="some-model", api_key="not-a-real-key-at-all", dimensions=4)).dims
print(sorted({"httpx2", "openai"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
