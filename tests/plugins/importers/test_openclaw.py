"""`memslot import openclaw` on a home that looks like a real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SECRET = "sk-proj-" + "a1b2c3d4e5f6g7h8i9j0"
CONFIG = """// written by hand
{
  gateway: { port: 18789, auth: { token: "gateway-token-1" } },
  channels: { telegram: { botToken: "123:abc" } },
  agents: {
    defaults: {
      workspace: "~/.openclaw/workspace",
      model: { primary: "anthropic/some-model" },
      memorySearch: {
        provider: "openai",
        remote: { apiKey: "LITERAL", baseUrl: "https://api.example.com/v1/" },
        extraPaths: ["../team-docs", "/srv/notes.md", { path: "docs", pattern: "**/*.md" }],
        store: { path: "/data/openclaw/{agentId}.sqlite", vector: { enabled: true } },
        query: { maxResults: 8, hybrid: { vectorWeight: 0.6, textWeight: 0.4, magic: 1 } },
        sync: { watch: "yes" },
      },
    },
    list: [
      { id: "home", name: "Molty" },
      { id: "work", default: true },
      { id: "shared", workspace: "~/.openclaw/workspace", memorySearch: { query: { maxResults: 3 } } },
      { id: "no good!" },
    ],
  },
  memory: { citations: "on", qmd: { limits: { timeoutMs: 8000 } } },
  plugins: {
    slots: { memory: "memory-core" },
    entries: {
      "memory-shelf": {
        config: {
          embedding: { apiKey: "${OPENAI_API_KEY}", model: "text-embedding-3-small" },
          dbPath: "~/.openclaw/memory/shelf",
          depth: "deep",
        },
      },
      "voice-call": { enabled: true },
    },
  },
}
""".replace("LITERAL", SECRET)
MESSAGE = '{"type": "message", "message": {"role": "user", "content": "hello"}}\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """`work` is the default agent and uses `workspace`, as `shared` does; `home` has a folder of its own."""
    root = tmp_path / ".openclaw"
    files = {
        "openclaw.json": CONFIG,
        "workspace/MEMORY.md": "# Work\n",
        "workspace/USER.md": "Anna\n",
        "workspace/AGENTS.md": "not a note\n",
        "workspace/memory/2026-01-02.md": "a\n",
        "workspace/memory/people/bob.md": "Bob\n",
        "workspace/memory/state.json": "{}",
        "workspace-home/MEMORY.md": "# Home\n",
        "agents/work/sessions/one.jsonl": MESSAGE,
        "agents/work/sessions/sessions.json": "{}",
        "agents/home/sessions/two.jsonl": MESSAGE * 2,
        "agents/gone/sessions/three.jsonl": MESSAGE,
    }
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (root / "workspace" / "memory" / "link.md").symlink_to(root / "workspace" / "AGENTS.md")
    return root


def _install_shelf(memslot: Any) -> None:
    """A plugin that takes settings: those of a plugin that is not installed cannot be checked, and stay out."""
    embedding = {"type": "object", "properties": {"apiKey": {"type": "string"}, "model": {"type": "string"}}}
    known = {"embedding": embedding, "dbPath": {"type": "string"}, "depth": {"type": "integer"}}
    memslot.add_plugin("memory-shelf", configSchema={"type": "object", "properties": known})
    memslot.write_config({"plugins": {"load": memslot.load}})


def _content(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.is_relative_to(folder / "cache") and file.suffix in (".md", ".jsonl", ".json5")
    }


def _states(done: Any) -> dict[str, str]:
    return {setting["key"]: setting["state"] for setting in done["settings"]}


def test_a_home_is_taken_over_as_a_whole(memslot: Any, home: Path) -> None:
    before = _content(home)
    memslot.ok("init")

    done = memslot.json("import", "openclaw", str(home))

    files = _content(memslot.home)
    del files["memslot.json5"]
    assert files == {
        "workspace/MEMORY.md": "# Work\n",
        "workspace/USER.md": "Anna\n",
        "workspace/memory/2026-01-02.md": "a\n",
        "workspace/memory/people/bob.md": "Bob\n",
        "workspace-home/MEMORY.md": "# Home\n",
        "agents/work/sessions/one.jsonl": MESSAGE,
        "agents/home/sessions/two.jsonl": MESSAGE * 2,
    }
    assert done["counts"] == {"new": 6, "replaced": 1, "skipped": 1}
    assert done["agentsNotInConfig"] == ["gone"]
    assert _content(home) == before, "nothing there is changed"


def test_settings_that_mean_the_same_here_are_set_and_the_result_is_valid(memslot: Any, home: Path) -> None:
    done = memslot.json("import", "openclaw", str(home))

    memslot.ok("config", "validate")
    search = memslot.json("config", "get", "agents.defaults.memorySearch")
    assert (search["provider"], search["query"]["maxResults"]) == ("openai", 8)
    assert search["query"]["hybrid"]["vectorWeight"] == 0.6
    team, single, docs = search["extraPaths"]
    assert (team, single) == (str(home / "team-docs"), "/srv/notes.md")
    assert docs == {"path": str(home / "workspace" / "docs"), "pattern": "**/*.md"}
    agents = memslot.json("config", "get", "agents.list")
    assert [(agent["id"], agent["default"], agent["workspace"]) for agent in agents] == [
        ("home", False, "workspace-home"),
        ("work", True, None),
        ("shared", False, None),
    ]
    assert agents[2]["memorySearch"]["query"]["maxResults"] == 3
    assert memslot.json("config", "get", "memory.citations") == "on"
    assert memslot.json("paths", "--agent", "shared")["workspace"] == str(memslot.home / "workspace")
    assert _states(done)["memory.qmd.limits.timeoutMs"] == "set"


def test_what_is_not_known_or_not_ours_is_named_and_left_out(memslot: Any, home: Path) -> None:
    _install_shelf(memslot)

    done = memslot.json("import", "openclaw", str(home))

    left_out = {each["key"]: each["reason"] for each in done["settings"] if each["state"] == "left-out"}
    assert set(left_out) == {
        "gateway",
        "channels",
        "agents.defaults.model",
        "agents.list[0].name",
        "agents.list[3].id",
        "agents.defaults.memorySearch.store.path",
        "agents.defaults.memorySearch.query.hybrid.magic",
        "agents.defaults.memorySearch.sync.watch",
        "plugins.entries.memory-shelf.config.embedding.apiKey",
        "plugins.entries.memory-shelf.config.dbPath",
        "plugins.entries.memory-shelf.config.depth",
        "plugins.entries.voice-call",
    }
    assert _states(done)["plugins.entries.memory-shelf.config.embedding.model"] == "set"
    assert "must be integer" in left_out["plugins.entries.memory-shelf.config.depth"]
    assert "is not a known key" in left_out["agents.defaults.memorySearch.query.hybrid.magic"]
    assert "OPENAI_API_KEY, which is not set" in left_out["plugins.entries.memory-shelf.config.embedding.apiKey"]


def test_a_variable_that_is_set_is_carried_over_by_its_name(memslot: Any, home: Path) -> None:
    _install_shelf(memslot)

    memslot.json("import", "openclaw", str(home), OPENAI_API_KEY="from-the-environment-1")

    assert '"${OPENAI_API_KEY}"' in memslot.config.read_text(encoding="utf-8")
    assert "from-the-environment" not in memslot.config.read_text(encoding="utf-8")


def test_a_slot_and_settings_of_a_plugin_that_is_not_here_stay_out(memslot: Any, home: Path) -> None:
    config = home / "openclaw.json"
    config.write_text(CONFIG.replace('memory: "memory-core"', 'memory: "memory-shelf"'), encoding="utf-8")

    left_out = {each["key"]: each.get("reason") for each in memslot.json("import", "openclaw", str(home))["settings"]}

    assert left_out["plugins.slots.memory"] == "no plugin memory-shelf is installed here"
    assert left_out["plugins.entries.memory-shelf"] == "no plugin memory-shelf is installed here"
    memslot.ok("config", "validate")


@pytest.mark.parametrize("arguments", [(), ("--json",), ("--dry-run",)])
def test_a_key_in_plain_text_is_neither_copied_nor_shown(memslot: Any, home: Path, arguments: tuple[str, ...]) -> None:
    done = memslot("import", "openclaw", str(home), *arguments)

    assert done.returncode == 0, done.stderr
    written = memslot.config.read_text(encoding="utf-8") if memslot.config.exists() else ""
    for secret in (SECRET, "gateway-token-1", "123:abc"):
        assert secret not in done.stdout + done.stderr + written
    assert "memslot config set agents.defaults.memorySearch.remote.apiKey '${OPENAI_API_KEY}'" in done.stdout


def test_settings_and_comments_of_ours_win_and_are_told(memslot: Any, home: Path) -> None:
    memslot.write_config(
        """// mine
{
  agents: { defaults: { memorySearch: { provider: "universal" /* offline */ } }, list: [{ id: "Work", name: "W" }] },
  memory: { search: { query: { maxResults: 4 } } },
}
"""
    )

    done = memslot.json("import", "openclaw", str(home))

    states = _states(done)
    assert states["agents.defaults.memorySearch.provider"] == "kept"
    assert states["agents.defaults.memorySearch.query.maxResults"] == "kept"
    text = memslot.config.read_text(encoding="utf-8")
    assert "/* offline */" in text
    assert text.startswith("// mine")
    assert memslot.json("config", "get", "agents.defaults.memorySearch.provider") == "universal"
    agents = memslot.json("config", "get", "agents.list")
    assert [(agent["id"], agent["workspace"]) for agent in agents] == [
        ("Work", None),
        ("home", "workspace-home"),
        ("shared", None),
    ]
    assert (memslot.home / "agents" / "Work" / "sessions" / "one.jsonl").exists()


def test_a_dry_run_tells_the_same_and_writes_nothing(memslot: Any, home: Path) -> None:
    memslot.ok("init")
    before = _content(memslot.home)

    told = memslot.json("import", "openclaw", str(home), "--dry-run")

    assert _content(memslot.home) == before
    done = memslot.json("import", "openclaw", str(home))
    assert told["dryRun"] is True
    assert {**told, "dryRun": False} == done


def test_running_it_again_changes_nothing_and_brings_what_is_new(memslot: Any, home: Path) -> None:
    memslot.ok("import", "openclaw", str(home))
    before = _content(memslot.home)
    assert set(memslot.json("import", "openclaw", str(home))["counts"]) == {"same", "skipped"}
    assert _content(memslot.home) == before

    (home / "workspace" / "memory" / "new.md").write_text("new\n", encoding="utf-8")
    with (home / "agents" / "work" / "sessions" / "one.jsonl").open("a", encoding="utf-8") as file:
        file.write(MESSAGE)
    counts = memslot.json("import", "openclaw", str(home))["counts"]

    assert (counts["new"], counts["grown"]) == (1, 1)
    assert (memslot.home / "agents" / "work" / "sessions" / "one.jsonl").read_text(encoding="utf-8") == MESSAGE * 2


def test_a_note_that_differs_is_left_alone_and_the_exit_code_says_so(memslot: Any, home: Path) -> None:
    memslot.ok("init")
    mine = memslot.home / "workspace" / "MEMORY.md"
    mine.write_text("mine\n", encoding="utf-8")

    done = memslot("import", "openclaw", str(home))

    assert done.returncode == 1
    assert "MEMORY.md was left alone" in done.stderr
    assert mine.read_text(encoding="utf-8") == "mine\n"
    assert (memslot.home / "workspace" / "USER.md").exists()


def test_a_workspace_alone_gives_its_notes_to_the_default_agent(memslot: Any, home: Path) -> None:
    memslot.write_config({"agents": {"list": [{"id": "solo", "workspace": "notes"}]}})

    done = memslot.json("import", "openclaw", str(home / "workspace-home"))

    assert done["settings"] == []
    assert [agent["id"] for agent in done["agents"]] == ["solo"]
    assert (memslot.home / "notes" / "MEMORY.md").read_text(encoding="utf-8") == "# Home\n"


def test_a_copy_of_a_home_is_read_from_the_copy(memslot: Any, home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "backup"
    home.rename(copy)

    memslot.ok("import", "openclaw", str(copy / "openclaw.json"))

    assert (memslot.home / "workspace" / "MEMORY.md").read_text(encoding="utf-8") == "# Work\n"


def test_agents_by_name_and_keys_by_reference_as_newer_versions_write_them(memslot: Any, tmp_path: Path) -> None:
    root = tmp_path / "newer"
    (root / "workspace-a").mkdir(parents=True)
    (root / "workspace-a" / "MEMORY.md").write_text("A\n", encoding="utf-8")
    key = {"source": "env", "provider": "default", "id": "VOYAGE_API_KEY"}
    entries = {"main": {}, "a": {"memorySearch": {"provider": "voyage", "remote": {"apiKey": key}}}}
    (root / "openclaw.json").write_text(json.dumps({"agents": {"entries": entries}}), encoding="utf-8")

    memslot.ok("import", "openclaw", str(root), VOYAGE_API_KEY="key-of-the-environment-1")

    assert 'apiKey: "${VOYAGE_API_KEY}"' in memslot.config.read_text(encoding="utf-8")
    assert (memslot.home / "workspace-a" / "MEMORY.md").exists()


def test_two_agents_never_get_one_workspace_they_did_not_share(memslot: Any, home: Path) -> None:
    memslot.write_config({"agents": {"list": [{"id": "work"}, {"id": "home"}]}})

    done = memslot("import", "openclaw", str(home))

    assert done.returncode == 1
    assert "give home one of its own" in done.stderr
    assert (memslot.home / "workspace" / "MEMORY.md").read_text(encoding="utf-8") == "# Work\n"
    assert (memslot.home / "agents" / "home" / "sessions" / "two.jsonl").exists()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: path.mkdir(), "neither an OpenClaw home"),
        (lambda path: path.write_text("x"), "is not a folder"),
        (lambda path: (path.mkdir(), (path / "openclaw.json").write_text("{ agents: ")), "openclaw.json"),
    ],
)
def test_what_cannot_be_imported_is_told_in_a_sentence(memslot: Any, tmp_path: Path, make: Any, sentence: str) -> None:
    make(tmp_path / "x")

    done = memslot("import", "openclaw", str(tmp_path / "x"))

    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not memslot.config.exists()


def test_help_has_examples(memslot: Any) -> None:
    assert "Examples:" in memslot.ok("import", "--help")
    assert "memslot import openclaw ~/.openclaw --dry-run" in memslot.ok("import", "openclaw", "--help")
