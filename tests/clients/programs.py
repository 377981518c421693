"""The real programs, installed from npm by name and kept in `.build/clients`."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".build" / "clients"
SECONDS = 280
"""How long npm may take for one program."""
SLOW = 3 * SECONDS
"""How long a test may take that installs what it needs, so that npm's time runs out before the test's."""


@dataclass(frozen=True)
class Program:
    """A program at a pinned version, in a folder of its own."""

    id: str
    package: str
    version: str
    command: str

    @property
    def folder(self) -> Path:
        return FOLDER / self.id

    @property
    def bin(self) -> Path:
        return self.folder / "node_modules" / ".bin"

    @property
    def is_installed(self) -> bool:
        try:
            text = (self.folder / "node_modules" / self.package / "package.json").read_text(encoding="utf-8")
        except OSError:
            return False
        is_whole = not self.command or (self.bin / self.command).exists()
        return json.loads(text).get("version") == self.version and is_whole


NODE = Program("node", "node", "26.10.0", "node")
"""The agents need Node 22 or newer."""
OPENCODE_TYPES = Program("opencode-types", "@opencode-ai/plugin", "1.18.33", "")
"""What opencode installs into its config folder as soon as it has any plugin; here it finds it there."""
PROGRAMS = {
    program.id: program
    for program in (
        Program("claude-code", "@anthropic-ai/claude-code", "2.1.327", "claude"),
        Program("codex", "@openai/codex", "0.169.0", "codex"),
        Program("gemini", "@google/gemini-cli", "0.61.0", "gemini"),
        Program("opencode", "opencode-ai", "1.18.33", "opencode"),
        Program("qwen", "@qwen-code/qwen-code", "0.24.4", "qwen"),
    )
}


class InstallError(Exception):
    """A program cannot be installed; says which, and why."""


def install(program: Program) -> None:
    """Install a program, unless this version is here; raises an InstallError."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{program.id}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two workers of pytest want it at once
        if program.is_installed:
            return
        npm = shutil.which("npm")
        if npm is None:
            raise InstallError(f"{program.package}@{program.version} cannot be installed: there is no npm")
        shutil.rmtree(program.folder, ignore_errors=True)
        program.folder.mkdir()
        (program.folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        options = ("--no-audit", "--no-fund", "--save-exact", "--loglevel=error")
        try:
            done = subprocess.run(
                [npm, "install", *options, f"{program.package}@{program.version}"],
                cwd=program.folder,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            reason = f"npm took more than {SECONDS} seconds"
            raise InstallError(f"{program.package}@{program.version} cannot be installed: {reason}") from None
        if done.returncode != 0 or not program.is_installed:
            reason = done.stderr.strip() or done.stdout.strip()
            raise InstallError(f"{program.package}@{program.version} cannot be installed: {reason[-2000:]}")
