"""`memslot connect` with the real programs: their own checks say whether they have it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.clients.agents import give_opencode_its_types
from tests.clients.programs import NODE, PROGRAMS, SLOW, install

pytestmark = [pytest.mark.clients, pytest.mark.timeout(SLOW)]

SCRIPTS = Path(sys.executable).parent
OWN_CHECKS = {
    "claude-code": "claude mcp list",
    "codex": "codex app-server",
    "gemini": "gemini mcp list",
    "opencode": "opencode mcp list",
    "qwen": "qwen mcp list",
}
SETTINGS = {
    "claude-code": (".claude/settings.json", '{\n  // mine\n  "model": "opus"\n}\n'),
    "codex": (
        ".codex/config.toml",
        '# mine\nmodel = "gpt-5" # best\n\n[mcp_servers.other]\ncommand = "x"\nenabled = false\n',
    ),
    "gemini": (".gemini/settings.json", '{\r\n  // mine\r\n  "ui": { "theme": "Default" }\r\n}\r\n'),
    "opencode": (".config/opencode/opencode.jsonc", '{\n  // mine\n  "theme": "system",\n}\n'),
    "qwen": (".qwen/settings.json", '{\n\t"ui": {\n\t\t"theme": "Qwen Dark" // mine\n\t}\n}'),
}


class Person:
    """A person with one of the programs, and a project."""

    def __init__(self, folder: Path, program: str) -> None:
        install(NODE)
        install(PROGRAMS[program])
        self.folder = folder
        self.program = program
        (folder / "project").mkdir()

    def memslot(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        path = [str(SCRIPTS), str(PROGRAMS[self.program].bin), str(NODE.bin), "/usr/bin", "/bin"]
        return subprocess.run(
            [str(SCRIPTS / "memslot"), *arguments],
            env={
                "PATH": os.pathsep.join(path),
                "HOME": str(self.folder),
                "MEMSLOT_HOME": str(self.folder / "memslot"),
                "MEMSLOT_SHARED_CACHE": os.environ["MEMSLOT_SHARED_CACHE"],
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "DISABLE_AUTOUPDATER": "1",
                "LANG": "C.UTF-8",
            },
            cwd=self.folder / "project",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def checks(self) -> dict[str, dict[str, Any]]:
        done = self.memslot("connect", self.program, "--check", "--json")
        return {each["check"]: each for each in json.loads(done.stdout)["clients"][0]["checks"]}


@pytest.mark.parametrize("program", list(PROGRAMS))
def test_the_program_has_tools_and_hooks_and_then_its_old_settings(tmp_path: Path, program: str) -> None:
    person = Person(tmp_path, program)
    name, text = SETTINGS[program]
    file = tmp_path / name
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode())
    if program == "opencode":
        give_opencode_its_types(tmp_path)

    before = person.checks()
    connected = person.memslot("connect", "--yes")
    written = file.read_bytes()
    checks = person.checks()
    # Asking a program may make it write into its own files, which undo must bear.
    touched = file.read_bytes() != written
    undone = person.memslot("connect", "--undo", "--yes")
    after = person.checks()

    assert not before["server"]["ok"]
    assert connected.returncode == 0, connected.stderr
    for what in ("server", "hooks", OWN_CHECKS[program]):
        assert checks[what]["ok"], checks
    if program == "codex":  # nobody has reviewed them, and memslot must not say so in their place
        assert "5 of 5 wait for your review" in checks["codex hooks"]["detail"]
    assert undone.returncode == 0, undone.stderr
    assert not after["server"]["ok"]
    assert touched or file.read_bytes() == text.encode()
    assert b"memslot" not in file.read_bytes()
