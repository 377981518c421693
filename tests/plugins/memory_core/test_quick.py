"""`memslot memory search` by the quick door and by the usual one: the same bytes, the same exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
from memslot_memory_core.quick import read_arguments

NOTES = {
    "MEMORY.md": "# Memory\n\nThe gate code is 4711.\nMaria: prefers tea, and walks on Sundays.\n",
    "memory/2026-01-02.md": "We decided to release the camelCase parser in May 2026.\nBerlin was cold.\n",
    "memory/cjk.md": "昨日の会議で発売日を決めました。\n我们决定五月发布。\n회의에서 출시일을 정했다.\n",
    "memory/odd.md": "Naïve café \u2028 emoji 🎉 tab\tand \x1b[31mred\x1b[0m text about the gate.\n",
    "memory/secret.md": "The deploy password: hunter2hunter2 and key sk-abcdefgh12345678ijkl are here.\n",
    "memory/long.md": "".join(f"Line {n} tells of the harbour and of boat number {n}.\n" for n in range(400)),
}
QUERIES = [
    "gate code",
    "what did we decide about the release in May?",
    "who doesn't like coffee, l'eau or dell'arte?",
    "昨日の会議",
    "发布",
    "출시일",
    "camelCase parser",
    "deploy password",
    "boat number 7",
    "last week in Berlin",
    "naïve 🎉",
    "the of and",
    "zebra",
]


class Home:
    """A home with notes, and `memslot` in it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        for name, text in NOTES.items():
            file = self.workspace / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        self.configure(**settings)
        self.settle()
        foreign = ("MEMSLOT_", "PYTHON", "OPENAI_", "GEMINI_", "GOOGLE_", "VOYAGE_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        self.env = {**kept, "MEMSLOT_HOME": str(folder), "HOME": str(folder), "LANG": "C.UTF-8"}

    def configure(self, **settings: Any) -> None:
        search = {"provider": "none", **settings.pop("search", {})}
        tree = {"agents": {"defaults": {"memorySearch": search}}, **settings}
        (self.folder / "memslot.json5").write_text(json.dumps(tree), encoding="utf-8")

    def settle(self) -> None:
        """Make the notes an hour old: one that is read right after it was written is read once more."""
        for file in self.workspace.rglob("*.md"):
            os.utime(file, (time.time() - 3600,) * 2)

    def run(self, *arguments: str, **env: str) -> tuple[str, str, int, bool]:
        """Output, errors, exit code, and whether it was the quick way."""
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "memslot", "memory", "search", *arguments],
            env={**self.env, **env},
            cwd=self.workspace,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        said = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]
        is_quick = not any(line.endswith(" click") for line in done.stderr.splitlines())
        return done.stdout, "\n".join(said), done.returncode, is_quick

    def usual(self, *arguments: str) -> tuple[str, str, int]:
        *said, is_quick = self.run(*arguments, MEMSLOT_QUICK="0")
        assert not is_quick
        return (said[0], said[1], said[2])

    def warm(self) -> None:
        """Index all there is and leave a record: what was changed in the last moment is looked at again."""
        assert any(self.run("gate code", "--json")[3] for _ in range(5))

    def both(self, *arguments: str) -> bool:
        """Go both ways, and compare; tells whether the first was quick."""
        *said, is_quick = self.run(*arguments)
        assert tuple(said) == self.usual(*arguments), arguments
        return is_quick


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.warm()
    return made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """For tests that change nothing."""
    made = Home(tmp_path_factory.mktemp("home"))
    made.warm()
    return made


def test_both_ways_say_the_same(shared: Home) -> None:
    quick = [query for query in QUERIES if shared.both(query, "--json", "--min-score", "0")]
    assert len(quick) >= 9, quick
    assert all(shared.both(query) for query in ("gate code", "昨日の会議", "deploy password"))


@pytest.mark.parametrize(
    "options",
    [("--json",), ("--json", "-n", "1"), ("-n", "2", "--min-score=0.1"), ("--max-results=3", "--no-sync", "--json")],
)
def test_plain_options_are_answered_quickly(shared: Home, options: tuple[str, ...]) -> None:
    assert shared.both("gate code", *options)


@pytest.mark.parametrize(
    "arguments",
    [
        ("gate code", "--explain", "--json"),
        ("gate", "code", "--json"),
        ("--json",),
        ("", "--json"),
        ("gate", "--json", "-n", "0"),
        ("gate", "--json", "-n", "201"),
        ("gate", "--json", "-n", "x"),
        ("gate", "--json", "-n"),
        ("gate", "--json", "--min-score", "1.5"),
        ("gate", "--json", "--min-score", "nan"),
        ("gate", "--jsn"),
        ("gate", "--help"),
        ("--json", "--", "-gate"),
        ("zebra", "--json"),
    ],
)
def test_what_is_not_plain_goes_the_usual_way(shared: Home, arguments: tuple[str, ...]) -> None:
    assert not shared.both(*arguments)


@pytest.mark.parametrize(
    "settings",
    [
        {"memory": {"citations": "off"}},
        {"search": {"query": {"maxResults": 2, "minScore": 0.01, "snippetMaxChars": 40}}},
        {"search": {"query": {"hybrid": {"mmr": {"enabled": True}, "temporalDecay": {"enabled": True}}}}},
        {"search": {"query": {"hybrid": {"fusion": "rrf"}}}},
        {"search": {"extraPaths": ["extra", {"path": "more", "pattern": "*.md"}]}},
        {"search": {"sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}},
        {"search": {"store": {"path": "{agentId}-index.sqlite", "vector": {"enabled": False}}, "provider": "auto"}},
    ],
)
def test_the_settings_count_in_both_ways(tmp_path: Path, settings: dict[str, Any]) -> None:
    for name in ("extra", "more"):
        (tmp_path / "workspace" / name).mkdir(parents=True)
        (tmp_path / "workspace" / name / "note.md").write_text(f"The {name} gate is green.\n", encoding="utf-8")
    sessions = tmp_path / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    said = {"type": "message", "message": {"role": "user", "content": "The gate code of the harbour is 99."}}
    (sessions / "one.jsonl").write_text(json.dumps(said) + "\n", encoding="utf-8")
    os.utime(sessions / "one.jsonl", (time.time() - 3600,) * 2)
    home = Home(tmp_path, **settings)
    home.warm()
    assert home.both("gate code", "--json")
    home.both("boat number 7 of the harbour", "--json", "-n", "8")


def test_a_change_on_disk_is_found_at_once(home: Home) -> None:
    note = home.workspace / "memory" / "new.md"
    note.write_text("The wombat code is 42.\n", encoding="utf-8")
    output, _, code, is_quick = home.run("wombat", "--json")
    assert (code, is_quick) == (0, False)
    assert "memory/new.md" in output
    note.unlink()
    output, *_ = home.run("wombat", "--json")
    assert "memory/new.md" not in output
    (home.workspace / "memory" / "2026-01-02.md").write_text("Nothing.\n", encoding="utf-8")
    output, *_ = home.run("gate code", "--json", "--min-score", "0")
    assert "camelCase" not in output


def test_without_a_sync_changes_on_disk_stay_unseen_in_both_ways(home: Home) -> None:
    (home.workspace / "memory" / "new.md").write_text("The gate code is new.\n", encoding="utf-8")
    output, _, _, is_quick = home.run("gate code", "--json", "--no-sync")
    assert is_quick
    assert "new.md" not in output


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100])
def test_a_damaged_or_missing_index_is_left_to_the_usual_way(home: Home, damage: bytes) -> None:
    index = home.folder / "memory" / "main.sqlite"
    for file in index.parent.glob("main.sqlite-*"):
        file.unlink()
    index.write_bytes(damage)
    output, _, code, is_quick = home.run("gate code", "--json")
    assert (code, is_quick) == (0, False)
    assert "MEMORY.md" in output


def test_what_a_sync_would_settle_goes_the_usual_way(home: Home) -> None:
    index = home.folder / "memory" / "main.sqlite"
    for change in (
        "UPDATE generations SET synced_at = synced_at - 4000",
        """UPDATE facts SET value = '["a problem"]' WHERE name = 'problems'""",
        "UPDATE generations SET identity = json_set(identity, '$.tokens', 17)",
    ):
        db = apsw.Connection(str(index))
        db.execute(change)
        db.close()
        *_, is_quick = home.run("gate code", "--json")
        assert not is_quick, change
        home.warm()


def test_a_reader_leaves_nothing_beside_the_index(shared: Home) -> None:
    before = sorted(file.name for file in (shared.folder / "memory").iterdir())
    assert shared.run("gate code", "--json")[3]
    assert sorted(file.name for file in (shared.folder / "memory").iterdir()) == before


def test_an_index_in_use_is_read_as_it_is(shared: Home) -> None:
    db = apsw.Connection(str(shared.folder / "memory" / "main.sqlite"))
    db.execute("BEGIN IMMEDIATE")
    output, _, code, is_quick = shared.run("gate code", "--json")
    db.execute("ROLLBACK")
    db.close()
    assert (code, is_quick) == (0, True)
    assert "MEMORY.md" in output


def test_no_key_gets_into_the_record(tmp_path: Path) -> None:
    home = Home(
        tmp_path,
        search={"remote": {"apiKey": "${MY_KEY}", "headers": {"X-Auth": "header-secret-1"}}},
    )
    home.env["MY_KEY"] = "key-secret-1234567"
    home.warm()
    (record,) = (tmp_path / "cache").glob("quick-*.json")
    text = record.read_text(encoding="utf-8")
    assert "secret" not in text


def test_arguments_are_read_as_click_reads_them() -> None:
    asked = read_arguments(["-n", "3", "gate", "--min-score=.5", "--json", "--max-results", "4"])
    assert asked is not None
    assert (asked.query, asked.max_results, asked.min_score, asked.as_json) == ("gate", 4, 0.5, True)
    for strange in (["-n3", "gate"], ["gate", "--min-score", "1e-1"], ["gate", "-n", "٣"], ["gate", "-n", "1.0"]):
        assert read_arguments(strange) is None


def test_with_the_built_in_embedder_both_ways_say_the_same(tmp_path: Path) -> None:
    home = Home(tmp_path, search={"provider": "auto"})
    home.warm()
    for query in (
        "gate code",
        "beverage that Maria likes",
        "昨日の会議",
        "what did we decide about the release in May?",
    ):
        assert home.both(query, "--json", "--min-score", "0"), query
    output, *_ = home.run("beverage that Maria likes", "--json", "--min-score", "0")
    assert json.loads(output)["provider"] == "static"
    assert not home.run("gate code", "--json", OPENAI_API_KEY="sk-none")[3], "another provider would be chosen"
