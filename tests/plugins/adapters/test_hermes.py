"""Hermes with memslot as its memory provider: the real package, in an environment of its own.

hermes-agent pins its dependencies exactly (openai 2, for one), so it cannot be installed beside the other frameworks.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.adapters.conftest import PRIVATE
from tests.plugins.adapters.model_server import ModelServer, Use, say

pytestmark = [pytest.mark.install, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[3]
PLUGINS = ("memory_core", "embed_providers", "importers", "adapters[hermes]")
TALK = Path(__file__).with_name("hermes_talk.py")
PROMPT = "Which fruit does Ana like in the morning?"
TURNS = 50
FRUITS = ("papaya", "lychee", "quince", "guava", "persimmon")
TAG = "<relevant-memories>"

EAR = """
import json
import pathlib

import memslot

FILE = pathlib.Path(__file__).with_name("heard.jsonl")


def write(**told):
    with FILE.open("a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\\n")


@memslot.hookimpl
def agent_end(run, messages, success):
    write(event="end", session=run.session.id, success=success, messages=[dict(each) for each in messages])


@memslot.hookimpl
def before_compaction(session, messages, tokens):
    write(event="compaction", session=session.id, messages=len(messages))


@memslot.hookimpl
def session_end(session):
    write(event="session end", session=session.id)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the real hermes-agent and memslot from this tree."""
    folder = tmp_path_factory.mktemp("hermes")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    options = ("--quiet", "--disable-pip-version-check")
    folders = [ROOT / "core", *(ROOT / "plugins" / name for name in PLUGINS), ROOT]
    command = [python, "-m", "pip", "install", *options, *(part for each in folders for part in ("-e", str(each)))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return python


@pytest.fixture
def homes(tmp_path: Path) -> dict[str, Path]:
    homes = {name: tmp_path / name for name in ("memslot", "hermes", "user")}
    for home in homes.values():
        home.mkdir(mode=0o700)
    workspace = homes["memslot"] / "workspace"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text(f"{PRIVATE}\n", encoding="utf-8")
    plugin = homes["memslot"] / "plugins" / "ear"
    plugin.mkdir(parents=True, mode=0o700)
    (plugin / "__init__.py").write_text(EAR, encoding="utf-8")
    manifest = {"id": "ear", "kind": "tool", "name": "Ear", "entry": "ear", "minHostApi": 1}
    (plugin / "memslot.plugin.json").write_text(json.dumps(manifest), encoding="utf-8")
    config = {
        "plugins": {"load": {"paths": [str(plugin)]}},
        "agents": {"defaults": {"memorySearch": {"provider": "none"}}},
    }
    (homes["memslot"] / "memslot.json5").write_text(json.dumps(config), encoding="utf-8")
    (homes["hermes"] / "config.yaml").write_text("memory:\n  provider: memslot\n", encoding="utf-8")
    return homes


def run(python: Path, homes: dict[str, Path], *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(homes["user"]),
        "HERMES_HOME": str(homes["hermes"]),
        "MEMSLOT_HOME": str(homes["memslot"]),
    }
    return subprocess.run([python, *arguments], env=env, cwd=homes["user"], capture_output=True, text=True, timeout=300)


def test_hermes_remembers(python: Path, homes: dict[str, Path]) -> None:
    installed = run(python, homes, "-m", "memslot_adapters.hermes")
    assert (installed.returncode, installed.stderr) == (0, "")
    assert "memory.provider memslot" in installed.stdout

    with ModelServer() as server:
        look = Use("memory_search", arguments='{"query": "fruit in the morning"}')
        server.steps = [say("Mango, ", "of course."), look, say("Still mango.")]
        done = run(python, homes, str(TALK), f"{server.url}/v1", PROMPT, f"And now? {PROMPT}")
        requests = [request for request in server.requests if request.get("tools")]
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])

    assert told["found"] == [["memslot", "memslot: long-term memory in Markdown notes.", True]]
    assert told["answers"] == ["Mango, of course.", "Still mango."]
    assert told["is provider"] is True
    _check_requests(requests)
    heard = [json.loads(line) for line in (homes["memslot"] / "plugins/ear/heard.jsonl").read_text().splitlines()]
    ends = [each for each in heard if each["event"] == "end" and each["session"] == "talk"]
    assert [[message["content"] for message in end["messages"]] for end in ends] == [
        [PROMPT, "Mango, of course."],
        [f"And now? {PROMPT}", "Still mango."],
    ]

    assert {"memory_search", "memory_get", "memory_write"} <= set(told["tools"])
    assert PRIVATE in json.dumps(told["tool"])
    assert "query" in told["bad tool"]["error"]
    assert told["prompts"] == 1
    assert "Prefers quince jam on toast." in told["mirrored"]
    assert told["summary"] == ""
    assert {"event": "compaction", "session": "rare", "messages": 1} in heard
    assert [each["session"] for each in heard if each["event"] == "session end"] == ["talk", "rare", "team"]
    assert str(homes["memslot"] / "workspace") in told["backup"]
    assert PRIVATE not in told["group"]


def _check_requests(requests: list[dict[str, Any]]) -> None:
    """The prompt's beginning stays the same, and recalled text is in the last message of the user."""
    assert len(requests) == 3
    assert len({json.dumps(request["tools"]) for request in requests}) == 1
    assert len({json.dumps(request["messages"][0]) for request in requests}) == 1
    for request in requests:
        asked = [message for message in request["messages"] if message["role"] == "user"]
        assert asked[-1]["content"].index(PROMPT) < asked[-1]["content"].index(PRIVATE)
    assert "Ana likes mango" in json.dumps(requests[-1]["messages"][-1]), "the tool's result"


def test_over_fifty_turns_with_writes_between_only_the_end_of_the_prompt_changes(
    python: Path, homes: dict[str, Path]
) -> None:
    assert run(python, homes, "-m", "memslot_adapters.hermes").returncode == 0
    notes = [f"In the morning Ana likes the fruit {FRUITS[number % 5]} number {number}." for number in range(TURNS)]
    with ModelServer() as server:
        server.answer = lambda _: say("Mango.")
        done = run(python, homes, str(TALK), "--converse", f"{server.url}/v1", *notes)
    assert done.returncode == 0, done.stderr[-3000:]
    # Hermes also asks on its own, such as for a title.
    asked = [request for request in server.requests if request["messages"][-1]["content"].startswith("Question ")]

    assert len(asked) == TURNS
    assert len({json.dumps(request["tools"]) for request in asked}) == 1
    assert len({json.dumps(request["messages"][0]) for request in asked}) == 1
    for before, after in itertools.pairwise(request["messages"] for request in asked):
        assert after[: len(before)] == before, "Hermes keeps recalled text in its history"
    for number, request in enumerate(asked):
        told = request["messages"][-1]["content"]
        assert told.startswith(f"Question {number}: ")
        assert told.count(TAG) == 1
    assert any("Ana likes the fruit" in request["messages"][-1]["content"] for request in asked)


def test_another_plugin_of_that_name_is_left_alone(python: Path, homes: dict[str, Path]) -> None:
    for _ in range(2):
        assert run(python, homes, "-m", "memslot_adapters.hermes").returncode == 0
    file = homes["hermes"] / "plugins" / "memslot" / "__init__.py"
    file.write_text("mine = True\n", encoding="utf-8")
    done = run(python, homes, "-m", "memslot_adapters.hermes")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: {file} is not ours; remove it, and run this again\n"
    assert file.read_text(encoding="utf-8") == "mine = True\n"


def test_the_plugin_of_an_older_version_is_replaced(python: Path, homes: dict[str, Path]) -> None:
    assert run(python, homes, "-m", "memslot_adapters.hermes").returncode == 0
    manifest = homes["hermes"] / "plugins" / "memslot" / "plugin.yaml"
    now = manifest.read_text(encoding="utf-8")
    manifest.write_text(now.replace("version: ", "version: 0."), encoding="utf-8")
    assert run(python, homes, "-m", "memslot_adapters.hermes").returncode == 0
    assert manifest.read_text(encoding="utf-8") == now


def test_without_a_hermes_home_it_says_so(python: Path, homes: dict[str, Path]) -> None:
    done = run(python, homes, "-m", "memslot_adapters.hermes", str(homes["user"] / "none"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no Hermes home at" in done.stderr
