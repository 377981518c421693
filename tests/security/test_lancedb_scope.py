"""memory-lancedb in two workspaces on one home: shared by default, apart with `scope: "workspace"`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from memslot import Host, RunInfo, Session
from memslot.agent.spool import Spool

pytest.importorskip("lancedb")


def load(home: Path, workspace: Path, scope: str | None = None, **more: Any) -> Host:
    settings: dict[str, Any] = more if scope is None else {"scope": scope, **more}
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


FACT = "Remember that my locker code is osprey 4711."


def ltm(host: Host, *arguments: str) -> str:
    done = CliRunner().invoke(host.plugin_commands("memory-lancedb")["ltm"], list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


def test_every_command_keeps_to_the_workspace(tmp_path: Path) -> None:
    home, first, second = tmp_path / "home", tmp_path / "a", tmp_path / "b"
    with load(home, first, "workspace") as one, load(home, second, "workspace") as other:
        made = json.loads(ltm(one, "add", "The codename is osprey.", "--json"))["memory"]["id"]
        looks = [("list", "--json"), ("search", "codename osprey", "--json"), ("export",), ("history", "--json")]
        assert all("osprey" in ltm(one, *look) for look in looks[:3])
        assert [look for look in looks if "osprey" in ltm(other, *look)] == []
        CliRunner().invoke(other.plugin_commands("memory-lancedb")["ltm"], ["forget", made, "--yes"])
        assert "osprey" in ltm(one, "list", "--json"), "nobody elsewhere can forget it"
        (tmp_path / "b.jsonl").write_text(ltm(one, "export").replace("osprey", "walrus"))
        ltm(other, "import", str(tmp_path / "b.jsonl"), "--format", "jsonl")
        assert "walrus" in ltm(other, "list", "--json")
        assert "walrus" not in ltm(one, "list", "--json")


def test_captures_stay_in_the_workspace_also_those_from_the_spool(tmp_path: Path) -> None:
    home, first, second = tmp_path / "home", tmp_path / "a", tmp_path / "b"
    messages = [{"role": "user", "content": FACT}]
    with load(home, first, "workspace", autoCapture=True) as host:
        spool = Spool(host.places, "main", first)
    spool.add(RunInfo(FACT, Session("main", "s1", "direct"), "r1"), messages, True, None, ["memory-lancedb"])
    spool.close()
    with load(home, second, "workspace", autoCapture=True) as host, host.run("hello there") as run:
        run.finish([{"role": "user", "content": "Remember that my desk number is walrus 8152."}])
    with load(home, second, "workspace") as host:
        told = ltm(host, "list", "--json")
        assert "walrus" in told
        assert "osprey" not in told, "the other workspace's entry is not taken up here"
    with load(home, first, "workspace", autoCapture=True) as host, host.run("hello there") as run:
        run.finish([{"role": "user", "content": "hello there"}])
    with load(home, first, "workspace") as host:
        told = ltm(host, "list", "--json")
        assert "osprey" in told
        assert "walrus" not in told
    with load(home, first) as host:
        assert "osprey" not in ltm(host, "list", "--json"), "nor is it the agent's as a whole"
