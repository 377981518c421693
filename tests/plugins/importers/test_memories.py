"""`memslot import claude-code`, `codex` and `hermes` on homes that look like real ones."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SECRET = "sk-proj-" + "a1b2c3d4e5f6g7h8i9j0"
PROGRAMS = ("claude-code", "codex", "hermes")

Homes = dict[str, Path]


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture
def homes(tmp_path: Path) -> Homes:
    """What each program keeps, in the places where it does."""
    names = {"claude-code": ".claude", "codex": ".codex", "hermes": ".hermes"}
    homes = {program: tmp_path / "theirs" / name for program, name in names.items()}
    claude, codex, hermes = homes.values()
    write(claude / "CLAUDE.md", "Always answer in Portuguese.\n")
    project = claude / "projects" / "-home-ana-harbour"
    write(project / "0a1b.jsonl", "{}\n")
    write(project / "memory" / "MEMORY.md", "- [Crane](crane.md): how the crane API is tested\n")
    front = (
        "---\nname: crane-tests\ndescription: >-\n  How the crane\n  API is tested\nmetadata:\n  type: project\n---\n"
    )
    write(project / "memory" / "crane.md", f"{front}\nThe crane API is tested with recorded tides. Key: {SECRET}\n")
    user = "---\nname: prefers-tea\ndescription: 'Prefers tea'\nmetadata:\n  type: user\n---\nAna drinks green tea.\n"
    write(project / "memory" / "tea.md", user)
    write(project / "memory" / "team" / "gate.md", "The gate opens at six.\n")
    write(project / "memory" / "team" / "boat.md", user.replace("green tea", "on the boat"))
    write(project / "memory" / ".cache" / "1.md", "hidden, and not imported\n")
    write(claude / "projects" / "-home-ana-empty" / "1.jsonl", "{}\n")
    write(claude / "agent-memory" / "reviewer" / "MEMORY.md", "Reviews look at the tide tables first.\n")
    memories = codex / "memories"
    write(
        memories / "MEMORY.md", "# Task Group: harbour\n\nscope: cranes\n\n## Reusable knowledge\n\n- Use make tide.\n"
    )
    write(memories / "memory_summary.md", "v1\n\n## User Profile\n\nAna builds cranes.\n")
    write(memories / "raw_memories.md", "raw, and not imported\n")
    write(memories / "phase2_workspace_diff.md", "a diff, and not imported\n")
    write(memories / "rollout_summaries" / "2026-01-02T10-00-00-abcd-tide_bug.md", "The tide bug was a time zone.\n")
    write(memories / "skills" / "release" / "SKILL.md", "---\nname: release\n---\nTag, then push.\n")
    write(memories / "extensions" / "ad_hoc" / "notes" / "n1.md", "Remember the lighthouse.\n")
    write(hermes / "memories" / "MEMORY.md", "The server is called Kelp.\n§\nDeploys happen\non Fridays.\n")
    write(hermes / "memories" / "USER.md", "Ana is left-handed.")
    write(hermes / "profiles" / "coder" / "memories" / "MEMORY.md", "Coder likes Rust.\n")
    write(hermes / ".env", f"KEY={SECRET}\n")
    return homes


@pytest.fixture
def workspace(memslot: Any) -> Path:
    memslot.write_config({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}})
    folder: Path = memslot.home / "workspace"
    folder.mkdir(parents=True)
    return folder


def notes(workspace: Path) -> dict[str, str]:
    return {path.relative_to(workspace).as_posix(): path.read_text("utf-8") for path in workspace.rglob("*.md")}


EXPECTED = {
    "claude-code": {
        "memory/claude-code/USER.md": "Always answer in Portuguese.",
        "memory/claude-code/home-ana-harbour/MEMORY.md": "how the crane API is tested",
        "memory/claude-code/home-ana-harbour/crane.md": "# crane-tests\n\nHow the crane API is tested\n\nThe crane API",
        "memory/claude-code/home-ana-harbour/tea/USER.md": "# prefers-tea\n\nPrefers tea\n\nAna drinks green tea.",
        "memory/claude-code/home-ana-harbour/team/gate.md": "The gate opens at six.",
        "memory/claude-code/home-ana-harbour/team/boat/USER.md": "Ana drinks on the boat.",
        "memory/claude-code/agents/reviewer/MEMORY.md": "Reviews look at the tide tables first.",
    },
    "codex": {
        "memory/codex/MEMORY.md": "- Use make tide.",
        "memory/codex/USER.md": "Ana builds cranes.",
        "memory/codex/rollout_summaries/2026-01-02T10-00-00-abcd-tide_bug.md": "The tide bug was a time zone.",
        "memory/codex/skills/release.md": "Tag, then push.",
        "memory/codex/notes/n1.md": "Remember the lighthouse.",
    },
    "hermes": {
        "memory/hermes/MEMORY.md": "- The server is called Kelp.\n\n- Deploys happen\n  on Fridays.",
        "memory/hermes/USER.md": "- Ana is left-handed.",
        "memory/hermes/coder/MEMORY.md": "- Coder likes Rust.",
    },
}


@pytest.mark.parametrize("program", PROGRAMS)
class TestImport:
    def test_each_note_says_where_it_is_from(self, program: str, memslot: Any, homes: Homes, workspace: Path) -> None:
        memslot.ok("import", program, str(homes[program]))
        found = notes(workspace)
        assert set(found) == set(EXPECTED[program])
        for path, text in EXPECTED[program].items():
            first, body = found[path].split("\n\n", 1)
            assert first.startswith("<!-- Imported from ")
            assert f"~/theirs/{homes[program].name}/" in first
            assert text in body
            assert (workspace / path).stat().st_mode & 0o077 == 0

    def test_twice_changes_nothing(self, program: str, memslot: Any, homes: Homes, workspace: Path) -> None:
        memslot.ok("import", program, str(homes[program]))
        before = notes(workspace)
        done = memslot.json("import", program, str(homes[program]))
        assert done["counts"] == {"same": len(before)}
        assert notes(workspace) == before

    def test_dry_run_writes_nothing(self, program: str, memslot: Any, homes: Homes, workspace: Path) -> None:
        done = memslot.json("import", program, str(homes[program]), "--dry-run")
        assert done["dryRun"] is True
        assert done["counts"] == {"new": len(EXPECTED[program])}
        assert {note["path"] for note in done["notes"]} == set(EXPECTED[program])
        assert notes(workspace) == {}

    def test_their_files_stay_as_they_are(self, program: str, memslot: Any, homes: Homes, workspace: Path) -> None:
        def state() -> dict[Path, tuple[bytes, int]]:
            files = (path for path in homes[program].rglob("*") if path.is_file())
            return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}

        before = state()
        memslot.ok("import", program, str(homes[program]))
        assert state() == before

    def test_nothing_there_is_one_sentence(self, program: str, memslot: Any, workspace: Path, tmp_path: Path) -> None:
        (tmp_path / "nothing").mkdir()
        done = memslot("import", program, str(tmp_path / "nothing"))
        assert (done.returncode, done.stdout) == (1, "")
        assert "there are no memories of" in done.stderr
        assert len(done.stderr.splitlines()) == 1

    def test_a_memory_without_files_is_refused(self, program: str, memslot: Any, homes: Homes) -> None:
        memslot.add_plugin("shelf")
        memslot.write_config({"plugins": {"load": memslot.load, "slots": {"memory": "shelf"}}})
        done = memslot("import", program, str(homes[program]))
        assert done.returncode == 1
        assert "no memory in the slot keeps any" in done.stderr

    def test_the_first_that_keeps_files_gets_them_whoever_owns_the_slot(
        self, program: str, memslot: Any, homes: Homes, workspace: Path
    ) -> None:
        memslot.add_plugin("shelf")
        memslot.write_config({"plugins": {"load": memslot.load, "slots": {"memory": ["shelf", "memory-core"]}}})
        assert memslot.json("import", program, str(homes[program]))["counts"] == {"new": len(EXPECTED[program])}
        assert notes(workspace)


class TestHome:
    @pytest.mark.parametrize(
        ("program", "variable"),
        [("claude-code", "CLAUDE_CONFIG_DIR"), ("codex", "CODEX_HOME"), ("hermes", "HERMES_HOME")],
    )
    def test_is_found_where_the_program_has_it(
        self, program: str, variable: str, memslot: Any, homes: Homes, workspace: Path, tmp_path: Path
    ) -> None:
        assert memslot.json("import", program, HOME=str(tmp_path / "theirs"))["counts"] == {
            "new": len(EXPECTED[program])
        }
        assert "Imported from" in next(iter(notes(workspace).values()))
        assert "~/." in next(iter(notes(workspace).values())), "under the user's home the path is short"
        there = {variable: str(homes[program]), "HOME": str(tmp_path)}
        assert memslot.json("import", program, **there)["counts"] == {"same": len(EXPECTED[program])}


class TestChanges:
    def test_what_they_change_is_updated(self, memslot: Any, homes: Homes, workspace: Path) -> None:
        memslot.ok("import", "hermes", str(homes["hermes"]))
        write(homes["hermes"] / "memories" / "USER.md", "Ana is right-handed.")
        assert memslot.json("import", "hermes", str(homes["hermes"]))["counts"] == {"same": 2, "updated": 1}
        assert "right-handed" in notes(workspace)["memory/hermes/USER.md"]
        assert "left-handed" not in notes(workspace)["memory/hermes/USER.md"]

    def test_what_was_changed_here_stays(self, memslot: Any, homes: Homes, workspace: Path) -> None:
        memslot.ok("import", "hermes", str(homes["hermes"]))
        ours = workspace / "memory" / "hermes" / "USER.md"
        ours.write_text(ours.read_text("utf-8") + "- And plays chess.\n", encoding="utf-8")
        mine = ours.read_text("utf-8")
        assert memslot.json("import", "hermes", str(homes["hermes"]))["counts"] == {"same": 3}

        write(homes["hermes"] / "memories" / "USER.md", "Ana is right-handed.")
        done = memslot("import", "hermes", str(homes["hermes"]))
        assert done.returncode == 1
        assert "USER.md was left alone: was changed here" in done.stderr
        assert ours.read_text("utf-8") == mine

    def test_a_note_of_ours_by_that_name_stays(self, memslot: Any, homes: Homes, workspace: Path) -> None:
        mine = write(workspace / "memory" / "hermes" / "MEMORY.md", "My own.\n")
        done = memslot("import", "hermes", str(homes["hermes"]), "--json")
        assert done.returncode == 1
        assert json.loads(done.stdout)["counts"] == {"conflict": 1, "new": 2}
        assert mine.read_text("utf-8") == "My own.\n"


class TestContent:
    def test_secrets_are_redacted(self, memslot: Any, homes: Homes, workspace: Path) -> None:
        done = memslot("import", "claude-code", str(homes["claude-code"]))
        assert "redacted 1 secret" in done.stderr
        assert SECRET not in json.dumps(notes(workspace)) + done.stdout + done.stderr
        assert "recorded tides" in notes(workspace)["memory/claude-code/home-ana-harbour/crane.md"]

    def test_recalled_text_is_left_out(self, memslot: Any, homes: Homes, workspace: Path) -> None:
        text = "<relevant-memories>\nold news\n</relevant-memories>\nThe lamp is green.\n"
        write(homes["codex"] / "memories" / "extensions" / "ad_hoc" / "notes" / "n1.md", text)
        memslot.ok("import", "codex", str(homes["codex"]))
        found = notes(workspace)["memory/codex/notes/n1.md"]
        assert "The lamp is green." in found
        assert "old news" not in found

    def test_notes_are_found_and_those_about_the_user_stay_private(
        self, memslot: Any, homes: Homes, workspace: Path
    ) -> None:
        for program in PROGRAMS:
            memslot.ok("import", program, str(homes[program]))
        for question in ("time zone of the tide bug", "left-handed", "green tea"):
            assert memslot.json("memory", "search", question)["results"], question
        code = (
            "import sys\nfrom memslot import Host, Session\n"
            "with Host.load() as host:\n"
            "    for word in sys.argv[1:]:\n"
            "        found = host.memory.search(word, session=Session(host.agent_id, chat_type='group'))\n"
            "        print(*(hit.path for hit in found.hits))\n"
        )
        asked = [sys.executable, "-c", code, "left-handed", "green tea", "Ana builds cranes", "Kelp", "tide bug"]
        done = subprocess.run(asked, env=memslot.env, capture_output=True, text=True, check=True)
        found = done.stdout.split()
        assert any(path.endswith("tide_bug.md") for path in found)
        assert not any(path.endswith(("USER.md", "MEMORY.md")) for path in found)


def _link_file(home: Path, outside: Path) -> None:
    (home / "memories" / "rollout_summaries" / "link.md").symlink_to(outside / "secret.md")


def _link_folder(home: Path, outside: Path) -> None:
    (home / "memories" / "extensions" / "ad_hoc" / "notes").rename(home / "memories" / "moved")
    (home / "memories" / "extensions" / "ad_hoc" / "notes").symlink_to(outside)


def _bad_name(home: Path, outside: Path) -> None:
    write(home / "memories" / "rollout_summaries" / "a\n-->\u202eb.md", "hostile\n")


def _device(home: Path, outside: Path) -> None:
    write(home / "memories" / "rollout_summaries" / "NUL.md", "hostile\n")


def _pipe(home: Path, outside: Path) -> None:
    os.mkfifo(home / "memories" / "rollout_summaries" / "pipe.md")


def _bytes(home: Path, outside: Path) -> None:
    (home / "memories" / "rollout_summaries" / "bytes.md").write_bytes(b"\xff\xfe\x00hostile")


@pytest.mark.parametrize("spoil", [_link_file, _link_folder, _bad_name, _device, _pipe, _bytes])
def test_what_is_hostile_is_refused_and_the_rest_imported(
    spoil: Callable[[Path, Path], None], memslot: Any, homes: Homes, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    write(outside / "secret.md", "hostile\n")
    spoil(homes["codex"], outside)
    done = memslot("import", "codex", str(homes["codex"]), "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["counts"]["refused"] == 1
    assert told["counts"]["new"] >= 4
    assert next(note["reason"] for note in told["notes"] if note["state"] == "refused")
    assert "hostile" not in json.dumps(notes(workspace))


def test_a_linked_folder_among_claudes_memories_is_refused(
    memslot: Any, homes: Homes, workspace: Path, tmp_path: Path
) -> None:
    write(tmp_path / "outside" / "secret.md", "hostile\n")
    home = homes["claude-code"]
    for link in (home / "projects" / "-home-ana-harbour" / "memory" / "team" / "link", home / "agent-memory" / "link"):
        link.symlink_to(tmp_path / "outside")
    done = memslot("import", "claude-code", str(home), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["counts"] == {"new": len(EXPECTED["claude-code"]), "refused": 2}
    assert "hostile" not in json.dumps(notes(workspace))


def test_a_link_in_our_own_folder_is_not_written_through(
    memslot: Any, homes: Homes, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (workspace / "memory").mkdir()
    (workspace / "memory" / "hermes").symlink_to(tmp_path / "elsewhere")
    done = memslot("import", "hermes", str(homes["hermes"]), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["counts"] == {"refused": 3}
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_two_projects_of_one_name_do_not_replace_each_other(memslot: Any, homes: Homes, workspace: Path) -> None:
    for slug in ("-srv-app", "srv-app"):
        write(homes["claude-code"] / "projects" / slug / "memory" / "MEMORY.md", f"of {slug}\n")
    for _ in range(2):
        done = memslot("import", "claude-code", str(homes["claude-code"]))
        assert done.returncode == 1
        assert "would have the same name as" in done.stderr
        assert "of -srv-app" in notes(workspace)["memory/claude-code/srv-app/MEMORY.md"]


def _with_many(home: Path, count: int) -> Path:
    for number in range(count):
        write(home / "memories" / "rollout_summaries" / f"{number:04}.md", f"Recap {number}.\n" * 200)
    return home


def _check_whole(workspace: Path, count: int) -> None:
    """Each note is there once and whole, and nothing else is."""
    found = notes(workspace)
    assert len(found) == count
    for text in found.values():
        first, body = text.split("\n\n", 1)
        assert f"sha256 {hashlib.sha256(body.strip().encode()).hexdigest()[:16]} -->" in first
    assert [path for path in workspace.rglob("*") if path.is_file() and path.suffix != ".md"] == []


def test_a_killed_import_is_finished_by_the_next(memslot: Any, homes: Homes, workspace: Path) -> None:
    home = _with_many(homes["codex"], 400)
    process = subprocess.Popen([*memslot.argv, "import", "codex", str(home)], env=memslot.env, cwd=memslot.project)
    folder = workspace / "memory" / "codex" / "rollout_summaries"
    deadline = time.monotonic() + 60
    while not folder.exists() or len(list(folder.iterdir())) < 20:
        assert time.monotonic() < deadline, "the import wrote nothing"
        time.sleep(0.005)
    process.kill()
    process.wait()
    before = len(notes(workspace))

    done = memslot.json("import", "codex", str(home))
    assert done["counts"]["same"] >= before
    assert done["counts"]["same"] + done["counts"]["new"] == 405
    leftovers = [path for path in workspace.rglob("*.tmp*") if path.is_file()]
    for path in leftovers:  # what the killed one was writing; no note, and cleared away in time
        path.unlink()
    _check_whole(workspace, 405)


def test_two_imports_at_once_write_each_note_once(memslot: Any, homes: Homes, workspace: Path) -> None:
    home = _with_many(homes["codex"], 100)
    both = [
        subprocess.Popen(
            [*memslot.argv, "import", "codex", str(home), "--json"],
            env=memslot.env,
            cwd=memslot.project,
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    told = [json.loads(each.communicate(timeout=120)[0])["counts"] for each in both]
    assert sum(counts.get("new", 0) for counts in told) == 105
    assert sum(counts.get("conflict", 0) for counts in told) == 0
    _check_whole(workspace, 105)


def test_what_cannot_be_written_is_said_and_leaves_no_half_note(memslot: Any, homes: Homes, workspace: Path) -> None:
    home = _with_many(homes["codex"], 100)
    limited = ["sh", "-c", 'ulimit -f 16; exec "$@"', "sh", *memslot.argv, "import", "codex", str(home), "--json"]
    for file in (home / "memories" / "rollout_summaries").glob("00[0-4]*.md"):
        file.write_text("long " * 20_000, encoding="utf-8")  # past the limit, as with a quota
    done = subprocess.run(limited, env=memslot.env, cwd=memslot.project, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    refused = [note for note in json.loads(done.stdout)["notes"] if note["state"] == "refused"]
    assert len(refused) == 50
    assert all(note["reason"].startswith("cannot be written: ") for note in refused)
    _check_whole(workspace, 55)
