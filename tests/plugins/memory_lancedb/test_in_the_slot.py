"""The plugin as the host sees it: in the slot, with its settings, opening nothing before it is needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memslot import Host
from memslot_memory_lancedb.embedding.embedder import search_settings
from memslot_memory_lancedb.settings import Settings

OpenHost = Callable[..., Host]


def load(tmp_path: Path, **config: object) -> Host:
    plugins = {"slots": {"memory": "memory-lancedb"}, "entries": {"memory-lancedb": {"config": config}}}
    return Host.load({"plugins": plugins}, home=tmp_path, env={})


def test_it_owns_the_slot_and_is_well_before_anything_is_stored(tmp_path: Path) -> None:
    with load(tmp_path) as host:
        assert host.memory_owner == "memory-lancedb"
        status = host.memory_status()
        assert status.is_healthy
        assert (status.counts, status.details["dbPath"]) == ({"memories": 0}, str(tmp_path / "memory" / "lancedb"))
        assert "memory-core" not in host.plugins


def test_its_settings_are_checked_and_secrets_in_them_hidden(tmp_path: Path) -> None:
    with load(tmp_path, storageOptions={"secret": 5}, dbpath="x") as host:
        assert host.memory is None
        (event,) = host.diagnostics
        assert 'did you mean "dbPath"?' in event.message
        assert "storageOptions.secret is ***" in event.message


@pytest.mark.parametrize("wrong", [99, 10_001])
def test_capture_max_chars_has_limits(tmp_path: Path, wrong: int) -> None:
    with load(tmp_path, captureMaxChars=wrong) as host:
        assert host.memory is None


def test_starting_and_reading_make_no_store(open_host: OpenHost, memslot_home: Path) -> None:
    host = open_host()
    assert host.call_tool("memory_recall", {"query": "anything"}).data["count"] == 0
    with host.run("what did I say about tea?") as run:
        assert run.context == ""
    assert not (memslot_home / "memory" / "lancedb").exists()


def test_the_folder_is_its_owners_only(open_host: OpenHost, memslot_home: Path) -> None:
    open_host().call_tool("memory_store", {"text": "I prefer tea."})
    assert (memslot_home / "memory" / "lancedb").stat().st_mode & 0o077 == 0


def test_a_host_that_stores_nothing_loads_no_engine(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from memslot import Host\n"
        "plugins = {'slots': {'memory': 'memory-lancedb'}}\n"
        f"with Host.load({{'plugins': plugins}}, home={str(tmp_path)!r}, env={{}}) as host:\n"
        "    with host.run('what did we decide about the harbour?') as run: pass\n"
        "    assert host.memory_status().is_healthy\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'lancedb', 'pyarrow', 'numpy'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class TestEmbeddingSettings:
    def agent(self, tmp_path: Path, **memory_search: Any) -> Any:
        config = {"agents": {"defaults": {"memorySearch": memory_search}}}
        with Host.load(config, home=tmp_path, env={"MEMSLOT_DISABLE_PLUGINS": "1"}) as host:
            return host.config.memory_search(host.agent_id)

    def test_another_provider_gets_nothing_that_was_meant_for_the_first(self, tmp_path: Path) -> None:
        remote = {"apiKey": "for-gemini", "baseUrl": "http://gemini", "headers": {"x": "y"}}
        agent = self.agent(tmp_path, provider="gemini", model="gemini-embedding-001", remote=remote)
        chosen = search_settings(agent, {"provider": "openai", "apiKey": "for-openai"})
        assert (chosen.provider, chosen.model) == ("openai", None)
        assert (chosen.remote.api_key, chosen.remote.base_url, chosen.remote.headers) == ("for-openai", None, {})

    def test_the_same_provider_keeps_what_is_not_said_anew(self, tmp_path: Path) -> None:
        agent = self.agent(tmp_path, provider="openai", remote={"apiKey": "key"})
        chosen = search_settings(agent, {"model": "text-embedding-3-large", "dimensions": 3072})
        assert (chosen.provider, chosen.model, chosen.dimensions) == ("openai", "text-embedding-3-large", 3072)
        assert chosen.remote.api_key == "key"

    def test_another_address_does_not_get_the_key_of_the_first(self, tmp_path: Path) -> None:
        agent = self.agent(tmp_path, provider="openai", remote={"apiKey": "key"})
        assert search_settings(agent, {"baseUrl": "http://elsewhere"}).remote.api_key is None

    @pytest.mark.parametrize("old", [{"apiKey": "key"}, {"model": "text-embedding-3-small"}, {"baseUrl": "http://x"}])
    def test_settings_from_before_there_was_a_choice_mean_openai(self, tmp_path: Path, old: dict[str, Any]) -> None:
        assert search_settings(self.agent(tmp_path), old).provider == "openai"

    def test_dimensions_alone_leave_the_choice_to_the_agent(self, tmp_path: Path) -> None:
        assert search_settings(self.agent(tmp_path), {"dimensions": 64}).provider == "auto"

    def test_they_reach_the_store(self, open_host: OpenHost) -> None:
        host = open_host(embedding={"provider": "universal", "dimensions": 64})
        host.call_tool("memory_store", {"text": "I prefer tea."})
        assert "memorySearch.dimensions is 64" in " ".join(host.memory_status().problems)


def test_places(open_host: OpenHost, memslot_home: Path) -> None:
    for written, meant in {
        "notes/db": memslot_home / "notes" / "db",
        "/srv/db": Path("/srv/db"),
        "~/db": Path("~/db").expanduser(),
        "s3://bucket/prefix": "s3://bucket/prefix",
    }.items():
        host = open_host(dbPath=written)
        context = host._contexts["memory-lancedb"]
        assert Settings.of(context).location == str(meant)
