"""The third-party example, installed into a fresh environment and used by its name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.install, pytest.mark.timeout(900)]

EXAMPLE = Path(__file__).parents[2] / "examples" / "embed_hashing"
EMBED = """
import json
from memslot import Host

with Host.load() as host:
    selection = host.select_embedder()
    provider = selection.provider
    question = provider.embed_query("When did we deploy the billing service?")
    texts = [
        "The billing service was deployed on Tuesday.",
        "We agreed to deploy billing before the holidays.",
        "Grandmother's marmalade needs bitter oranges.",
    ]
    likeness = [sum(a * b for a, b in zip(question, vector)) for vector in provider.embed_documents(texts)]
    print(json.dumps({"id": provider.id, "dims": provider.dims, "reason": selection.reason, "likeness": likeness}))
"""


@pytest.fixture(scope="module")
def environment(fresh_environment):
    fresh_environment.install(EXAMPLE)
    return fresh_environment


@pytest.fixture
def home(environment, tmp_path: Path) -> dict[str, str]:
    """A home whose config names the provider."""
    env = {"MEMSLOT_HOME": str(tmp_path / "home")}
    environment.memslot("init", env=env)
    environment.memslot("config", "set", "agents.defaults.memorySearch.provider", "hashing", env=env)
    return env


def test_it_embeds_when_the_config_names_it(environment, home: dict[str, str]) -> None:
    answer = json.loads(environment.run("-c", EMBED, env=home).stdout)
    assert answer["id"] == "hashing"
    assert answer["dims"] == 256
    assert answer["reason"] == "named in the config"


def test_texts_that_overlap_are_nearer(environment, home: dict[str, str]) -> None:
    *related, unrelated = json.loads(environment.run("-c", EMBED, env=home).stdout)["likeness"]
    assert min(related) > 0.3
    assert unrelated < 0.15


def test_its_setting_is_checked_and_used(environment, home: dict[str, str]) -> None:
    key = "plugins.entries.embed-hashing.config.dimensions"
    environment.memslot("config", "set", key, "64", env=home)
    assert json.loads(environment.run("-c", EMBED, env=home).stdout)["dims"] == 64


def test_it_is_not_used_unless_named(environment, tmp_path: Path) -> None:
    code = "from memslot import Host; print([s.id for s in Host.load().embedding_providers.specs if s.auto_order])"
    assert "hashing" not in environment.run("-c", code, env={"MEMSLOT_HOME": str(tmp_path / "home")}).stdout


def test_its_own_tests_pass(environment, tmp_path: Path) -> None:
    done = environment.run("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=EXAMPLE)
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


def test_it_is_valid(environment) -> None:
    for target in (EXAMPLE, "embed-hashing"):
        assert json.loads(environment.memslot("plugins", "validate", target, "--json").stdout)["ok"]


def test_it_uses_only_the_public_api() -> None:
    imports = [
        line.strip()
        for file in (EXAMPLE / "embed_hashing").glob("*.py")
        for line in file.read_text().splitlines()
        if line.strip().startswith(("import memslot", "from memslot"))
    ]
    assert imports
    assert all(line.startswith("from memslot import ") for line in imports)
