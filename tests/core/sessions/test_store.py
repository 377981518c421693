"""Conversations are begun, continued, found again and deleted, whatever lies in their folder."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memslot import Places, Session, SessionError, SessionStore
from memslot.sessions.imports import SessionImport
from memslot.sessions.names import transcript_name

HELLO = {"role": "user", "content": "hello"}


def lines_of(store: SessionStore, session_id: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in store.path_of(session_id).read_text(encoding="utf-8").splitlines()]


# Writing and reading


def test_a_transcript_has_a_header_and_one_line_for_each_message(store: SessionStore) -> None:
    store.begin("s1")
    ids = store.append("s1", [HELLO, {"role": "assistant", "content": "hi", "model": "m"}])
    header, first, second = lines_of(store, "s1")

    assert {key: header[key] for key in ("type", "version", "program", "id", "agent")} == {
        "type": "session",
        "version": 1,
        "program": "memslot",
        "id": "s1",
        "agent": "main",
    }
    assert list(first) == ["type", "id", "timestamp", "message"]
    assert (first["type"], first["id"], first["message"]) == ("message", ids[0], HELLO)
    assert second["message"]["model"] == "m"


def test_what_was_written_is_read_back(store: SessionStore) -> None:
    said = [HELLO, {"role": "assistant", "content": [{"type": "text", "text": "né 你好 🚪\u2028"}]}]
    store.append("s1", said[:1])
    store.append("s1", said[1:])
    found = store.read("s1")

    assert list(found.messages) == said
    assert [entry.line for entry in found.entries] == [2, 3]
    assert all(entry.time for entry in found.entries)
    assert (found.broken, found.torn, found.problems) == ((), False, ())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    )
)
def test_any_content_makes_one_line_that_can_be_read(store: SessionStore, content: Any) -> None:
    before = len(store.read("p").entries) if store.path_of("p").exists() else 0
    store.append("p", [{"role": "user", "content": content}])
    found = store.read("p")

    assert len(found.entries) == before + 1
    assert found.problems == ()
    if isinstance(content, str):
        assert found.entries[-1].message["content"] == content
    raw = store.path_of("p").read_bytes()
    assert raw.count(b"\n") == before + 2
    raw.decode("utf-8")


def test_objects_of_vendors_and_odd_values_are_written(store: SessionStore) -> None:
    class Reply:
        role = "assistant"
        content = "from an object"

    store.append("s1", [Reply(), {"role": "tool", "content": "x", "at": Path("/a"), "score": float("nan")}])  # type: ignore[list-item]

    assert store.read("s1").messages == (
        {"role": "assistant", "content": "from an object"},
        {"role": "tool", "content": "x", "at": "/a", "score": None},
    )


def test_no_message_is_written_when_one_of_them_cannot_be(store: SessionStore) -> None:
    store.append("s1", [HELLO])
    before = store.path_of("s1").read_bytes()

    with pytest.raises(SessionError, match="neither mappings nor objects"):
        store.append("s1", [HELLO, 7])  # type: ignore[list-item]
    with pytest.raises(SessionError, match="limit of 33,554,432"):
        store.append("s1", [HELLO, {"role": "user", "content": "x" * 50_000_000}])
    assert store.path_of("s1").read_bytes() == before


def test_files_are_for_the_owner_only(store: SessionStore) -> None:
    store.begin("s1")

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [store.folder, *store.folder.iterdir()]}
    assert modes == {"sessions": 0o700, "s1.jsonl": 0o600, "sessions.json5": 0o600, ".sessions.lock": 0o600}


def test_the_store_of_an_agent_is_where_memslot_keeps_transcripts(tmp_path: Path) -> None:
    places = Places.from_env({"MEMSLOT_HOME": str(tmp_path)})

    assert SessionStore.of_agent(places, "work").folder == tmp_path / "agents" / "work" / "sessions"


# The registry


def test_beginning_twice_changes_no_more_than_the_facts_that_are_given(store: SessionStore) -> None:
    first = store.begin(Session("main", "s1", "group"), channel="telegram")
    again = store.begin("s1", modelOverride="big")

    assert (first.chat_type, first.channel) == ("group", "telegram")
    assert (again.chat_type, again.channel, again.created_at) == ("group", "telegram", first.created_at)
    assert again.data["modelOverride"] == "big"
    assert len(lines_of(store, "s1")) == 1


def test_unknown_keys_are_kept_and_comments_are_read(store: SessionStore) -> None:
    store.folder.mkdir()
    (store.folder / "sessions.json5").write_text(
        "// by hand\n{version: 1, theirs: {a: [1,]}, sessions: {s1: {id: 's1', shade: 'green', inputTokens: 5,},"
        " odd: 7}}\n"
    )

    record = store.update("s1", {"inputTokens": 9})

    assert (record.input_tokens, record.data["shade"]) == (9, "green")
    tree = json.loads((store.folder / "sessions.json5").read_text())
    assert tree["theirs"] == {"a": [1]}
    assert tree["sessions"]["odd"] == 7
    assert tree["sessions"]["s1"]["shade"] == "green"


def test_an_update_sees_what_is_on_the_disk_and_may_take_keys_away(store: SessionStore) -> None:
    store.begin("s1", shade="green")
    other = SessionStore(store.folder, "main")
    for _ in range(3):
        other.update("s1", lambda record: {"outputTokens": record.output_tokens + 10})

    record = store.update("s1", lambda record: {"outputTokens": record.output_tokens + 1, "shade": None})

    assert record.output_tokens == 31
    assert "shade" not in record.data
    assert store.record("s1") == record


def test_an_update_that_changes_nothing_writes_nothing(store: SessionStore) -> None:
    store.begin("s1")
    before = (store.folder / "sessions.json5").stat().st_mtime_ns

    store.update("s1", lambda _: {})

    assert (store.folder / "sessions.json5").stat().st_mtime_ns == before


@pytest.mark.parametrize("content", [b"{torn: ", b"\xff\xfe", b"[]", b'{"sessions": 3}', b"", b"[" * 5000])
def test_a_registry_that_cannot_be_read_is_kept_beside_a_new_one(store: SessionStore, content: bytes) -> None:
    store.append("s1", [HELLO])
    (store.folder / "sessions.json5").write_bytes(content)

    assert store.problem() is not None
    assert [each.id for each in store.sessions()] == ["s1"]
    store.update("s2", {"title": "two"})

    assert store.problem() is None
    assert (store.folder / "sessions.json5.broken-1").read_bytes() == content
    assert {each.id for each in store.sessions()} == {"s1", "s2"}


def test_wrong_types_in_the_registry_count_as_empty(store: SessionStore) -> None:
    store.folder.mkdir()
    entry = {"updatedAt": "soon", "chatType": 3, "origin": [], "inputTokens": -4, "compactionCount": True, "title": {}}
    (store.folder / "sessions.json5").write_text(json.dumps({"sessions": {"s1": entry}}))
    record = store.record("s1")

    assert record is not None
    assert (record.updated_at, record.chat_type, record.origin, record.title) == (0, "direct", {}, "")
    assert (record.input_tokens, record.compaction_count, record.memory_flush_compaction_count) == (0, 0, None)
    assert store.sessions()[0].title == ""


@pytest.mark.parametrize("moment", [10**15, 10**18, 10**30])
def test_a_moment_that_no_calendar_has_is_none(store: SessionStore, moment: int) -> None:
    store.begin("s1", createdAt=moment, updatedAt=moment, memoryFlushAt=moment)
    record = store.record("s1")

    assert record is not None
    assert (record.created_at, record.updated_at, record.memory_flush_at) == (0, 0, 0)
    assert store.sessions()[0].to_json()["createdAt"] is None
    assert record.data["createdAt"] == moment


# From the future


@pytest.mark.parametrize("version", [2, 1.5, "2", "v3-beta"])
def test_a_registry_from_the_future_is_read_and_left_as_it_is(store: SessionStore, version: object) -> None:
    store.begin("s1", title="now")
    path = store.folder / "sessions.json5"
    tree = {**json.loads(path.read_text()), "version": version, "epoch": "later"}
    path.write_text(json.dumps(tree))

    for change in (
        lambda: store.update("s1", {"title": "x"}),
        lambda: store.begin("s2"),
        lambda: store.delete("s1"),
        lambda: store.append_compaction("s1", "short"),
        lambda: SessionImport(store),
    ):
        with pytest.raises(SessionError, match=r"newer memslot.*upgrade"):
            change()
    assert json.loads(path.read_text()) == tree
    assert {each.name for each in store.folder.glob("*.jsonl")} == {"s1.jsonl"}
    record = store.record("s1")
    assert record is not None
    assert record.title == "now"
    assert "newer" in str(store.problem())


@pytest.mark.parametrize(
    "header", [{"version": 2, "program": "memslot"}, {"version": "1.1", "program": "memslot"}, {"version": 4}]
)
def test_a_transcript_from_the_future_is_read_and_left_as_it_is(store: SessionStore, header: dict[str, Any]) -> None:
    store.folder.mkdir()
    records = [
        {"type": "session", "id": "s1", **header},
        {"type": "hologram", "message": {"role": "user", "content": "unheard of"}},
        {"type": "message", "id": "a", "message": HELLO, "mood": "good"},
    ]
    text = "".join(json.dumps(record) + "\n" for record in records)
    (store.folder / "s1.jsonl").write_text(text)

    with pytest.raises(SessionError, match="newer program"):
        store.append("s1", [HELLO])
    assert (store.folder / "s1.jsonl").read_text() == text
    found = store.read("s1")
    assert found.messages == (HELLO,)
    assert "newer program" in found.problems[0]


def test_transcripts_of_openclaw_can_be_continued(store: SessionStore, samples: Path) -> None:
    store.folder.mkdir()
    file = store.folder / "8c1d7d2e.jsonl"
    file.write_bytes((samples / "openclaw.jsonl").read_bytes())
    store.append("8c1d7d2e", [HELLO])

    assert file.read_bytes().startswith((samples / "openclaw.jsonl").read_bytes())
    assert store.read("8c1d7d2e").messages[-1] == HELLO


# Torn files


def test_a_torn_line_is_told_and_costs_no_other_line(store: SessionStore) -> None:
    store.append("s1", [HELLO, {"role": "user", "content": "second"}])
    path = store.path_of("s1")
    path.write_bytes(path.read_bytes()[:-20])

    found = store.read("s1")
    assert found.torn
    assert found.messages == (HELLO,)
    assert "middle of a line" in found.problems[0]
    store.append("s1", [{"role": "user", "content": "third"}])

    found = store.read("s1")
    assert [message["content"] for message in found.messages] == ["hello", "third"]
    assert (found.torn, found.broken) == (False, (3,))
    assert "unreadable line(s): 3" in found.problems[0]


def test_a_last_line_that_only_lacks_its_end_is_whole(store: SessionStore) -> None:
    store.append("s1", [HELLO])
    path = store.path_of("s1")
    path.write_bytes(path.read_bytes().rstrip(b"\n"))

    assert store.read("s1").messages == (HELLO,)
    store.append("s1", [HELLO])
    assert store.read("s1").messages == (HELLO, HELLO)
    assert store.read("s1").problems == ()


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b"\x00" * 300, b"[]\n7\nnull\n", b'{"type":'])
def test_a_transcript_of_rubbish_can_be_listed_read_and_continued(store: SessionStore, content: bytes) -> None:
    store.folder.mkdir()
    (store.folder / "s1.jsonl").write_bytes(content)

    assert store.read("s1").entries == ()
    assert [each.messages for each in store.sessions()] == [0]
    store.append("s1", [HELLO])
    assert store.read("s1").messages == (HELLO,)


def test_a_line_that_is_too_long_is_passed_over(store: SessionStore) -> None:
    store.append("s1", [HELLO])
    with store.path_of("s1").open("ab") as file:
        file.write(b'{"type":"message","message":{"role":"user","content":"' + b"x" * (33 * 1024 * 1024) + b'"}}\n')
    store.append("s1", [HELLO])
    found = store.read("s1")

    assert found.messages == (HELLO, HELLO)
    assert found.broken == (3,)
    assert [entry.line for entry in found.entries] == [2, 4]


def test_a_torn_transcript_can_be_read_where_no_lock_can_be_had(store: SessionStore) -> None:
    """As on a medium that cannot be written."""
    store.append("s1", [HELLO])
    with store.path_of("s1").open("ab") as file:
        file.write(b'{"type":"mess')
    (store.folder / ".sessions.lock").unlink(missing_ok=True)
    (store.folder / ".sessions.lock").mkdir()
    found = store.read("s1")

    assert (found.messages, found.torn) == ((HELLO,), True)
    with pytest.raises(SessionError, match="could not be created"):
        store.append("s1", [HELLO])


def test_a_line_that_is_just_being_written_is_waited_for(store: SessionStore) -> None:
    store.append("s1", [HELLO])
    half = threading.Event()
    answers: list[tuple[Any, ...]] = []

    def write_slowly() -> None:
        with store.locked(), store.path_of("s1").open("ab", buffering=0) as file:
            file.write(b'{"type":"message","mess')
            half.set()
            threading.Event().wait(0.2)
            file.write(b'age":{"role":"user","content":"slow"}}\n')

    writer = threading.Thread(target=write_slowly)
    writer.start()
    half.wait()
    answers.append(store.read("s1").messages)
    writer.join()

    assert answers == [(HELLO, {"role": "user", "content": "slow"})]


def test_a_full_disk_leaves_the_transcript_as_it_was(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append("s1", [HELLO])
    before = store.path_of("s1").read_bytes()
    write, calls = os.write, 0

    def full(descriptor: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            return write(descriptor, bytes(data)[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("memslot.sessions.transcript.os.write", full)
        with pytest.raises(SessionError, match=r"No space left on device.* is unchanged"):
            store.append("s1", [HELLO])
    assert store.path_of("s1").read_bytes() == before


# Finding and deleting


def test_sessions_are_listed_last_used_first_with_what_was_said_first(store: SessionStore) -> None:
    store.begin("old", title="given")
    store.append("old", [HELLO])
    recalled = "<relevant-memories>\n- secret\n</relevant-memories>\n\nWhere is\nthe gate? " + "x" * 200
    store.append("new", [{"role": "system", "content": "be good"}, {"role": "user", "content": recalled}])
    store.update("only-known", {"updatedAt": 5, "title": "no transcript"})
    found = store.sessions()

    assert [each.id for each in found] == ["new", "old", "only-known"]
    assert [each.messages for each in found] == [2, 1, 0]
    assert found[0].title.startswith("Where is the gate? xx")
    assert len(found[0].title) == 80
    assert (found[1].title, found[2].title) == ("given", "no transcript")


def test_a_title_shows_no_secret_not_even_the_half_of_one_that_fits(store: SessionStore) -> None:
    token = "ghp_" + "A1b2C3d4E5" * 4
    for name, text in (("whole", f"Use {token} for the pager."), ("half", "x " * 30 + token)):
        store.begin(name)
        store.append(name, [{"role": "user", "content": text}])
    assert [each.title for each in store.sessions() if "A1b2" in each.title] == []


def test_the_last_used_are_found_without_reading_the_others(store: SessionStore) -> None:
    """What is looked for is in the ends of the files, also where the last lines are no messages, or torn."""
    for name in ("a", "c", "b"):
        store.begin(name, channel=name)
        store.append(name, [{"role": "user", "content": name * 3_000_000}, HELLO])
        time.sleep(0.002)
    with store.path_of("b").open("ab") as file:
        file.write(b'{"type":"custom","data":"%s"}\n' % (b"x" * 100_000) + b'{"type":"message","timest')
    registry = store.folder / "sessions.json5"
    registry.write_text(re.sub(r'"updatedAt": \d+', '"updatedAt": 7', registry.read_text()))

    before = _bytes_read()
    assert store.ids() == ["a", "b", "c"]
    assert [each.id for each in store.sessions(1)] == ["b"]
    assert _bytes_read() - before < 5_000_000
    assert [each.id for each in store.sessions(1, only=lambda record: record.channel != "b")] == ["c"]
    assert [each.id for each in store.sessions()] == ["b", "c", "a"]


def _bytes_read() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])


def test_deleting_removes_both_halves_and_nothing_else(store: SessionStore) -> None:
    for session_id in ("s1", "s2"):
        store.begin(session_id)
    store.append("s3", [HELLO])

    assert store.delete("s1")
    assert store.delete("s3")
    assert not store.delete("s1")
    assert [each.id for each in store.sessions()] == ["s2"]
    with pytest.raises(SessionError, match="There is no session 's1'"):
        store.read("s1")


@pytest.mark.parametrize(
    "session_id",
    [
        "agent:main:telegram:group:-100",
        *("../../etc/passwd", "..", ".hidden", "a/b", "a\\b", "a\0b", "-x", "trailing."),
        *("Main", "con", "nul.txt", "né", "a b", "\ud800", "x" * 300),
    ],
)
def test_any_id_has_a_file_of_its_own_in_the_folder(store: SessionStore, session_id: str) -> None:
    store.append(session_id, [HELLO])
    store.append(session_id.lower() + "-other", [{"role": "user", "content": "other"}])

    assert store.path_of(session_id).parent == store.folder
    assert store.path_of(session_id).name.isascii()
    assert store.read(session_id).messages == (HELLO,)
    assert session_id in {each.id for each in store.sessions()}
    assert store.delete(session_id)
    assert len(store.sessions()) == 1


@given(st.text(min_size=1, max_size=512), st.text(min_size=1, max_size=512))
def test_names_of_files_are_safe_and_differ(one: str, other: str) -> None:
    names = {transcript_name(one), transcript_name(other)}

    assert len(names) == len({one, other})
    for name in names:
        assert len(name) <= 120
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
        assert name[0] not in "._-"


@pytest.mark.parametrize("session_id", ["", "x" * 513])
def test_an_id_that_cannot_be_is_refused(store: SessionStore, session_id: str) -> None:
    with pytest.raises(SessionError, match="1 to 512 characters"):
        store.append(session_id, [HELLO])


def test_files_that_were_copied_here_keep_their_names(store: SessionStore, samples: Path) -> None:
    store.folder.mkdir()
    (store.folder / "Copied-Topic.jsonl").write_bytes((samples / "openclaw.jsonl").read_bytes())

    assert [each.id for each in store.sessions()] == ["Copied-Topic"]
    store.append("Copied-Topic", [HELLO])
    assert len(store.read("Copied-Topic").entries) == 5
    assert store.delete("Copied-Topic")
    assert store.sessions() == []


def test_a_transcript_of_another_session_is_not_continued(store: SessionStore) -> None:
    store.append("Telegram:1", [HELLO])
    stolen = store.path_of("Telegram:1")
    stolen.rename(store.folder / "plain.jsonl")
    (store.folder / "plain.jsonl").rename(store.folder / transcript_name("Telegram:2"))

    with pytest.raises(SessionError, match="transcript of another session, 'Telegram:1'"):
        store.append("Telegram:2", [HELLO])


@pytest.mark.skipif(sys.platform == "win32", reason="needs links and pipes")
def test_links_and_pipes_in_the_folder_are_no_transcripts(store: SessionStore, tmp_path: Path) -> None:
    store.append("real", [HELLO])
    (tmp_path / "outside.jsonl").write_text("")
    (store.folder / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    os.mkfifo(store.folder / "pipe.jsonl")

    assert [each.id for each in store.sessions()] == ["real"]
    with pytest.raises(SessionError, match=r"link\.jsonl could not be written"):
        store.append("link", [HELLO])
    assert (tmp_path / "outside.jsonl").read_text() == ""


# Compaction in transcripts


def test_a_summary_stands_for_what_came_before_it(store: SessionStore) -> None:
    ids = store.append("s1", [{"role": "user", "content": str(number)} for number in range(6)])
    record = store.append_compaction("s1", "zero to three", first_kept=ids[4], tokens_before=900)
    store.append("s1", [{"role": "user", "content": "6"}])
    found = store.read("s1")

    assert record.compaction_count == 1
    assert [message["content"] for message in found.context] == [
        "Summary of the conversation so far:\n\nzero to three",
        "4",
        "5",
        "6",
    ]
    assert len(found.messages) == 7
    assert store.append_compaction("s1", "all").compaction_count == 2
    assert [message["content"] for message in store.read("s1").context] == [
        "Summary of the conversation so far:\n\nall"
    ]


def test_without_a_summary_the_context_is_everything(store: SessionStore) -> None:
    store.append("s1", [HELLO, HELLO])

    assert store.read("s1").context == (HELLO, HELLO)
    assert store.append_compaction("fresh", "nothing yet").compaction_count == 1
    assert len(store.read("fresh").context) == 1


# What reads transcripts


def test_memory_core_reads_what_is_written_here(store: SessionStore) -> None:
    from memslot_memory_core.sources.files import discover
    from memslot_memory_core.sources.transcripts import read_transcript

    store.begin("s1")
    store.append("s1", [HELLO, {"role": "assistant", "content": [{"type": "text", "text": "hi\nyou"}]}])
    store.append_compaction("s1", "a summary")
    store.append("s1", [{"role": "tool", "content": "result"}, {"role": "user", "content": "bye"}])
    (file,) = discover(store.folder.parent / "workspace", sessions_dir=store.folder).files
    found = read_transcript(file)

    assert found is not None
    assert found.lines == ("User: hello", "Assistant: hi you", "User: bye")
    assert found.broken == 0
    assert all(found.times)
