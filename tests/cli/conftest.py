"""The real command in a real process, with a home of its own."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

MEMORY_PLUGIN = """
from memslot import MemorySearchOutcome, MemoryStatus, hookimpl

class Shelf:
    def search(self, query, *, max_results=None):
        return MemorySearchOutcome(hits=(), mode="none")

    def status(self):
        return MemoryStatus(backend="shelf", counts={"books": 3})

    def close(self):
        pass

@hookimpl
def register_memory():
    return Shelf()
"""


class Command:
    """Runs `memslot` in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "project"
        self.project.mkdir()
        foreign = ("MEMSLOT_", "PYTHON", "LC_", "OPENAI_", "GEMINI_", "GOOGLE_", "VOYAGE_")
        skipped = {"LANG", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM"}
        kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign) and k not in skipped}
        self.env = {
            **kept,
            "HOME": str(folder),
            "MEMSLOT_HOME": str(self.home),
            "MEMSLOT_SHARED_CACHE": os.environ["MEMSLOT_SHARED_CACHE"],
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }
        self.argv = [sys.executable, "-m", "memslot"]

    @property
    def config(self) -> Path:
        return self.home / "memslot.json5"

    def write_config(self, text: str | Mapping[str, Any]) -> Path:
        self.home.mkdir(mode=0o700, exist_ok=True)
        self.config.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return self.config

    def __call__(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.argv, *arguments],
            env={**self.env, **env},
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    def ok(self, *arguments: str, **env: str) -> str:
        done = self(*arguments, **env)
        assert done.returncode == 0, f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def json(self, *arguments: str, **env: str) -> Any:
        return json.loads(self.ok(*arguments, "--json", **env))

    def on_a_terminal(self, *arguments: str, typed: str = "", **env: str) -> tuple[int, str]:
        """The exit code and everything that a pseudo-terminal shows; `typed` waits at the keyboard."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [*self.argv, *arguments],
            env={**self.env, **env},
            cwd=self.project,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = b""
        while select.select([ours], [], [], 60)[0]:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # Linux says so when the other side is closed
                break
            if not piece:
                break
            shown += piece
        os.close(ours)
        return process.wait(60), shown.decode()

    def add_plugin(self, plugin_id: str, code: str = MEMORY_PLUGIN, **manifest: Any) -> None:
        """A development folder; the config must name `plugins` under plugins.load.paths."""
        folder = self.folder / "plugins" / plugin_id.replace("-", "_")
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(textwrap.dedent(code), encoding="utf-8")
        tree = {"id": plugin_id, "kind": "memory", "name": plugin_id, "version": "1.2.3", **manifest}
        (folder / "memslot.plugin.json").write_text(json.dumps(tree), encoding="utf-8")

    @property
    def load(self) -> dict[str, Any]:
        return {"paths": [str(self.folder / "plugins")]}


@pytest.fixture
def memslot(tmp_path: Path) -> Command:
    return Command(tmp_path)
