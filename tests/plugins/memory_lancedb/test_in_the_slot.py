from __future__ import annotations

from pathlib import Path

from memslot import Host


def load(tmp_path: Path, **config: object) -> Host:
    plugins = {"slots": {"memory": "memory-lancedb"}, "entries": {"memory-lancedb": {"config": config}}}
    return Host.load({"plugins": plugins}, home=tmp_path, env={})


def test_it_owns_the_slot_and_says_that_it_stores_nothing_yet(tmp_path: Path) -> None:
    with load(tmp_path) as host:
        assert host.memory_owner == "memory-lancedb"
        assert not host.memory_status().is_healthy
        assert host.memory_status().details["dbPath"] == str(tmp_path / "memory" / "lancedb")
        assert "memory-core" not in host.plugins


def test_its_settings_are_checked_and_secrets_in_them_hidden(tmp_path: Path) -> None:
    with load(tmp_path, storageOptions={"secret": 5}, dbpath="x") as host:
        assert host.memory is None
        (event,) = host.diagnostics
        assert 'did you mean "dbPath"?' in event.message
        assert "storageOptions.secret is ***" in event.message
