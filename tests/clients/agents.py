"""How each agent is told where its model and memslot are, and how it is run without a person."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clients.model_server import ModelServer
from tests.clients.programs import NODE, OPENCODE_TYPES, PROGRAMS, Program, install

SCRIPTS = Path(sys.executable).parent
HEARING_PLUGIN = '''
"""Writes down what the host tells it."""

import json
import os
import pathlib

from memslot import hookimpl

FILE = pathlib.Path(os.environ["MEMSLOT_HOME"]) / "heard.jsonl"


def note(**what):
    with FILE.open("a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\\n")


@hookimpl
def agent_end(run, messages, success):
    if messages:
        note(event="agent_end", session=run.session.id, messages=list(messages))


@hookimpl
def before_compaction(session, messages):
    note(event="before_compaction", session=session.id, messages=list(messages))


@hookimpl
def session_end(session):
    note(event="session_end", session=session.id)
'''


@dataclass(frozen=True)
class World:
    """A person's home with memslot in it, and a project."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "memslot"

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def env(self) -> dict[str, str]:
        """No variable of the person who runs the tests reaches an agent, but for what finds programs."""
        path = os.pathsep.join([str(SCRIPTS), str(NODE.bin), os.environ.get("PATH", "")])
        return {
            "PATH": path,
            "HOME": str(self.folder),
            "MEMSLOT_HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "NO_COLOR": "1",
        }

    def memslot(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(SCRIPTS / "memslot"), *arguments],
            env=self.env,
            cwd=self.project,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )

    def heard(self, event: str) -> list[dict[str, Any]]:
        """What plugins were told of an event."""
        file = self.home / "heard.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return [each for each in map(json.loads, lines) if each["event"] == event]

    def notes(self) -> str:
        return "\n".join(file.read_text(encoding="utf-8") for file in sorted(self.workspace.rglob("*.md")))


def make_world(folder: Path) -> World:
    """A home with a note about the harbour API, and a plugin that hears everything."""
    world = World(folder)
    world.project.mkdir(parents=True)
    (world.project / "README.md").write_text("A project.\n", encoding="utf-8")
    plugin = folder / "plugins" / "hearing"
    plugin.mkdir(parents=True, mode=0o700)
    (plugin / "__init__.py").write_text(HEARING_PLUGIN, encoding="utf-8")
    manifest = {"id": "hearing", "kind": "tool", "name": "Hearing", "entry": "hearing"}
    (plugin / "memslot.plugin.json").write_text(json.dumps(manifest), encoding="utf-8")
    world.workspace.mkdir(parents=True, mode=0o700)
    world.home.chmod(0o700)
    # Agents start servers with few variables, so the weights are where a server looks without one.
    (folder / ".cache").mkdir(mode=0o700)
    (folder / ".cache" / "memslot").symlink_to(os.environ["MEMSLOT_SHARED_CACHE"])
    config = {"plugins": {"load": {"paths": [str(folder / "plugins")]}}}
    (world.home / "memslot.json5").write_text(json.dumps(config), encoding="utf-8")
    (world.workspace / "MEMORY.md").write_text("We decided on PostgreSQL for the harbour API.\n", encoding="utf-8")
    world.memslot("memory", "index")
    return world


@dataclass(frozen=True)
class Run:
    """One run of an agent that came to its end."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Agent:
    """An agent in a world, with its own settings."""

    world: World
    model: ModelServer
    program: Program
    extra_env: dict[str, str] = field(default_factory=dict)

    def ask(self, prompt: str, *options: str, timeout: float = 120) -> Run:
        """Run the agent on a prompt, without a person."""
        done = subprocess.run(
            [str(self.program.bin / self.program.command), *self.arguments(prompt), *options],
            env={**self.world.env, **self.variables(), **self.extra_env},
            cwd=self.world.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Run(done.returncode, done.stdout, done.stderr)

    def arguments(self, prompt: str) -> list[str]:
        raise NotImplementedError

    def variables(self) -> dict[str, str]:
        return {}

    def configure(self) -> None:
        """Write the agent's own settings: its model is on loopback, and it calls nobody else."""
        raise NotImplementedError

    def transcripts(self) -> Path:
        """Where the agent keeps its conversations."""
        raise NotImplementedError

    def write_json(self, name: str, tree: Any) -> None:
        file = self.world.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(tree, indent=2), encoding="utf-8")


class ClaudeCode(Agent):
    def arguments(self, prompt: str) -> list[str]:
        return ["--print", prompt, "--allowedTools", "mcp__memslot"]

    def variables(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "sk-loopback",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def configure(self) -> None:
        self.write_json(".claude.json", {"hasCompletedOnboarding": True})

    def transcripts(self) -> Path:
        return self.world.folder / ".claude" / "projects"


class Codex(Agent):
    def arguments(self, prompt: str) -> list[str]:
        # Without a person nobody can review the hooks, which Codex asks for once.
        trust = ["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]
        return ["exec", *trust, "--skip-git-repo-check", prompt]

    def variables(self) -> dict[str, str]:
        return {"LOOPBACK_KEY": "sk-loopback"}

    def configure(self) -> None:
        file = self.world.folder / ".codex" / "config.toml"
        file.parent.mkdir(parents=True)
        file.write_text(
            f"""model = "loopback"
model_provider = "loopback"
model_context_window = 100000
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.loopback]
name = "loopback"
base_url = "{self.model.url}/v1"
wire_api = "responses"
env_key = "LOOPBACK_KEY"
""",
            encoding="utf-8",
        )

    def transcripts(self) -> Path:
        return self.world.folder / ".codex" / "sessions"


class Gemini(Agent):
    def arguments(self, prompt: str) -> list[str]:
        return ["--approval-mode", "yolo", "--model", "gemini-2.5-flash", "--prompt", prompt]

    def variables(self) -> dict[str, str]:
        return {
            "GOOGLE_GEMINI_BASE_URL": self.model.url,
            "GEMINI_API_KEY": "loopback",
            "GEMINI_TELEMETRY_ENABLED": "false",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def configure(self) -> None:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
        }
        self.write_json(".gemini/settings.json", settings)

    def transcripts(self) -> Path:
        return self.world.folder / ".gemini" / "tmp"


class Qwen(Agent):
    def arguments(self, prompt: str) -> list[str]:
        return ["--approval-mode", "yolo", "--prompt", prompt]

    def variables(self) -> dict[str, str]:
        return {
            "OPENAI_BASE_URL": f"{self.model.url}/v1",
            "OPENAI_API_KEY": "loopback",
            "OPENAI_MODEL": "loopback",
            "QWEN_TELEMETRY_ENABLED": "false",
            "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
        }

    def configure(self) -> None:
        settings = {
            "security": {"auth": {"selectedType": "openai"}},
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
        }
        self.write_json(".qwen/settings.json", settings)

    def transcripts(self) -> Path:
        return self.world.folder / ".qwen" / "projects"


def give_opencode_its_types(home: Path) -> None:
    """Put the package into opencode's config folder that it installs as soon as it has any plugin."""
    install(OPENCODE_TYPES)
    config = home / ".config" / "opencode"
    for name in ("package.json", "package-lock.json"):
        shutil.copy(OPENCODE_TYPES.folder / name, config / name)
    (config / "node_modules").symlink_to(OPENCODE_TYPES.folder / "node_modules")


class Opencode(Agent):
    def arguments(self, prompt: str) -> list[str]:
        return ["run", *prompt.split(" ")]  # it puts quotes around a word with spaces

    def variables(self) -> dict[str, str]:
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }

    def configure(self) -> None:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "loopback",
            "options": {"baseURL": f"{self.model.url}/v1", "apiKey": "loopback"},
            "models": {"loopback": {"name": "loopback", "limit": {"context": 100_000, "output": 8_000}}},
        }
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": "loopback/loopback",
            "small_model": "loopback/loopback",
            "provider": {"loopback": provider},
        }
        self.write_json(".config/opencode/opencode.json", settings)
        give_opencode_its_types(self.world.folder)

    def transcripts(self) -> Path:
        return self.world.folder / ".local" / "share" / "opencode"


AGENTS: dict[str, type[Agent]] = {
    "claude-code": ClaudeCode,
    "codex": Codex,
    "gemini": Gemini,
    "opencode": Opencode,
    "qwen": Qwen,
}


def make_agent(name: str, world: World, model: ModelServer) -> Agent:
    """The real program, connected to memslot by memslot's own command; raises an InstallError."""
    install(NODE)
    install(PROGRAMS[name])
    agent = AGENTS[name](world, model, PROGRAMS[name])
    agent.configure()
    world.memslot("connect", name, "--yes")
    return agent


def ask_chat(world: World, model: ModelServer, prompt: str) -> subprocess.CompletedProcess[str]:
    """Memslot's own chat, with the same model."""
    return subprocess.run(
        [str(SCRIPTS / "memslot"), "chat", prompt, "--base-url", f"{model.url}/v1", "--model", "loopback"],
        env={**world.env, "OPENAI_API_KEY": "loopback"},
        cwd=world.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
