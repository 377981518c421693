"""Conversations of other programs are found, understood and taken over once."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import shutil
import sqlite3
import sys
import zipfile
from pathlib import Path

import pytest
from memslot import SessionError, SessionStore, extra_install_command
from memslot.sessions.export import export_session
from memslot_importers import conversations
from memslot_importers.sessions import import_sessions

CODEX = "rollout-2026-02-04T09-00-00-019c2d7a-41c4-78b1-b7cc-a45d62a89cd5.jsonl"


def _ruined_archive() -> bytes:
    """An archive whose table is whole, and whose content is not."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps(["rye"] * 1000))
    data = bytearray(whole.getvalue())
    data[50:60] = b"\xff" * 10
    return bytes(data)


SAID = {
    "claude-code-claude_code": [
        ("user", "Move the invoice job to the queue, we decided that on Monday."),
        ("assistant", "I will look at the cron file."),
        ("user", "Keep the retry count at five."),
        ("assistant", "Done: five retries, on the queue."),
    ],
    "codex-019c2d7a-41c4-78b1-b7cc-a45d62a89cd5": [
        ("user", "Which currency do we round in?"),
        ("assistant", "In the currency of the order."),
        ("user", "Round half to even, as on the picture."),
    ],
    "gemini-5f1c2d3e-0000-4000-8000-00000000a001": [
        ("user", "How warm is the greenhouse?"),
        ("assistant", "I will read the log."),
        ("assistant", "Twenty-one degrees."),
    ],
    "qwen-7ad7e1da-0000-4000-8000-00000000b001": [
        ("user", "Plant the beans in May."),
        ("assistant", "I will note it."),
        ("assistant", "Noted: beans in May."),
        ("user", "And the peas?"),
    ],
    "opencode-ses_e10bc3d01ffe": [
        ("user", "Which slates for the roof?"),
        ("assistant", "Welsh slates."),
    ],
    "openclaw": [
        ("user", "Book the dentist for Thursday."),
        ("assistant", ""),
        ("toolResult", "free at ten"),
        ("assistant", "Booked for ten."),
    ],
    "chatgpt-697e0000-1111-8000-9000-abcdefabcdef": [
        ("user", "My rye bread is too dense. Why?"),
        ("assistant", "Let the sour rise for longer. Ask Ines, see the mill https://mill.example/rye."),
        ("user", "Sixteen hours then."),
    ],
}
FILES = {
    "claude_code.jsonl": "claude-code-claude_code",
    CODEX: "codex-019c2d7a-41c4-78b1-b7cc-a45d62a89cd5",
    "session-2026-03-02T10-00-5f1c2d3e.jsonl": "gemini-5f1c2d3e-0000-4000-8000-00000000a001",
    "qwen.jsonl": "qwen-7ad7e1da-0000-4000-8000-00000000b001",
    "conversations-opencode.json": "opencode-ses_e10bc3d01ffe",
    "openclaw.jsonl": "openclaw",
    "conversations.json": "chatgpt-697e0000-1111-8000-9000-abcdefabcdef",
}
RUINED = _ruined_archive()


def said_in(store: SessionStore, session_id: str) -> list[tuple[str, str]]:
    return [(entry.role, entry.text) for entry in store.read(session_id).entries]


@pytest.mark.parametrize(("name", "session_id"), FILES.items())
def test_what_was_said_is_taken_over_and_what_the_program_said_to_itself_is_not(
    store: SessionStore, samples: Path, name: str, session_id: str
) -> None:
    done = import_sessions(store, [samples / name])

    assert done.refused == []
    assert [each.id for each in done.sessions if each.state == "new"] == [session_id]
    assert said_in(store, session_id) == SAID[session_id]


def make_database(file: Path, *rows: tuple[str, str | None, str]) -> None:
    """opencode's tables, as far as they are read; a row is a conversation, its parent and what was said in it."""
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE session (id, parent_id, title, directory, time_created)")
        database.execute("CREATE TABLE message (id, session_id, time_created, data)")
        database.execute("CREATE TABLE part (id, message_id, session_id, data)")
        for name, parent, text in rows:
            database.execute("INSERT INTO session VALUES (?, ?, 'Title', '/home/mia', 1772442000000)", (name, parent))
            message = (f"msg_{name}", name, json.dumps({"role": "user"}))
            database.execute("INSERT INTO message VALUES (?, ?, 1772442000000, ?)", message)
            parts = [(f"prt_{name}", json.dumps({"type": "text", "text": text})), (f"prt_{name}z", "{ torn")]
            for part, data in parts:
                database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (part, f"msg_{name}", name, data))


def test_the_database_of_opencode_gives_its_conversations_but_not_those_of_sub_agents(
    store: SessionStore, tmp_path: Path
) -> None:
    make_database(tmp_path / "opencode.db", ("ses_1", None, "Oak or ash?"), ("ses_2", "ses_1", "Count the rings."))
    before = (tmp_path / "opencode.db").read_bytes()

    done = import_sessions(store, [tmp_path])

    assert [(each.id, each.state) for each in done.sessions] == [("opencode-ses_1", "new")]
    assert said_in(store, "opencode-ses_1") == [("user", "Oak or ash?")]
    assert (tmp_path / "opencode.db").read_bytes() == before
    assert [file.name for file in tmp_path.glob("opencode*")] == ["opencode.db"]


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 500])
def test_a_database_that_is_none_is_refused_in_one_sentence(
    store: SessionStore, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "opencode.db").write_bytes(content)

    done = import_sessions(store, [tmp_path / "opencode.db"])

    assert done.sessions == []
    assert len(done.refused) == 1
    assert "opencode's database" in done.refused[0]


def test_titles_that_the_person_chose_come_before_those_that_were_made_up(store: SessionStore, copies: Path) -> None:
    import_sessions(store, [copies / "claude_code.jsonl"])
    assert [each.title for each in store.sessions()] == ["Invoices on the queue"]

    chosen = copies / "chosen.jsonl"
    renamed = b'{"type":"custom-title","customTitle":"Billing"}\n'
    chosen.write_bytes(renamed + (copies / "claude_code.jsonl").read_bytes())
    import_sessions(store, [chosen])
    assert store.sessions(only=lambda record: record.id == "claude-code-chosen")[0].title == "Billing"


def test_what_codex_has_packed_is_the_same_conversation(store: SessionStore, copies: Path) -> None:
    """It packs what nobody touched for a week; a file that is gone on with is for a moment there in both forms."""
    plain = copies / CODEX
    zstd = importlib.import_module(conversations._ZSTD)
    plain.with_name(f"{CODEX}.zst").write_bytes(zstd.compress(plain.read_bytes()))
    both = import_sessions(store, [copies])
    plain.unlink()
    only_packed = import_sessions(store, [copies])

    assert both.refused == only_packed.refused == []
    assert {each.state for each in only_packed.sessions} == {"same", "empty"}
    assert said_in(store, FILES[CODEX]) == SAID[FILES[CODEX]]


def test_what_cannot_be_unpacked_is_told_and_not_passed_over(
    store: SessionStore, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zstd = importlib.import_module(conversations._ZSTD)
    whole = zstd.compress((copies / CODEX).read_bytes())
    (copies / "rollout-1.jsonl.zst").write_bytes(whole[:-20])
    (copies / "rollout-2.jsonl.zst").write_bytes(b"no such thing")
    torn = import_sessions(store, [copies], dry_run=True)
    monkeypatch.setitem(sys.modules, conversations._ZSTD, None)
    missing = import_sessions(store, [copies])

    assert ["cannot be decompressed" in reason for reason in torn.refused] == [True, True]
    assert [extra_install_command("codex") in reason for reason in missing.refused] == [True, True]
    assert {each.id for each in missing.sessions if each.state == "new"} == set(SAID)


@pytest.mark.parametrize(
    "facts", [{"source": {"subagent": {"thread_spawn": {"depth": 1}}}}, {"source": "cli", "thread_source": "subagent"}]
)
def test_files_of_codexs_sub_agents_hold_nothing_that_a_person_said(
    store: SessionStore, copies: Path, facts: dict[str, object]
) -> None:
    head, *rest = (copies / CODEX).read_text().splitlines()
    meta = json.loads(head)
    meta["payload"] |= facts
    (copies / CODEX).write_text("\n".join([json.dumps(meta), head, *rest]))

    assert [each.state for each in import_sessions(store, [copies / CODEX]).sessions] == ["empty"]


def test_a_folder_is_imported_as_a_whole_and_nothing_twice(store: SessionStore, samples: Path) -> None:
    first = import_sessions(store, [samples])
    before = {path.name: path.read_bytes() for path in store.folder.iterdir()}
    second = import_sessions(store, [samples])

    assert {each.id for each in first.sessions if each.state == "new"} == set(SAID)
    assert {each.state for each in second.sessions} == {"same", "empty"}
    assert {path.name: path.read_bytes() for path in store.folder.iterdir()} == before


def test_a_dry_run_tells_the_same_and_writes_nothing(store: SessionStore, samples: Path) -> None:
    tried = import_sessions(store, [samples], dry_run=True)

    assert not store.folder.exists()
    assert tried.sessions == import_sessions(store, [samples]).sessions
    assert {each.state for each in import_sessions(store, [samples], dry_run=True).sessions} == {"same", "empty"}


@pytest.mark.parametrize("name", ["claude_code.jsonl", CODEX, "openclaw.jsonl"])
def test_a_transcript_that_has_grown_brings_only_what_is_new(
    store: SessionStore, samples: Path, tmp_path: Path, name: str
) -> None:
    lines = (samples / name).read_bytes().splitlines(keepends=True)
    file = tmp_path / name
    # The last line is cut in half, as when the other program is just writing it.
    file.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    began = import_sessions(store, [file]).sessions[0]
    file.write_bytes(b"".join(lines))
    grown = import_sessions(store, [file]).sessions[0]

    assert (began.state, began.skipped) == ("new", 1)
    assert (grown.state, grown.added, grown.skipped) == ("grown", 1, 0)
    assert said_in(store, FILES[name]) == SAID[FILES[name]]


def test_lines_of_openclaw_stay_as_they_are(store: SessionStore, samples: Path) -> None:
    """So that `memslot import openclaw`, which copies the files, finds nothing to quarrel about."""
    import_sessions(store, [samples / "openclaw.jsonl"])

    assert store.path_of("openclaw").read_bytes() == (samples / "openclaw.jsonl").read_bytes()


def test_the_registry_knows_where_a_session_is_from_and_when_it_was(store: SessionStore, samples: Path) -> None:
    import_sessions(store, [samples])
    record = store.record("claude-code-claude_code")

    assert record is not None
    assert record.channel == "claude-code"
    assert record.origin == {
        "program": "claude-code",
        "sessionId": "claude_code",
        "cwd": "/srv/billing",
        "gitBranch": "main",
    }
    assert record.title == "Invoices on the queue"
    assert (record.created_at, record.updated_at) == (1770105610000, 1770105625000)
    titles = {each.id: each.title for each in store.sessions()}
    assert titles["openclaw"] == "Book the dentist for Thursday."
    assert titles["chatgpt-697e0000-1111-8000-9000-abcdefabcdef"] == "Bread with rye"
    assert [each.record.channel for each in store.sessions()] == [
        "qwen",
        "gemini",
        "opencode",
        "openclaw",
        "codex",
        "claude-code",
        "chatgpt",
    ]


def test_an_import_of_many_costs_as_much_for_each_as_one_of_few(store: SessionStore, tmp_path: Path) -> None:
    """The registry is written as a whole, so it is not written for each conversation."""
    folder = tmp_path / "talks"
    folder.mkdir()
    for number in range(400):
        told = {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": f"talk {number}"}}
        (folder / f"{number}.jsonl").write_text(json.dumps(told) + "\n")
    before = _bytes_moved()
    assert import_sessions(store, [folder]).count("new") == 400
    assert import_sessions(store, [folder]).count("same") == 400

    assert _bytes_moved() - before < 400 * 10_000
    assert {each.title for each in store.sessions()} == {f"talk {number}" for number in range(400)}


def _bytes_moved() -> int:
    read, written = Path("/proc/self/io").read_text().split()[1:4:2]
    return int(read) + int(written)


def test_an_import_that_was_cut_short_after_the_transcript_is_finished_by_the_next(
    store: SessionStore, samples: Path
) -> None:
    import_sessions(store, [samples / "claude_code.jsonl"])
    (store.folder / "sessions.json5").unlink()

    assert import_sessions(store, [samples / "claude_code.jsonl"]).sessions[0].state == "same"
    record = store.record("claude-code-claude_code")
    assert record is not None
    assert record.channel == "claude-code"


@pytest.mark.parametrize("folder", ["", "export/"])
def test_chatgpts_archive_is_read_packed(store: SessionStore, samples: Path, tmp_path: Path, folder: str) -> None:
    with zipfile.ZipFile(tmp_path / "mail.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(samples / "conversations.json", f"{folder}conversations-000.json")
        archive.writestr(f"{folder}user.json", "{}")

    done = import_sessions(store, [tmp_path / "mail.zip"])

    assert [each.state for each in done.sessions] == ["new", "empty"]


def test_a_branch_of_chatgpt_without_a_current_node_ends_at_the_last_message(
    store: SessionStore, samples: Path, tmp_path: Path
) -> None:
    tree = json.loads((samples / "conversations.json").read_text())[:1]
    tree[0]["current_node"] = "gone"
    tree[0]["mapping"]["root"]["parent"] = "u2"  # a circle must not be walked for ever
    (tmp_path / "conversations.json").write_text(json.dumps(tree))

    import_sessions(store, [tmp_path])

    assert said_in(store, FILES["conversations.json"]) == SAID[FILES["conversations.json"]]


def test_the_oldest_rollouts_without_a_wrapping_are_read(store: SessionStore, tmp_path: Path) -> None:
    lines = [
        {"id": "0198aaaa-1111-7222-8333-444455556666", "timestamp": "2025-08-01T10:00:00.000Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
    ]
    (tmp_path / "rollout-old.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    import_sessions(store, [tmp_path / "rollout-old.jsonl"])

    assert said_in(store, "codex-0198aaaa-1111-7222-8333-444455556666") == [("user", "hello"), ("assistant", "hi")]


@pytest.mark.parametrize("form", ["jsonl", "json5"])
def test_an_exported_session_comes_back_as_it_was(store: SessionStore, tmp_path: Path, form: str) -> None:
    store.begin("talk:1", title="Gates", channel="cli", shade="green")
    store.append("talk:1", [{"role": "user", "content": "Where is the gate?"}])
    store.append("talk:1", [{"role": "assistant", "content": [{"type": "text", "text": "Behind the barn."}]}])
    file = tmp_path / f"talk.{form}"
    file.write_bytes(export_session(store, "talk:1", form))  # type: ignore[arg-type]
    other = SessionStore(tmp_path / "other", "main")

    assert import_sessions(other, [file]).sessions[0].state == "new"
    assert other.read("talk:1").entries == store.read("talk:1").entries
    assert import_sessions(store, [file]).sessions[0].state == "same"
    record = other.record("talk:1")
    assert record is not None
    if form == "jsonl":
        assert other.path_of("talk:1").read_bytes() == store.path_of("talk:1").read_bytes()
        assert record.title == "Where is the gate?"
    else:
        assert (record.title, record.channel, record.data["shade"]) == ("Gates", "cli", "green")


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("x.jsonl", b"", "not a transcript of"),
        ("x.jsonl", b"\x00\xff\xfe\n[1,2]\n", "not a transcript of"),
        ("x.jsonl", b'{"hello": 1}\n', "not a transcript of"),
        ("x.jsonl", b'{"type":"session","version":99,"id":"a"}\n', "newer program"),
        ("x.zip", b"PK\x03\x04 torn", "cannot be unpacked"),
        ("x.zip", RUINED, "cannot be unpacked"),
        ("conversations.json", b'[{"mapping": {', "not valid JSON"),
        ("conversations.json", b'[{"chat_messages": []}]', "not a ChatGPT export"),
        ("conversations.json", b"[" * 100_000, "not valid JSON"),
        ("x.json5", b"{a: 1}", "not a memslot session export"),
        ("x.json5", b"{a: ", "not JSON5"),
        ("x.json5", b"{said: 'a secret', b: 1e400 ]", "not JSON5"),
        ("x.json5", b"\xff\xfe", "not UTF-8 text"),
        ("y.jsonl", b'{"type":"session","program":"memslot","id":"%s"}\n{"type":"message"}\n' % (b"i" * 600), "512"),
    ],
)
def test_a_file_that_is_something_else_is_refused_with_a_reason_and_stops_no_other(
    store: SessionStore, samples: Path, tmp_path: Path, name: str, content: bytes, complaint: str
) -> None:
    (tmp_path / name).write_bytes(content)

    done = import_sessions(store, [tmp_path / name, samples / "openclaw.jsonl"])

    assert [complaint in reason for reason in done.refused] == [True]
    assert [each.id for each in done.sessions] == ["openclaw"]
    assert str(tmp_path / name) in done.refused[0]
    assert "\n" not in done.refused[0]
    assert "secret" not in done.refused[0]


def test_an_archive_without_conversations_says_so(store: SessionStore, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("user.json", "{}")

    assert "holds no conversations.json" in import_sessions(store, [tmp_path / "a.zip"]).refused[0]


@pytest.mark.parametrize("record", [None, 1, "x", [], {}, {"role": 1}, {"role": "user"}, {"content": [None, 1, {}]}])
def test_records_of_wrong_types_are_passed_over(store: SessionStore, tmp_path: Path, record: object) -> None:
    lines = [
        {"type": "user", "uuid": "u1", "sessionId": "s", "message": {"role": "user", "content": "kept"}},
        {"type": "user", "uuid": 7, "sessionId": 7, "cwd": 7, "timestamp": [], "message": record},
        {"type": "assistant", "uuid": "u2", "message": record, "isMeta": []},
    ]
    (tmp_path / "claude.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    codex = [
        {"type": "session_meta", "payload": {"id": 5, "timestamp": {}, "cwd": []}},
        {"type": "response_item", "payload": record},
        {"type": "session_meta", "payload": record},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": record}},
    ]
    (tmp_path / "codex.jsonl").write_text("".join(json.dumps(line) + "\n" for line in codex))
    node = {"id": "a", "message": record, "parent": "b", "children": record}
    other = {"id": "b", "message": {"author": record, "content": record, "metadata": record}, "parent": record}
    export = [{"mapping": {"a": node, "b": other, "c": record}, "title": record, "create_time": record}]
    (tmp_path / "conversations.json").write_text(json.dumps(export))

    done = import_sessions(store, [tmp_path])

    assert done.refused == []
    assert said_in(store, "claude-code-claude") == [("user", "kept")]


def test_links_in_a_folder_are_not_followed(store: SessionStore, samples: Path, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "linked.jsonl").symlink_to(samples / "openclaw.jsonl")
    (inside / "folder").symlink_to(samples)
    shutil.copy(samples / "claude_code.jsonl", inside / "real.jsonl")

    assert [each.id for each in import_sessions(store, [inside]).sessions] == ["claude-code-real"]
    assert [each.id for each in import_sessions(store, [inside / "linked.jsonl"]).sessions] == ["openclaw"], "named"


def test_a_session_that_is_not_there_cannot_be_exported(store: SessionStore) -> None:
    with pytest.raises(SessionError, match="There is no session 'nothing'"):
        export_session(store, "nothing", "json5")
