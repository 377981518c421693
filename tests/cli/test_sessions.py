"""`memslot sessions`: lists, shows, exports, imports and deletes, as a person and as a program."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import pyjson5
import pytest
from memslot import SessionStore

SAMPLES = Path(__file__).parents[1] / "plugins" / "importers" / "samples"


@pytest.fixture
def store(memslot: Any) -> SessionStore:
    made = SessionStore(memslot.home / "agents" / "main" / "sessions", "main")
    made.begin("gate-1", title="The gate", channel="cli")
    made.append("gate-1", [{"role": "user", "content": "Where is the gate?"}])
    made.append("gate-1", [{"role": "assistant", "content": "Behind the \x1b[31mbarn."}])
    time.sleep(0.005)  # moments are kept in milliseconds, and "last used first" needs two of them
    made.append("gate-2", [{"role": "user", "content": "And the key?"}])
    return made


def test_nothing_is_listed_in_a_new_home(memslot: Any) -> None:
    done = memslot("sessions", "list")

    assert (done.returncode, done.stdout) == (0, "")
    assert "no conversations yet" in done.stderr
    assert memslot.json("sessions", "list") == {"agent": "main", "total": 0, "sessions": []}
    assert not (memslot.home / "agents").exists()


def test_sessions_are_listed(memslot: Any, store: SessionStore) -> None:
    head, first, second = memslot.ok("sessions", "list").splitlines()
    assert head.split() == ["id", "last", "used", "messages", "channel", "title"]
    assert first.startswith("gate-2")
    assert "And the key?" in first
    assert second.split()[-2:] == ["The", "gate"]

    found = memslot.json("sessions", "list", "--limit", "1")
    assert (found["total"], [each["id"] for each in found["sessions"]]) == (2, ["gate-2"])
    assert found["sessions"][0]["messages"] == 1
    assert "1 more conversation" in memslot("sessions", "list", "--limit", "1").stderr


def test_a_session_is_shown_by_the_beginning_of_its_id(memslot: Any, store: SessionStore) -> None:
    store.append("other", [{"role": "user", "content": "x"}])
    shown = memslot.ok("sessions", "show", "gate-1")

    assert "Where is the gate?" in shown
    assert "Behind the" in shown
    assert "\x1b" not in shown
    assert "Where is" not in memslot.ok("sessions", "show", "gate-1", "--last", "1")
    found = memslot.json("sessions", "show", "o")
    assert (found["id"], [each["content"] for each in found["messages"]], found["problems"]) == ("other", ["x"], [])


def test_an_id_that_is_unknown_or_not_clear_is_told(memslot: Any, store: SessionStore) -> None:
    unknown, unclear = memslot("sessions", "show", "nobody"), memslot("sessions", "show", "gate")

    assert (unknown.returncode, unclear.returncode) == (1, 1)
    assert "there is no conversation 'nobody'" in unknown.stderr
    assert "matches 2 ids (gate-1, gate-2)" in unclear.stderr


def test_a_torn_transcript_is_shown_with_a_warning(memslot: Any, store: SessionStore) -> None:
    path = store.path_of("gate-1")
    path.write_bytes(path.read_bytes()[:-9])
    done = memslot("sessions", "show", "gate-1")

    assert "Where is the gate?" in done.stdout
    assert "ends in the middle of a line" in done.stderr
    assert memslot.json("sessions", "show", "gate-1")["problems"]


def test_a_session_is_exported_in_three_forms(memslot: Any, store: SessionStore) -> None:
    tree = pyjson5.decode(memslot.ok("sessions", "export", "gate-1"))
    assert (tree["session"]["title"], tree["messages"][0]["message"]["content"]) == ("The gate", "Where is the gate?")
    assert memslot.ok("sessions", "export", "gate-1", "--format", "jsonl") == store.path_of("gate-1").read_text()
    written = memslot.ok("sessions", "export", "gate-1", "--format", "markdown")
    assert written.startswith("# The gate\n\nSession `gate-1`\n\n## User (20")
    assert written.count("## ") == 2


def test_an_export_overwrites_nothing(memslot: Any, store: SessionStore) -> None:
    memslot.ok("sessions", "export", "gate-2", "--output", "out.json5")
    again = memslot("sessions", "export", "gate-2", "--output", "out.json5")

    assert again.returncode == 1
    assert "already exists" in again.stderr
    assert pyjson5.decode((memslot.project / "out.json5").read_text())["session"]["id"] == "gate-2"


def test_half_an_export_is_not_left_behind(memslot: Any, store: SessionStore) -> None:
    store.append("gate-2", [{"role": "user", "content": "x" * 20_000}])
    limited = f"ulimit -f 8; {shlex.join(memslot.argv)} sessions export gate-2 --output out.json5"
    done = subprocess.run(
        ["sh", "-c", limited], env=memslot.env, cwd=memslot.project, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "out.json5 cannot be written: File too large" in done.stderr
    assert not (memslot.project / "out.json5").exists()


def test_conversations_of_other_programs_are_imported_once(memslot: Any) -> None:
    tried = memslot.ok("sessions", "import", str(SAMPLES), "--dry-run")
    assert "would import 7 conversations" in tried
    assert memslot.json("sessions", "list")["total"] == 0
    done = memslot.json("sessions", "import", str(SAMPLES))
    assert sorted(each["state"] for each in done["sessions"]) == ["empty", *["new"] * 7]
    assert "imported 0 conversations and 0 continuations; 7 were here already" in memslot.ok(
        "sessions", "import", str(SAMPLES)
    )
    assert {each["channel"] for each in memslot.json("sessions", "list")["sessions"]} == {
        "claude-code",
        "codex",
        "openclaw",
        "chatgpt",
        "gemini",
        "opencode",
        "qwen",
    }


def test_an_import_of_something_else_fails_with_a_reason(memslot: Any) -> None:
    (memslot.project / "x.jsonl").write_text('{"a": 1}\n')
    done = memslot("sessions", "import", "x.jsonl")

    assert done.returncode == 1
    assert "x.jsonl is not a transcript of" in done.stderr
    assert memslot("sessions", "import", "missing.jsonl").returncode == 2


def test_deleting_asks_first(memslot: Any, store: SessionStore) -> None:
    refused = memslot("sessions", "delete", "gate-1")
    assert refused.returncode == 1
    assert "2 messages: The gate" in refused.stderr
    assert memslot.json("sessions", "list")["total"] == 2

    assert "gate-1 is deleted" in memslot.ok("sessions", "delete", "gate-1", "--yes")
    assert [each["id"] for each in memslot.json("sessions", "list")["sessions"]] == ["gate-2"]
    assert memslot("sessions", "delete", "gate-1", "--yes").returncode == 1


@pytest.mark.parametrize("command", [["show"], ["export"], ["delete", "--yes"]])
def test_an_empty_id_does_not_mean_the_only_conversation(memslot: Any, store: SessionStore, command: Any) -> None:
    """As from `delete "$ID" --yes` in a script that did not set ID."""
    store.delete("gate-2")
    done = memslot("sessions", *command, "")

    assert done.returncode == 1
    assert "the id is empty" in done.stderr
    assert store.ids() == ["gate-1"]


def test_deleting_is_all_or_nothing_when_one_id_is_wrong(memslot: Any, store: SessionStore) -> None:
    assert memslot("sessions", "delete", "gate-1", "wrong", "--yes").returncode == 1
    assert memslot.json("sessions", "list")["total"] == 2


def test_agents_have_sessions_of_their_own(memslot: Any, store: SessionStore) -> None:
    memslot.write_config({"agents": {"list": [{"id": "main"}, {"id": "work"}]}})

    assert memslot.json("sessions", "list", "--agent", "work") == {"agent": "work", "total": 0, "sessions": []}
    assert memslot("sessions", "list", "--agent", "nobody").returncode == 1


def test_a_registry_from_the_future_is_told_and_not_changed(memslot: Any, store: SessionStore) -> None:
    path = store.folder / "sessions.json5"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 9}))
    listed, deleted = memslot("sessions", "list"), memslot("sessions", "delete", "gate-1", "--yes")

    assert "newer memslot" in listed.stderr
    assert "gate-1" in listed.stdout
    assert deleted.returncode == 1
    assert "upgrade" in deleted.stderr
    assert store.path_of("gate-1").exists()


def test_commands_are_quick_to_list(memslot: Any) -> None:
    """Nothing that reads sessions is imported to show the help."""
    assert "List, show, export, import and delete conversations." in memslot.ok("--help")
