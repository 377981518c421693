"""memory-lancedb in two workspaces on one home: shared by default, apart with `scope: "workspace"`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from memslot import Host

pytest.importorskip("lancedb")


def load(home: Path, workspace: Path, scope: str | None = None) -> Host:
    settings: dict[str, Any] = {} if scope is None else {"scope": scope}
    plugins = {"slots": {"memory": "memory-lancedb"}, "entries": {"memory-lancedb": {"config": settings}}}
    agents = {"defaults": {"workspace": str(workspace), "memorySearch": {"provider": "none"}}}
    return Host.load({"plugins": plugins, "agents": agents}, home=home, env={})


def recalled(host: Host) -> str:
    return str(host.call_tool("memory_recall", {"query": "codename osprey"}).data)


def test_memories_follow_the_agent_unless_they_belong_to_the_workspace(tmp_path: Path) -> None:
    home, first, second = tmp_path / "home", tmp_path / "a", tmp_path / "b"
    with load(home, first, "workspace") as host:
        host.call_tool("memory_store", {"text": "The codename is osprey."})
        assert "osprey" in recalled(host)
    with load(home, second, "workspace") as host:
        assert "osprey" not in recalled(host)
        with host.run("what is the codename osprey about?") as run:
            assert "The codename is osprey." not in run.prompt
    with load(home, first) as host:
        assert "osprey" not in recalled(host), "nor does the agent as a whole see it"
        host.call_tool("memory_store", {"text": "The codename osprey is for everybody."})
    with load(home, second) as host:
        assert "for everybody" in recalled(host)
    with load(home, first, "workspace") as host:
        assert "for everybody" not in recalled(host)
