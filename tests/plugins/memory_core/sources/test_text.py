from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from memslot_memory_core.sources import text as text_module
from memslot_memory_core.sources.chunking import chunk_lines
from memslot_memory_core.sources.files import SourceFile, make_stamp
from memslot_memory_core.sources.text import Document, read_text_file, split_lines


def found(file: Path) -> SourceFile:
    status = file.lstat()
    return SourceFile("memory", file.name, str(file), make_stamp(status), status.st_size, status.st_mtime, False)


def read(folder: Path, data: bytes, **options: int) -> Document:
    file = folder / "note.md"
    file.write_bytes(data)
    document = read_text_file(found(file), **options)
    assert document is not None
    return document


LINE_TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\n\r\ufeff"), max_size=30)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(LINE_TEXT, ENDS), max_size=20), st.booleans(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])
)
def test_line_numbers_are_exact_whatever_ends_the_lines(
    tmp_path: Path, lines: list[tuple[str, str]], final_end: bool, encoding: str
) -> None:
    texts, whole = [], ""
    for at, (text, end) in enumerate(lines):
        last = at == len(lines) - 1
        if text == "" and end == "\n" and whole.endswith("\r"):
            end = "\r"  # CR and then LF would be one line end, not two
        if last and not final_end:
            text, end = text + "x", ""
        texts.append(text)
        whole += text + end
    assume(encoding != "utf-16" or not whole.startswith("\0"))  # that looks like the mark of UTF-32
    document = read(tmp_path, whole.encode(encoding))
    assert list(document.lines) == texts
    assert (document.replaced, document.truncated) == (0, False)
    for chunk in chunk_lines(document.lines, None, tokens=8, overlap=4):
        for number, part in enumerate(chunk.text.split("\n"), chunk.start_line):
            assert part in texts[number - 1]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("a\r\nb\rc\nd", ["a", "b", "c", "d"]),
        ("a\r\r\nb\n\rc", ["a", "", "b", "", "c"]),
        ("a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\n", ["a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g"]),
    ],
)
def test_only_line_ends_of_editors_end_a_line(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines


def test_marks_at_the_beginning_choose_the_encoding_and_vanish(tmp_path: Path) -> None:
    text = "Größe 漢字 😀\nzwei"
    for encoding in ("utf-8-sig", "utf-16"):
        assert read(tmp_path, text.encode(encoding)).lines == ("Größe 漢字 😀", "zwei")
    big_endian = b"\xfe\xff" + text.encode("utf-16-be")
    assert read(tmp_path, big_endian).lines == ("Größe 漢字 😀", "zwei")


def test_bytes_that_cannot_be_decoded_are_replaced_and_counted(tmp_path: Path) -> None:
    document = read(tmp_path, b"good\n\xff\xfebad\xe2\x82\n" + "own \ufffd\n".encode())
    assert document.lines == ("good", "\ufffd\ufffdbad\ufffd", "own \ufffd")
    assert document.replaced == 3
    half_pair = b"\xff\xfe" + "ok".encode("utf-16-le") + b"\x3d\xd8" + "!".encode("utf-16-le")
    document = read(tmp_path, half_pair)
    assert document.replaced == 1
    "".join(document.lines).encode()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_can_be_read_and_stored_as_text(tmp_path: Path, data: bytes) -> None:
    document = read(tmp_path, data)
    "\n".join(document.lines).encode()
    assert document.hash == hashlib.sha256(data).hexdigest()
    assert document.replaced >= 0


def test_what_is_too_long_is_cut_at_a_line_end_and_says_so(tmp_path: Path) -> None:
    data = "één\ntwee\ndrie\n".encode()
    assert not read(tmp_path, data, max_bytes=len(data)).truncated
    document = read(tmp_path, data, max_bytes=12)
    assert (document.lines, document.truncated, document.replaced) == (("één", "twee"), True, 0)
    inside_a_character = read(tmp_path, "aé".encode(), max_bytes=2)
    assert (inside_a_character.lines, inside_a_character.replaced) == (("a",), 0)


def test_the_stamp_is_the_one_discovery_would_give(tmp_path: Path) -> None:
    assert read(tmp_path, b"x").stamp == found(tmp_path / "note.md").stamp


def vanish(file: Path) -> None:
    file.unlink()


def become_a_link(file: Path) -> None:
    other = file.with_name("other.txt")
    other.write_text("secret")
    file.unlink()
    file.symlink_to(other)


def become_a_link_to_itself(file: Path) -> None:
    file.rename(file.with_name("moved.md"))
    file.symlink_to("moved.md")


def become_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def become_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def become_a_socket(file: Path) -> None:
    file.unlink()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.path.relpath(file))  # an absolute path may be too long for a socket
    listening.close()


def be_replaced(file: Path) -> None:
    other = file.with_name("other.md")
    other.write_text("quite another text")
    other.replace(file)


def have_its_folder_swapped_for_a_link(file: Path) -> None:
    elsewhere = file.parent.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / file.name).write_text("secret outside")
    file.parent.rename(file.parent.with_name("moved"))
    file.parent.symlink_to(elsewhere)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a POSIX file system")
@pytest.mark.parametrize(
    "change",
    [
        vanish,
        become_a_link,
        become_a_link_to_itself,
        become_a_pipe,
        become_a_folder,
        become_a_socket,
        be_replaced,
        have_its_folder_swapped_for_a_link,
    ],
)
def test_a_file_that_is_no_longer_what_was_found_is_not_read(tmp_path: Path, change: Callable[[Path], None]) -> None:
    file = tmp_path / "notes" / "note.md"
    file.parent.mkdir()
    file.write_text("text")
    source = found(file)
    change(file)
    assert read_text_file(source) is None


def test_a_file_that_grows_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "note.md"
    file.write_text("first\n")
    source = found(file)
    real, calls = os.fstat, []

    def fstat_and_write(descriptor: int) -> os.stat_result:
        calls.append(descriptor)
        if len(calls) == 3:  # opened, before the reading, after it
            with file.open("a") as more:
                more.write("second\n")
        return real(descriptor)

    monkeypatch.setattr(text_module.os, "fstat", fstat_and_write)
    document = read_text_file(source)
    assert document is not None
    assert document.lines == ("first", "second")
    assert document.stamp == make_stamp(file.stat())


def test_a_file_that_never_comes_to_rest_counts_as_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "note.md"
    file.write_text("first\n")
    source = found(file)
    real = os.fstat

    def write_and_fstat(descriptor: int) -> os.stat_result:
        with file.open("a") as more:
            more.write("more\n")
        return real(descriptor)

    monkeypatch.setattr(text_module.os, "fstat", write_and_fstat)
    document = read_text_file(source)
    assert document is not None
    assert document.lines[0] == "first"
    assert document.stamp != make_stamp(file.stat())


def test_missing_rights_are_an_error_not_a_missing_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "note.md"
    file.write_text("text")
    source = found(file)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(text_module.os, "open", refuse)  # for the superuser, no file is closed
    with pytest.raises(PermissionError):
        read_text_file(source)
