from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memslot_memory_core.sources import transcripts
from memslot_memory_core.sources.chunking import Chunk
from memslot_memory_core.sources.files import SourceFile, make_stamp
from memslot_memory_core.sources.transcripts import (
    Resume,
    Transcript,
    UserLine,
    chunk_transcript,
    growth,
    read_transcript,
)


def found(file: Path) -> SourceFile:
    status = file.lstat()
    path = f"sessions/{file.name}"
    return SourceFile("sessions", path, str(file), make_stamp(status), status.st_size, status.st_mtime, False)


def message(role: str, content: object, **more: object) -> bytes:
    return json.dumps({"type": "message", "message": {"role": role, "content": content}, **more}).encode() + b"\n"


def read(folder: Path, data: bytes, resume: Resume | None = None, **options: int) -> Transcript:
    file = folder / "s.jsonl"
    file.write_bytes(data)
    transcript = read_transcript(found(file), resume=resume, **options)
    assert transcript is not None
    return transcript


def test_messages_become_lines_that_lead_back_to_the_file(tmp_path: Path) -> None:
    data = (
        b'{"type":"session","version":1}\n'
        + message("user", "What is\n\n  the   plan?")
        + message("toolResult", "a tool's words")
        + message(
            "assistant", [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "Rest."}, {"type": "text"}]
        )
        + b"\n"
        + b'{"type":"message","role":"user","content":"Good."}\n'
    )
    transcript = read(tmp_path, data)
    assert transcript.lines == ("User: What is the plan?", "Assistant: Rest.", "User: Good.")
    assert transcript.numbers == (2, 4, 6)
    assert transcript.user_lines == (UserLine(2, "What is the plan?"), UserLine(6, "Good."))
    assert (transcript.first_line, transcript.broken, transcript.more) == (1, 0, False)


OPENAI_KEY = "sk-" + "x7Qm2ZpL9vTd4RkW8sBn" * 2


def test_secrets_and_recalled_text_stay_out(tmp_path: Path) -> None:
    recalled = "<relevant-memories>\nold\n</relevant-memories>"
    data = (
        message("user", f"{recalled}\nMy key is {OPENAI_KEY} ok")
        + message("user", recalled)
        + message("assistant", [{"type": "text", "text": "<relevant-memories>old"}, {"type": "text", "text": "new"}])
        + message("user", " \n\t ")
        + message("user", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\n9w0BAQEFAASC\n-----END PRIVATE KEY-----")
    )
    transcript = read(tmp_path, data)
    assert transcript.lines == ("User: My key is [redacted] ok", "User: [redacted]")
    assert transcript.numbers == (1, 5)


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("2026-01-02T03:04:05Z", 1767323045.0),
        ("2026-01-02T03:04:05.250Z", 1767323045.25),
        ("2026-01-02T04:04:05+01:00", 1767323045.0),
        ("2026-01-02T03:04:05", 1767323045.0),
        (1767323045000, 1767323045.0),
        (1767323045, 1767323045.0),
        *[(odd, None) for odd in ("soon", "", None, True, [], {}, -1, 0, 1e300, 10**400, "0001-01-01T00:00:00+14:00")],
    ],
)
def test_the_time_of_a_message_is_kept_where_there_is_one(
    tmp_path: Path, stamp: object, expected: float | None
) -> None:
    outer = read(tmp_path, message("user", "x", timestamp=stamp))
    inner = json.dumps({"type": "message", "message": {"role": "user", "content": "x", "timestamp": stamp}}) + "\n"
    assert outer.times == (expected,)
    assert read(tmp_path, inner.encode()).times == (expected,)


def test_a_chunk_is_as_old_as_its_last_message(tmp_path: Path) -> None:
    stamps: list[object] = [1767323045, None, 1767323099, 1767323050]
    transcript = read(tmp_path, b"".join(message("user", "x", timestamp=stamp) for stamp in stamps))
    assert transcript.time_of(1, 2) == 1767323045
    assert transcript.time_of(1, 4) == 1767323099
    assert transcript.time_of(2, 2) is None
    assert transcript.time_of(9, 12) is None


def test_a_torn_last_line_waits_until_it_is_complete(tmp_path: Path) -> None:
    whole = message("user", "first") + message("user", "second")
    begun = len(message("user", "first"))
    for size in range(begun + 1, len(whole) - 1):
        transcript = read(tmp_path, whole[:size])
        assert (transcript.lines, transcript.broken, transcript.end) == (("User: first",), 0, begun)
    # Only its line end is missing: nothing of the message is.
    transcript = read(tmp_path, whole[:-1])
    assert (transcript.lines, transcript.end) == (("User: first", "User: second"), len(whole) - 1)
    assert read(tmp_path, whole).lines == transcript.lines


BROKEN = {
    "no JSON": b"not json",
    "half": b'{"type":"message","message":{"role":"us',
    "NUL": b'{"type":"message"\0}',
    "list": b"[1,2]",
    "text": b'"x"',
    "deep list": b"[" * 200_000,
    "deep object": b'{"a":' * 100_000,
    "large number": b'{"a":' + b"9" * 10_000 + b"}",
}
NOTHING_SAID: dict[str, object] = {
    "message is a list": {"type": "message", "message": [1]},
    "no content": {"type": "message", "message": {"role": "user"}},
    "content is a number": {"type": "message", "message": {"role": "user", "content": 5}},
    "role is a list": {"type": "message", "message": {"role": ["user"], "content": "x"}},
    "parts are wrong": {"type": "message", "message": {"role": "user", "content": [1, None, "s", {"type": "image"}]}},
    "text is a number": {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": 4}]}},
    "type is a list": {"type": ["message"], "message": {"role": "user", "content": "x"}},
    "other type": {"type": "compaction", "message": {"role": "user", "content": "x"}},
    "system": {"type": "message", "message": {"role": "system", "content": "x"}},
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
def test_a_broken_line_is_passed_over_and_counted(tmp_path: Path, line: bytes) -> None:
    transcript = read(tmp_path, message("user", "before") + line + b"\n" + message("user", "after"))
    assert transcript.lines == ("User: before", "User: after")
    assert (transcript.numbers, transcript.broken) == ((1, 3), 1)


@pytest.mark.parametrize("record", NOTHING_SAID.values(), ids=NOTHING_SAID)
def test_a_line_in_which_nobody_says_anything_is_passed_over(tmp_path: Path, record: object) -> None:
    transcript = read(tmp_path, json.dumps(record).encode() + b"\n" + message("user", "after"))
    assert (transcript.lines, transcript.numbers, transcript.broken) == (("User: after",), (2,), 0)


def test_characters_that_cannot_be_stored_are_replaced(tmp_path: Path) -> None:
    data = (
        b'\xef\xbb\xbf{"type":"message","message":{"role":"user","content":"a\\ud800b\\u0000c\\u2028d"}}\r\n'
        b'{"type":"message","message":{"role":"user","content":"x\xffy\\ud83d\\ude00"}}\n'
    )
    transcript = read(tmp_path, data)
    assert transcript.lines == ("User: a\ufffdb c d", "User: x\ufffdy😀")
    "\n".join(transcript.lines).encode()


def test_a_long_line_is_read_and_a_far_too_long_one_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = read(tmp_path, message("user", "word " * 2_000_000) + message("user", "after"))
    chunks, resume = chunk_transcript(transcript, tokens=400, overlap=80)
    assert transcript.numbers == (1, 2)
    assert (len(chunks) > 6000, resume.line) == (True, 1)

    monkeypatch.setattr(transcripts, "MAX_LINE_BYTES", 500)
    monkeypatch.setattr(transcripts, "_BLOCK_BYTES", 100)
    long = message("user", "x" * 5000)
    after = "after it " * 3 + "."
    transcript = read(tmp_path, message("user", "before") + long + message("user", after))
    assert (transcript.lines, transcript.numbers) == (("User: before", f"User: {after}"), (1, 3))
    assert (transcript.broken, transcript.end) == (1, (tmp_path / "s.jsonl").stat().st_size)
    _, resume = chunk_transcript(transcript, tokens=8, overlap=0)
    assert resume.line == 3
    assert read(tmp_path, (tmp_path / "s.jsonl").read_bytes(), resume).numbers == (3,)
    torn = read(tmp_path, message("user", "before") + long[:-1])
    assert (torn.lines, torn.end, torn.broken) == (("User: before",), len(message("user", "before")), 0)


WORDS = st.lists(st.sampled_from(["a", "漢字", "x" * 9, "y" * 30, "zz"]), max_size=40).map(" ".join)
TEXT = st.text(st.sampled_from("ab 漢\n\u2028é👩\u200d"), max_size=120)
RECORDS = st.lists(
    st.one_of(
        st.builds(message, st.sampled_from(["user", "assistant", "tool"]), TEXT),
        st.builds(message, st.sampled_from(["user", "assistant"]), WORDS),
        st.builds(lambda text, times: message("user", text * times), TEXT, st.integers(1, 12)),
        st.sampled_from(
            [b"\n", b"broken\n", b'{"type":"other"}\n', b'{"type":"message","role":"user","content":"t"}\r\n']
        ),
        st.builds(lambda size: json.dumps({"type": "tool", "out": "o" * size}).encode() + b"\n", st.integers(0, 9000)),
    ),
    max_size=25,
)


class Index:
    """What an index does with what it is given: it replaces everything from the first line read on."""

    def __init__(self, file: Path, tokens: int, overlap: int, max_chars: int) -> None:
        self.file, self.size, self.max_chars = file, {"tokens": tokens, "overlap": overlap}, max_chars
        self.resume: str | None = None
        self.chunks: list[Chunk] = []
        self.user_lines: list[UserLine] = []
        self.read_again = 0

    def sync(self) -> None:
        more = True
        while more:
            resume = Resume.from_text(self.resume)
            transcript = read_transcript(found(self.file), resume=resume, max_chars=self.max_chars)
            assert transcript is not None
            self.read_again += resume is not None and transcript.first_line < resume.line
            chunks, following = chunk_transcript(transcript, **self.size)
            first, more = transcript.first_line, transcript.more
            self.chunks = [chunk for chunk in self.chunks if chunk.start_line < first] + chunks
            self.user_lines = [line for line in self.user_lines if line.number < first] + list(transcript.user_lines)
            assert not more or following != resume, "each reading gets ahead"
            self.resume = following.to_text()


@settings(max_examples=250, deadline=None)
@given(
    records=RECORDS,
    tokens=st.integers(8, 60),
    overlap=st.integers(0, 30),
    max_chars=st.sampled_from([300, 1000, 10**9]),
    data=st.data(),
)
def test_any_way_to_grow_gives_the_chunks_of_one_fresh_reading(
    records: list[bytes], tokens: int, overlap: int, max_chars: int, data: st.DataObject
) -> None:
    whole = b"".join(records)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    if data.draw(st.booleans()):  # between records, with or without the last line end
        ends = [0]
        for record in records:
            ends.append(ends[-1] + len(record))
        cuts = sorted({max(0, ends[cut % len(ends)] - cut % 2) for cut in cuts})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "s.jsonl")
        file.write_bytes(b"")
        grown = Index(file, tokens, overlap, max_chars)
        for cut in [*cuts, len(whole)]:
            file.write_bytes(whole[:cut])
            grown.sync()
        fresh = Index(file, tokens, overlap, 10**9)
        fresh.sync()
    assert grown.chunks == fresh.chunks
    assert grown.user_lines == fresh.user_lines
    assert grown.read_again == 0
    assert grown.resume == fresh.resume


def test_reading_goes_on_behind_a_line_whose_beginning_shares_a_chunk_with_the_one_above(tmp_path: Path) -> None:
    data = message("user", "a") + message("user", "x" * 70 + " " + "y" * 80)
    chunks, resume = chunk_transcript(read(tmp_path, data), tokens=25, overlap=0)
    assert [(chunk.start_line, chunk.end_line, chunk.begins_line) for chunk in chunks] == [(1, 2, True), (2, 2, False)]
    assert resume.line == 1


def test_a_message_longer_than_one_reading_does_not_stop_the_next(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(b"".join(message("user", f"{n} " * 500) for n in range(5)))
    pieces, whole = (Index(tmp_path / "s.jsonl", 10, 5, max_chars) for max_chars in (100, 10**9))
    pieces.sync()
    whole.sync()
    assert pieces.chunks == whole.chunks
    assert pieces.resume == whole.resume


def test_only_the_end_of_a_transcript_is_read_again(tmp_path: Path) -> None:
    data = b"".join(message("user", f"message {number} " + "word " * 50) for number in range(1, 501))
    first = read(tmp_path, data)
    chunks, resume = chunk_transcript(first, tokens=400, overlap=80)
    assert len(data) - resume.offset < 3000
    assert (resume.line, resume.end) == (chunks[-1].start_line, len(data))
    second = read(tmp_path, data + message("user", "new"), resume)
    assert len(second.lines) < 10
    assert second.lines[-1] == "User: new"


def test_an_unchanged_transcript_gives_its_last_chunk_and_place_again(tmp_path: Path) -> None:
    data = b"".join(message("user", f"message {number} " + "word " * 50) for number in range(1, 51))
    chunks, resume = chunk_transcript(read(tmp_path, data), tokens=100, overlap=20)
    assert chunk_transcript(read(tmp_path, data, resume), tokens=100, overlap=20) == ([chunks[-1]], resume)


def _longer(data: bytes) -> bytes:
    return message("user", "put before it") + data


def _same_length(data: bytes) -> bytes:
    return data.replace(b"end", b"END")


def _scrubbed_at_the_beginning(data: bytes) -> bytes:
    return data.replace(b"message 3 ", b"********* ", 1)


def _scrubbed_and_grown(data: bytes) -> bytes:
    return data.replace(b"message 3 ", b"********* ", 1) + message("user", "more")


def _cut(data: bytes) -> bytes:
    return data[:-300]


def _last_changed(data: bytes) -> bytes:
    return data[:-20] + data[-20:].replace(b"d", b"D") + message("user", "more")


def _other(data: bytes) -> bytes:
    return b"".join(message("assistant", f"quite another conversation {number}") for number in range(400))


def _without_line_end_and_then_garbage(data: bytes) -> bytes:
    return data[:-1] + b" garbage\n" + message("user", "more")


@pytest.mark.parametrize(
    "change", [_longer, _same_length, _scrubbed_at_the_beginning, _scrubbed_and_grown, _cut, _last_changed, _other]
)
def test_a_transcript_that_was_written_anew_is_read_from_its_beginning(tmp_path: Path, change: Any) -> None:
    data = b"".join(message("user", f"message {number} end") for number in range(1, 201))
    _, resume = chunk_transcript(read(tmp_path, data), tokens=100, overlap=20)
    unchanged = read(tmp_path, data, resume)
    assert (unchanged.first_line > 1, unchanged.resumed) == (True, True)
    fresh = read(tmp_path, change(data))
    again = read(tmp_path, change(data), resume)
    assert (again.first_line, again.lines, again.numbers) == (1, fresh.lines, fresh.numbers)
    assert not again.resumed


def test_a_record_that_goes_on_after_it_was_taken_for_whole_is_read_anew(tmp_path: Path) -> None:
    data = b"".join(message("user", f"message {number} end") for number in range(1, 201))
    _, resume = chunk_transcript(read(tmp_path, data[:-1]), tokens=100, overlap=20)
    assert read(tmp_path, data[:-1] + b"\r\n" + message("user", "x"), resume).first_line > 1
    again = read(tmp_path, _without_line_end_and_then_garbage(data), resume)
    assert (again.first_line, again.broken) == (1, 1)


def test_a_place_survives_being_stored_and_nonsense_means_to_read_all() -> None:
    resume = Resume(120, 4, 900, "0123456789abcdef" * 4)
    assert Resume.from_text(resume.to_text()) == resume
    for text in (
        None,
        "",
        "1:2:3",
        "a:b:c:d",
        "9:1:3:" + "0" * 64,
        "0:0:3:" + "0" * 64,
        "-1:1:3:" + "0" * 64,
        "1:1:3:" + "0" * 32,
        "1" * 9999,
    ):
        assert Resume.from_text(text) is None


def test_growth_is_what_came_after_the_part_that_was_read(tmp_path: Path) -> None:
    data = message("user", "one") + message("assistant", "two")
    transcript = read(tmp_path, data)
    file = tmp_path / "s.jsonl"
    assert growth(found(file), transcript.end) == (0, 0)
    more = message("user", 'says "type":"message" in words') + b'{"type":"usage"}\n' + message("tool", "x")
    file.write_bytes(data + more)
    assert growth(found(file), transcript.end) == (len(more), 2)
    assert growth(found(file), 10**9) == (len(data + more), 4)
    source = found(file)
    file.unlink()
    assert growth(source, 0) == (0, 0)
    assert read_transcript(source) is None
