"""A home with notes and a plugin of odd tools, and the real command in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ODD_PLUGIN = '''
"""Tools that are slow, loud or wrong."""

import os
import pathlib
import time

from memslot import Tool, hookimpl

HOME = pathlib.Path(os.environ["MEMSLOT_HOME"])
print("printed at import")


def slow(args):
    time.sleep(args["seconds"])
    with (HOME / "done.txt").open("a") as file:
        file.write("done\\n")
    return "slept"


def loud(args):
    print("printed by a tool")
    os.write(1, b"written to descriptor 1\\n")
    os.system("echo printed by a child")
    return {"heard": True}


def broken(args):
    raise ValueError("it is broken")


def echo(args):
    return args["text"]


def schema(**properties):
    return {"type": "object", "properties": properties, "additionalProperties": False, "required": list(properties)}


@hookimpl
def register_tools(ctx):
    tools = [
        Tool("slow", "Sleeps.", schema(seconds={"type": "number"}), slow),
        Tool("loud", "Prints.", schema(), loud, read_only=True, title="Loud"),
        Tool("broken", "Fails.", schema(), broken, destructive=True),
        Tool("echo", "Repeats.", schema(text={"type": "string"}), echo),
    ]
    names = ctx.config.get("only")
    return [tool for tool in tools if names is None or tool.name in names]


@hookimpl
def agent_end(run, messages, success):
    import json

    with (HOME / "ended.jsonl").open("a") as file:
        file.write(json.dumps({"session": run.session.id, "messages": list(messages), "success": success}) + "\\n")
'''


PATIENT = """
import runpy, sys
from memslot_mcp_server import hook_client
from memslot_mcp_server.hooks import events
hook_client.ANSWER_SECONDS = events.START_SECONDS = events.RECALL_SECONDS = 50
sys.argv[0] = "memslot"
runpy.run_module("memslot", run_name="__main__")
"""
"""`memslot`, with the time that a busy machine needs for a hook."""
PATIENT_CLIENT = "from memslot_mcp_server import hook_client; hook_client.ANSWER_SECONDS = 50; hook_client.main()"


@dataclass(frozen=True)
class World:
    """A home and a folder to work in."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"

    @property
    def env(self) -> dict[str, str]:
        foreign = ("MEMSLOT_", "PYTHON", "CLAUDE_", "CODEX_", "XDG_", "OPENAI_", "GEMINI_", "GOOGLE_", "VOYAGE_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        kept["MEMSLOT_SHARED_CACHE"] = os.environ["MEMSLOT_SHARED_CACHE"]
        return {**kept, "HOME": str(self.folder), "MEMSLOT_HOME": str(self.home), "LANG": "C.UTF-8"}

    @property
    def argv(self) -> list[str]:
        return [sys.executable, "-m", "memslot"]

    def write_config(self, **odd: Any) -> None:
        config = {
            "agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"watch": False}}}},
            "plugins": {"load": {"paths": [str(self.folder / "plugins")]}, "entries": {"odd": {"config": odd}}},
        }
        temporary = self.home / "config.tmp"
        temporary.write_text(json.dumps(config), encoding="utf-8")
        temporary.replace(self.home / "memslot.json5")

    def run(self, *arguments: str, stdin: bytes | str = b"", **env: str) -> subprocess.CompletedProcess[str]:
        return self._run([*self.argv, *arguments], stdin, env)

    def hook(self, client: str, event: str, stdin: bytes | str) -> subprocess.CompletedProcess[str]:
        """`memslot hook`, without the limit on its time."""
        return self._run([sys.executable, "-c", PATIENT, "hook", client, event], stdin, {})

    def ask_server(self, client: str, event: str, stdin: bytes | str) -> subprocess.CompletedProcess[str]:
        """`memslot-hook`, without the limit on its time."""
        return self._run([sys.executable, "-c", PATIENT_CLIENT, client, event], stdin, {})

    def _run(
        self, command: Sequence[str], stdin: bytes | str, env: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            env={**self.env, **env},
            cwd=self.folder / "project",
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            [*self.argv, *arguments], env=self.env, cwd=self.folder / "project", **{**pipes, **options}
        )


def make_world(folder: Path) -> World:
    world = World(folder)
    (folder / "project").mkdir(parents=True)
    (world.workspace / "memory").mkdir(parents=True, mode=0o700)
    world.home.chmod(0o700)
    (world.workspace / "MEMORY.md").write_text("We decided on PostgreSQL for the harbour API.\n", encoding="utf-8")
    (world.workspace / "memory" / "2026-01-02.md").write_text("The orchid was watered.\n", encoding="utf-8")
    plugin = folder / "plugins" / "odd"
    plugin.mkdir(parents=True, mode=0o700)
    (plugin / "__init__.py").write_text(textwrap.dedent(ODD_PLUGIN), encoding="utf-8")
    schema = {"type": "object", "properties": {"only": {"type": "array", "items": {"type": "string"}}}}
    manifest = {"id": "odd", "kind": "tool", "name": "Odd", "entry": "odd", "configSchema": schema}
    (plugin / "memslot.plugin.json").write_text(json.dumps(manifest), encoding="utf-8")
    world.write_config()
    return world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)
