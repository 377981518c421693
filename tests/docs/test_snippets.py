"""Every snippet in the docs works: Python runs, manifests and settings are valid.

The words after a fence's language say what to do with it:

    python                run as a program, in a process of its own with an empty home
    python no-run         shown only
    python pytest         run as a test file
    python file=a/b.py    written to that file, which later snippets of the page can import; then run
    sh run                run by the shell, in an empty folder and with a home that is not there yet
    json manifest         checked as a plugin's manifest; other `json` has to be valid JSON
    json5                 checked as a config
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from memslot.config.read import parse_config_bytes
from memslot.plugins.config_loader import parse_config
from memslot.plugins.manifest import parse_manifest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(ROOT.glob("*.md")),
    ROOT / "core" / "README.md",
    *sorted(ROOT.glob("plugins/*/README.md")),
    *sorted(ROOT.glob("examples/**/README.md")),
]
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Snippet:
    page: Path
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    @property
    def file(self) -> str | None:
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def snippets_of(page: Path) -> list[Snippet]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        language, *words = match["info"].split() or [""]
        body = re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        found.append(Snippet(page, text.count("\n", 0, match.start()) + 1, language, tuple(words), body))
    return found


SNIPPETS = [snippet for page in PAGES for snippet in snippets_of(page)]
PYTHON = [s for s in SNIPPETS if s.language == "python" and "no-run" not in s.words]
SHELL = [s for s in SNIPPETS if s.language == "sh" and "run" in s.words]
JSON = [s for s in SNIPPETS if s.language == "json"]
SETTINGS = [s for s in SNIPPETS if s.language == "json5"]


def place(snippet: Snippet, folder: Path) -> Path:
    """Write a snippet, and the files of its page that come before it."""
    for earlier in SNIPPETS:
        if earlier.page == snippet.page and earlier.file is not None:
            target = folder / earlier.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(earlier.text, encoding="utf-8")
    own = folder / (snippet.file or "test_snippet.py")
    own.write_text(snippet.text, encoding="utf-8")
    return own


def environ_in(folder: Path) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("MEMSLOT_")}
    commands = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    return env | {
        "MEMSLOT_HOME": str(folder / "home"),
        "PYTHONPATH": str(folder),
        "HOME": str(folder),
        "PATH": commands,
    }


@pytest.mark.parametrize("snippet", PYTHON, ids=str)
def test_python_runs(snippet: Snippet, tmp_path: Path) -> None:
    file = place(snippet, tmp_path)
    env = environ_in(tmp_path)
    how = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull] if "pytest" in snippet.words else []
    done = subprocess.run(
        [sys.executable, *how, str(file)], capture_output=True, text=True, env=env, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, f"{snippet}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("snippet", SHELL, ids=str)
def test_shell_runs(snippet: Snippet, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-eu"],
        input=snippet.text,
        capture_output=True,
        text=True,
        env=environ_in(tmp_path),
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, f"{snippet}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("snippet", JSON, ids=str)
def test_json_is_valid(snippet: Snippet) -> None:
    if "manifest" in snippet.words:
        parse_manifest(snippet.text.encode(), str(snippet))
    else:
        json.loads(snippet.text)


@pytest.mark.parametrize("snippet", SETTINGS, ids=str)
def test_settings_are_valid(snippet: Snippet) -> None:
    raw = parse_config_bytes(Path(f"{snippet}.json5"), snippet.text.encode())
    names = re.findall(r"\$\{(\w+)\}", snippet.text)
    assert not parse_config(raw.tree, env=dict.fromkeys(names, "a-value")).entry_problems


def test_snippets_are_found() -> None:
    assert [s for s in PYTHON if s.page.name == "writing-a-plugin.md"]
    assert [s for s in JSON if "manifest" in s.words]


def test_a_manifest_is_said_to_be_one() -> None:
    shy = [str(s) for s in JSON if "configSchema" in s.text and "manifest" not in s.words]
    assert shy == [], "write ```json manifest"


def test_words_are_known() -> None:
    known = {"no-run", "pytest", "manifest", "run"}
    odd = [
        f"{s}: {w}" for s in [*PYTHON, *SHELL, *JSON] for w in s.words if w not in known and not w.startswith("file=")
    ]
    assert odd == []


def test_what_does_not_run_is_no_program() -> None:
    """`no-run` is for signatures; a snippet that could run should."""
    still = [s for s in SNIPPETS if s.language == "python" and "no-run" in s.words]
    assert still
    assert [str(s) for s in still if "import " in s.text] == []
