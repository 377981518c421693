"""Two configs that want one index in different shapes: it is rebuilt once, and then both are told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


class Project:
    """A workspace and two configs for it on one home."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "home" / "workspace").mkdir(parents=True)
        (folder / "home" / "workspace" / "MEMORY.md").write_text("The lighthouse is red.\n" * 200)
        for tokens in (400, 100):
            search = {"provider": "none", "chunking": {"tokens": tokens, "overlap": 20}, "sync": {"watch": False}}
            config = {"agents": {"defaults": {"memorySearch": search}}}
            (folder / f"{tokens}.json").write_text(json.dumps(config))

    def run(self, tokens: int, *arguments: str) -> Any:
        env = {name: value for name, value in os.environ.items() if not name.startswith("MEMSLOT_")}
        env |= {
            "MEMSLOT_HOME": str(self.folder / "home"),
            "MEMSLOT_CONFIG": str(self.folder / f"{tokens}.json"),
            "MEMSLOT_LOAD_PLUGINS": "memory-core",
        }
        command = [sys.executable, "-m", "memslot", "memory", *arguments, "--json"]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)


def test_settings_that_come_back_are_not_followed_but_told(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.run(400, "index")
    for _ in range(2):
        project.run(100, "index")
        project.run(400, "index")
    status = project.run(400, "status")
    assert status["generation"] == 2, "built, and rebuilt once"
    (problem,) = [each for each in status["problems"] if "other settings" in each]
    assert "the chunk size: 100 → 400" in problem
    assert "memslot memory index --force" in problem
    assert project.run(100, "status")["problems"] == []

    found = project.run(400, "search", "lighthouse")
    assert found["results"], "the index that is there serves"
    assert "the chunk size: 100 → 400" in found["warning"]
    assert found["action"] == "run: memslot memory index --force"

    project.run(400, "index", "--force")
    assert project.run(400, "status")["problems"] == []
    assert project.run(100, "status")["generation"] == 3, "and now the other one is told"
    assert "warning" not in project.run(400, "search", "lighthouse")
