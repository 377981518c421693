"""The real program, installed once for all runs, and a fake one for everything that can go wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import filelock
import pytest
from memslot_memory_core.qmd.memory import QmdMemory
from memslot_memory_core.qmd.settings import QmdSettings

QMD, NODE = "@tobilu/qmd@2.8.3", "node@22"

MakeMemory = Callable[..., QmdMemory]

# Answers as the real program does, and takes part in every test through one door: what it is to do is in a file
# beside it, and what it was asked is written to another.
_FAKE = """#!{python} -IS
import json, os, subprocess, sys, time
here = os.path.dirname(os.path.abspath(__file__))
plan = json.load(open(os.path.join(here, "plan.json")))
arguments = sys.argv[1:]
with open(os.path.join(here, "calls.jsonl"), "a") as log:
    log.write(json.dumps({{"arguments": arguments, "env": dict(os.environ), "cwd": os.getcwd()}}) + "\\n")
assert sys.stdin.read() == "", "input where there should be none"
command = next(each for each in arguments[2:] if each)
step = plan.get(command, {{}})
if command in ("update", "collection") and command not in plan:
    database = os.path.join(os.environ["XDG_CACHE_HOME"], "qmd", "index.sqlite")
    open(database, "a").close()
    print("Indexed: 0 new, 0 updated, 3 unchanged, 0 removed")
if step.get("spawn"):
    child = subprocess.Popen(["sleep", "60"])
    open(os.path.join(here, "child.pid"), "w").write(str(child.pid))
sys.stderr.write(step.get("stderr", ""))
sys.stderr.flush()
for _ in range(step.get("megabytes", 0)):
    sys.stdout.write("x" * 2**20)
sys.stdout.buffer.write(bytes.fromhex(step.get("hex", "")))
sys.stdout.write(step.get("stdout", ""))
sys.stdout.flush()
time.sleep(step.get("sleep", 0))
sys.exit(step.get("code", 0))
"""


class Fake:
    """A program called `qmd` that does what it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "qmd"
        folder.mkdir()
        self.program.write_text(_FAKE.format(python=sys.executable), encoding="utf-8")
        self.program.chmod(0o755)
        self.will()

    def will(self, **steps: dict[str, Any]) -> None:
        """What each command does from now on; without a word about it, it succeeds."""
        file = self.folder / "plan.json"
        other = self.folder / "plan.new"
        other.write_text(json.dumps({"search": {"stdout": "[]"}, **steps}), encoding="utf-8")
        other.replace(file)

    def finds(self, *rows: dict[str, Any], **step: Any) -> None:
        """`search` finds these."""
        self.will(search={"stdout": json.dumps(list(rows)), **step})

    @property
    def calls(self) -> list[dict[str, Any]]:
        log = self.folder / "calls.jsonl"
        return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []

    def commands(self) -> list[list[str]]:
        """What it was asked, without the words that choose the index."""
        return [call["arguments"][2:] for call in self.calls]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path / "fake")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return make_workspace(tmp_path / "workspace")


def make_workspace(folder: Path) -> Path:
    """Three notes, one of them about the person."""
    (folder / "memory" / "trips").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Me\n\nMy passport is in the blue drawer.\n", encoding="utf-8")
    (folder / "memory" / "2026-01-02.md").write_text("# Friday\n\nWe chose the Delft office.\n", encoding="utf-8")
    (folder / "memory" / "trips" / "Köln & co #1.md").write_text("Delft by train --help\n", encoding="utf-8")
    return folder


@pytest.fixture
def make_memory(tmp_path: Path, workspace: Path) -> Iterator[MakeMemory]:
    made: list[QmdMemory] = []

    def make(command: Path | str, *, more: dict[str, Any] | None = None, **settings: Any) -> QmdMemory:
        memory = QmdMemory(
            QmdSettings(command=str(command), **settings), workspace=workspace, home=tmp_path / "qmd", **(more or {})
        )
        made.append(memory)
        return memory

    yield make
    for memory in made:
        memory.close()


@pytest.fixture(scope="session")
def real_qmd() -> Path:
    """The program from npm. Its folder is kept between runs: `MEMSLOT_QMD_PREFIX`, or one in the user's cache."""
    prefix = Path(os.environ.get("MEMSLOT_QMD_PREFIX") or Path.home() / ".cache" / "memslot-qmd")
    program, done = prefix / "node_modules" / ".bin" / "qmd", prefix / "installed.json"
    wanted = json.dumps([NODE, QMD])
    prefix.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(prefix / ".lock"):  # several test runs may begin at once
        if not done.exists() or done.read_text(encoding="utf-8") != wanted or not program.exists():
            npm = shutil.which("npm")
            if npm is None:
                pytest.fail("npm is needed to install the real qmd: install Node, or set MEMSLOT_QMD_PREFIX")
            # The newer Node first: npm chooses a qmd that fits the Node it runs on.
            for package in (NODE, QMD):
                _install([npm, "install", "--no-audit", "--no-fund", "--prefix", str(prefix), package], program.parent)
            done.write_text(wanted, encoding="utf-8")
    return program


def _install(command: Sequence[str], programs: Path) -> None:
    env = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=280)
    if done.returncode != 0:
        pytest.fail(f"npm could not install {command[-1]}:\n{done.stdout}\n{done.stderr}")
