"""`memslot embed`, in a real process, with the example provider and with one that fails."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

HASHING = Path(__file__).parents[2] / "examples" / "embed_hashing" / "embed_hashing"
FAILING = """
from memslot import EmbeddingProviderSpec, ProviderRefusedError, hookimpl

class Refused:
    id, model, dims, max_input_tokens = "refused", "m", 4, 100

    def embed_query(self, text):
        raise ProviderRefusedError("the account has no credit left; add some at the provider's")

    def embed_documents(self, texts):
        return [[0.0] * 4 for _ in texts]

@hookimpl
def register_embedding_providers():
    yield EmbeddingProviderSpec("refused", lambda options: Refused(), auto_order=1)
    yield EmbeddingProviderSpec("keyless", lambda options: None, lambda options: "it needs a key", auto_order=0)
"""


@pytest.fixture
def embed(memslot: Any) -> Any:
    memslot.add_plugin("embed-odd", FAILING, kind="embedder")
    memslot.env["MEMSLOT_LOAD_PLUGINS"] = "embed-hashing,embed-odd"
    memslot.write_config(
        {
            "plugins": {
                "load": {"paths": [str(HASHING), *memslot.load["paths"]]},
                "slots": {"memory": "none"},
            },
            "agents": {"defaults": {"memorySearch": {"provider": "hashing"}}},
        }
    )
    return memslot


def test_providers_tells_each_ones_plugin_state_and_place(embed: Any) -> None:
    told = embed.json("embed", "providers")
    assert told["providers"] == [
        {
            "id": "keyless",
            "plugin": "embed-odd",
            "ready": False,
            "missing": "it needs a key",
            "sendsTextAway": True,
            "autoOrder": 0,
            "chosen": False,
        },
        {
            "id": "refused",
            "plugin": "embed-odd",
            "ready": True,
            "missing": None,
            "sendsTextAway": True,
            "autoOrder": 1,
            "chosen": False,
        },
        {
            "id": "hashing",
            "plugin": "embed-hashing",
            "ready": True,
            "missing": None,
            "sendsTextAway": False,
            "autoOrder": None,
            "chosen": True,
        },
    ]
    assert told["selection"]["provider"] == "hashing"
    assert told["selection"]["reason"] == "named in the config"


def test_providers_in_words(embed: Any) -> None:
    shown = embed.ok("embed", "providers")
    table = shown.split("\n\n")[0].splitlines()
    lines = {line.lstrip("→ ").split()[0]: line for line in table}
    assert lines["hashing"].startswith("→")
    assert "stays here" in lines["hashing"]
    assert lines["keyless"].endswith("it needs a key")
    assert "leaves this machine" in lines["refused"]
    assert shown.endswith("hashing is used (named in the config).\n")


def test_a_provider_that_cannot_be_used_leaves_keywords(embed: Any) -> None:
    embed.write_config({"plugins": {"slots": {"memory": "none"}}, "memory": {"search": {"provider": "gone"}}})
    shown = embed.ok("embed", "providers", MEMSLOT_DISABLE_PLUGINS="1")
    assert "none is used: search goes by keywords only" in shown
    assert 'unknown embedding provider "gone"' in shown


def test_probe_makes_one_call_and_says_how_long_it_took(embed: Any) -> None:
    told = embed.json("embed", "probe")
    assert (told["ok"], told["provider"], told["dims"], told["error"]) == (True, "hashing", 256, None)
    assert told["model"] == "words-and-trigrams-256"
    assert told["latencyMs"] > 0
    shown = embed.ok("embed", "probe")
    assert "hashing (named in the config)" in shown
    assert "256" in shown


def test_probe_gives_the_exact_reason_and_ends_with_1(embed: Any) -> None:
    reason = "the account has no credit left; add some at the provider's"
    done = embed("embed", "probe", "--provider", "refused")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Error: {reason}\n"
    done = embed("embed", "probe", "--provider", "refused", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert (told["ok"], told["provider"], told["error"], told["latencyMs"]) == (False, "refused", reason, None)
    done = embed("embed", "probe", "--provider", "keyless")
    assert (done.returncode, done.stderr) == (1, "Error: keyless: it needs a key\n")


@pytest.mark.parametrize("command", [["probe"], ["text", "hello"]])
def test_a_name_that_no_active_provider_has_is_a_usage_error(embed: Any, command: list[str]) -> None:
    done = embed("embed", *command, "--provider", "hasing")
    assert done.returncode == 2
    assert 'unknown or inactive provider "hasing"; active: hashing, keyless, refused' in done.stderr


def test_text_prints_the_vector(embed: Any) -> None:
    told = embed.json("embed", "text", "the quick brown fox")
    assert (told["provider"], told["dims"], told["zero"]) == ("hashing", 256, False)
    assert len(told["vector"]) == 256
    assert math.hypot(*told["vector"]) == pytest.approx(1, abs=1e-5)
    shown = embed.ok("embed", "text", "the quick brown fox")
    numbers = [float(word) for word in shown.splitlines()[0].split("…")[0].split()]
    assert numbers == pytest.approx(told["vector"][:8], abs=1e-4)
    assert "256 dimensions, hashing (words-and-trigrams-256)" in shown


def test_text_as_a_query_asks_the_provider_for_a_query(embed: Any) -> None:
    done = embed("embed", "text", "hello", "--provider", "refused", "--as-query")
    assert done.returncode == 1
    assert "no credit left" in done.stderr


def test_a_vector_of_zeros_is_pointed_out(embed: Any) -> None:
    done = embed("embed", "text", "hello", "--provider", "refused")
    assert done.returncode == 0
    assert "zero vector" in done.stderr
    assert embed.json("embed", "text", "hello", "--provider", "refused")["zero"] is True


def test_text_without_a_provider_says_why(embed: Any) -> None:
    done = embed("embed", "text", "hello", "--provider", "keyless")
    assert done.returncode == 1
    assert "no provider is available: keyless: it needs a key" in done.stderr


@pytest.mark.parametrize("command", [[], ["providers"], ["probe"], ["text"]], ids=str)
def test_help_has_examples(memslot: Any, command: list[str]) -> None:
    assert "Examples:" in memslot.ok("embed", *command, "--help")
