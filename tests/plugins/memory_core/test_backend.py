"""Hosts that mean one memory share it; errors and settings do not give keys away."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memslot import Config, PluginContext, Selection, redact
from memslot.config.paths import Places
from memslot_memory_core import backend
from memslot_memory_core.backend import manager_of
from memslot_memory_core.background_sync import BackgroundSync
from memslot_memory_core.embedder import EmbedderChoice
from memslot_memory_core.index.report import SyncReport

KEY = "sk-proj-" + "A1b2C3d4" * 6
MakeContext = Callable[..., PluginContext]


@pytest.fixture
def make_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeContext:
    monkeypatch.setattr(backend, "_shared", backend._SharedManagers())

    def make(plugins: dict[str, Any] | None = None) -> PluginContext:
        search = {"provider": "none", "remote": {"apiKey": KEY}}
        return PluginContext(
            "memory-core",
            config={},
            agent_id="main",
            places=Places(tmp_path, tmp_path / "memslot.json5"),
            host_config=Config.from_tree({"agents": {"defaults": {"memorySearch": search}}, "plugins": plugins or {}}),
            select_embedder=lambda _: Selection(None, "none", "none in this test"),
        )

    return make


def test_hosts_share_a_memory_only_where_their_plugins_are_the_same(make_context: MakeContext) -> None:
    one, two, other = make_context(), make_context(), make_context({"deny": ["embeddings-openai"]})
    managers = [manager_of(each) for each in (one, two, other)]
    assert managers[0] is managers[1]
    assert managers[0] is not managers[2]
    for manager in managers:
        manager.close()


def test_a_closed_memory_is_let_go_and_no_key_is_kept(make_context: MakeContext) -> None:
    ctx = make_context()
    manager_of(ctx).close()
    again = make_context()
    assert manager_of(again) is not manager_of(ctx)
    assert KEY not in repr(list(backend._shared._made.keys()))
    manager_of(again).close()
    del ctx, again
    gc.collect()
    assert not list(backend._shared._made)


def test_what_failed_is_said_without_its_keys() -> None:
    assert KEY not in redact(KEY)

    def fail(*_: object) -> Any:
        raise RuntimeError(f"401 for Authorization: Bearer {KEY}")

    choice = EmbedderChoice(fail)
    choice.choose()
    assert choice.failure is not None
    assert "401" in choice.failure
    assert KEY not in choice.failure

    def fail_to_sync(*_: object) -> SyncReport:
        return fail()

    background = BackgroundSync(fail_to_sync)
    background.request()
    assert background.wait(30.0)
    background.close()
    assert background.failure is not None
    assert "401" in background.failure
    assert KEY not in background.failure
