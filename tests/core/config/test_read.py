from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from memslot.config.read import read_config_file
from memslot.errors import ConfigError


def complaint(path: Path) -> str:
    """The one sentence that a broken file gets."""
    with pytest.raises(ConfigError) as caught:
        read_config_file(path)
    text = str(caught.value)
    assert str(path) in text
    assert "Traceback" not in text
    if not caught.value.problems:
        assert "\n" not in text
        assert text.endswith((".", "?"))
    return text


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("name", ["c.json5", "c.json", "c.jsonc", "c", "c.JSON5"])
def test_json5_is_read_whatever_the_suffix(tmp_path: Path, name: str) -> None:
    raw = read_config_file(written(tmp_path / name, "{a: 1, // x\n b: 'y',}"))
    assert raw is not None
    assert raw.tree == {"a": 1, "b": "y"}
    assert raw.outline is not None


def test_toml_is_read_and_its_dates_become_text(tmp_path: Path) -> None:
    raw = read_config_file(written(tmp_path / "c.toml", "[a]\nb = 2024-01-02\nc = [1.5, 07:30:00]\n"))
    assert raw is not None
    assert raw.tree == {"a": {"b": "2024-01-02", "c": [1.5, "07:30:00"]}}


@pytest.mark.parametrize("name", ["c.json5", "c.toml"])
def test_no_file_is_no_error(tmp_path: Path, name: str) -> None:
    assert read_config_file(tmp_path / name) is None
    assert read_config_file(tmp_path / "no/such/folder" / name) is None


def test_byte_order_mark_is_fine(tmp_path: Path) -> None:
    raw = read_config_file(written(tmp_path / "c.json5", b"\xef\xbb\xbf{a: 1}"))
    assert raw is not None
    assert raw.tree == {"a": 1}


def test_folder(tmp_path: Path) -> None:
    assert "is a folder" in complaint(tmp_path)


def test_fifo_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "c.json5")
    assert "pipe, socket or device" in complaint(tmp_path / "c.json5")


def test_device_and_socket(tmp_path: Path) -> None:
    (tmp_path / "c.json5").symlink_to("/dev/zero")
    assert "pipe, socket or device" in complaint(tmp_path / "c.json5")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s.json5"))
        assert "pipe, socket or device" in complaint(tmp_path / "s.json5")


def test_dangling_symlink_and_loop(tmp_path: Path) -> None:
    (tmp_path / "c.json5").symlink_to("nowhere")
    assert "symlink to nowhere" in complaint(tmp_path / "c.json5")
    (tmp_path / "l.json5").symlink_to("l.json5")
    assert "symlink loop" in complaint(tmp_path / "l.json5")


def test_path_below_a_file(tmp_path: Path) -> None:
    written(tmp_path / "f", "{}")
    assert "not a folder" in complaint(tmp_path / "f" / "c.json5")


@pytest.mark.usefixtures("modes_bind_root")
def test_unreadable_file(tmp_path: Path) -> None:
    path = written(tmp_path / "c.json5", "{}")
    path.chmod(0)
    assert "is not readable by this user" in complaint(path)


@pytest.mark.usefixtures("modes_bind_root")
def test_folder_that_may_not_be_entered(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o000)
    assert "is not readable" in complaint(tmp_path / "closed/c.json5")


def test_too_large(tmp_path: Path) -> None:
    assert "larger than 1 MiB" in complaint(written(tmp_path / "c.json5", b"{}" + b" " * (1024 * 1024)))
    assert read_config_file(written(tmp_path / "c.json5", b"{}" + b" " * (1024 * 1024 - 2))) is not None


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf16_is_named(tmp_path: Path, encoding: str) -> None:
    assert "UTF-16" in complaint(written(tmp_path / "c.json5", '{"a": "b"}'.encode(encoding)))


@pytest.mark.parametrize("name", ["c.json5", "c.toml"])
def test_other_encodings_and_binary(tmp_path: Path, name: str) -> None:
    assert "not UTF-8 (see line 2)" in complaint(written(tmp_path / name, b"\n# \xe9t\xe9\n"))
    assert "NUL byte in line 2" in complaint(written(tmp_path / name, b"# some text\n\x00 and more\n"))


@pytest.mark.parametrize("opening", ["[", '{"a":', "{a:["])
def test_deep_nesting(tmp_path: Path, opening: str) -> None:
    assert "64 levels" in complaint(written(tmp_path / "c.json5", opening * 100_000))


def test_nesting_up_to_the_limit_is_fine(tmp_path: Path) -> None:
    assert read_config_file(written(tmp_path / "c.json5", '{"a":' * 64 + "1" + "}" * 64)) is not None
    assert "64 levels" in complaint(written(tmp_path / "c.json5", '{"a":' * 65 + "1" + "}" * 65))
    assert read_config_file(written(tmp_path / "c.toml", ".".join("a" * 64) + " = 1")) is not None
    assert "64 levels" in complaint(written(tmp_path / "c.toml", ".".join("a" * 65) + " = 1"))


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "a = " + "{a=" * 10_000,
        ".".join(["a"] * 400_000) + " = 1",
        "[" + ".".join(['"a"'] * 200_000) + "]",
        "x = {" + " . ".join(["'a'"] * 100_000) + " = 1}",
    ],
)
def test_deep_toml_neither_crashes_nor_takes_forever(tmp_path: Path, text: str) -> None:
    assert "64 levels" in complaint(written(tmp_path / "c.toml", text))


def test_toml_prose_with_many_dots_is_fine(tmp_path: Path) -> None:
    prose = "One sentence. " * 200 + "..." * 50
    raw = read_config_file(written(tmp_path / "c.toml", f'a = "{prose}"\n'))
    assert raw is not None
    assert raw.tree["a"] == prose


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{\n  a: 1\n  b: 2\n}", "line 3, column 3"),
        ("{\n  a-b: 1\n}", 'line 2, column 4: "-" is unexpected'),
        ("{\r\n  a: [1,\r\n", "starting at line 2, column 6"),
        ('{\n a: "x\n"}', "an unclosed string, starting at line 2, column 5"),
        ("{a: 1e999}", "an invalid number"),
        ("{a: " + "9" * 5000 + "}", "an invalid number"),
        ("{a: undefined}", "line 1, column 5"),
        ("{}\n {}", "after the end of its settings, at line 2, column 2"),
        ("# comment\n{}", 'line 1, column 1: "#"'),
        ("", "has no settings"),
        (" \n", "has no settings"),
        ("// only a comment", "has no settings"),
        ("{} /* open", "an unclosed comment, starting at line 1, column 4"),
        ("{a: 1 / 2}", "line 1, column 7"),
        ("{a: tru}", "line 1, column 5: this is not a valid value"),
        ("{\n\n", "an unclosed {, starting at line 1, column 1"),
        ("[1]", "must be an object"),
        ('"text"', "must be an object"),
        ("null", "must be an object"),
    ],
)
def test_json5_mistakes_are_placed(tmp_path: Path, text: str, said: str) -> None:
    told = complaint(written(tmp_path / "c.json5", text))
    assert said in told
    assert "U+" not in told


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\nb = @\n", "line 2, column 5"),
        ("a = 1\na = 2\n", "overwrite"),
        ("a = [1,", "end of document"),
        ("a = " + "9" * 5000, "has an invalid value"),
        ("a = 2024-13-45", "c.toml"),
    ],
)
def test_toml_mistakes_are_placed(tmp_path: Path, text: str, said: str) -> None:
    assert said in complaint(written(tmp_path / "c.toml", text))


def test_duplicate_keys_are_all_told_with_both_lines(tmp_path: Path) -> None:
    path = written(tmp_path / "c.json5", "{\n a: 1,\n b: {c: 1,\n \"c\": 2},\n 'a': 3,\n}")
    with pytest.raises(ConfigError) as caught:
        read_config_file(path)
    told = {(problem.key, problem.line, problem.reason) for problem in caught.value.problems}
    assert told == {
        ("a", 5, "is set twice, in line 2 and in line 5"),
        ("b.c", 4, "is set twice, in line 3 and in line 4"),
    }
