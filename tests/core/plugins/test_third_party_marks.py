"""Plugins of strangers, installed as packages: pluggy's usual marks work, and the old `priority` is refused kindly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MARKED = """
from memslot import AgentStart, hookimpl


@hookimpl(tryfirst=True, specname="before_agent_start")
def recall_first(run):
    return AgentStart(prepend_context=f"first for {run.prompt}")


@hookimpl(trylast=True)
def before_agent_start():
    return AgentStart(prepend_context="last")


@hookimpl(optionalhook=True)
def memory_dreamt(dream):
    raise AssertionError("this host has no such hook")
"""

PRIORITY = """
from memslot import AgentStart, hookimpl


@hookimpl(priority=10)
def before_agent_start():
    return AgentStart(prepend_context="never")
"""


def write_package(folder: Path, name: str, code: str) -> Path:
    package = folder / f"stranger_{name}"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(code)
    manifest = {
        "id": f"stranger-{name}",
        "kind": "tool",
        "name": name,
        "version": "1.0",
        "description": "A stranger.",
        "entry": f"stranger_{name}",
        "minHostApi": 1,
    }
    (package / "memslot.plugin.json").write_text(json.dumps(manifest))
    (folder / "pyproject.toml").write_text(
        f"""
        [build-system]
        requires = ["hatchling"]
        build-backend = "hatchling.build"
        [project]
        name = "stranger-{name}"
        version = "1.0"
        [project.entry-points."memslot.plugins"]
        stranger-{name} = "stranger_{name}"
        """
    )
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which both packages were installed by pip."""
    target = tmp_path_factory.mktemp("site")
    packages = [
        write_package(tmp_path_factory.mktemp(name), name, code)
        for name, code in (("marked", MARKED), ("priority", PRIORITY))
    ]
    # hatchling is among the tools of this environment, so nothing is fetched for the build.
    quiet = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(target))
    subprocess.run([sys.executable, "-m", "pip", "install", *quiet, *map(str, packages)], check=True, timeout=240)
    return target


def test_pluggys_marks_work_and_a_priority_is_refused_with_its_cure(installed: Path, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(installed), "MEMSLOT_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "memslot", "run", "hello", "--json"], env=env, capture_output=True, text=True, check=True
    )
    context = json.loads(done.stdout)["context"]
    assert context.index("first for hello") < context.index("last")
    assert "never" not in context
    doctor = subprocess.run(
        [sys.executable, "-m", "memslot", "doctor"], env=env, capture_output=True, text=True, check=False
    )
    said = " ".join((doctor.stdout + doctor.stderr).split())
    assert "stranger-priority" in said
    assert "tryfirst=True" in said
