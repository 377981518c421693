"""Reading of config files; every failure is one clear sentence."""

from __future__ import annotations

import errno
import os
import re
import stat
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memslot.config.keypath import format_key
from memslot.config.outline import Outline, line_starts, outline, skip_blank
from memslot.config.problems import ConfigProblem
from memslot.errors import ConfigError

LARGEST = 1024 * 1024
DEEPEST = 64

# tomllib takes a minute and a gigabyte for a key of 50,000 parts: reject it first.
_LONG_TOML_KEY = re.compile(r"(?<![\w-])(?:(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}")


@dataclass(frozen=True)
class RawConfig:
    """A parsed file, before validation."""

    path: Path
    text: str = field(repr=False)
    tree: dict[str, Any] = field(repr=False)
    outline: Outline | None = field(repr=False)
    """Positions; None for TOML."""


def read_config_file(path: Path) -> RawConfig | None:
    """Read a config file; None if it does not exist."""
    found = read_config_bytes(path)
    return None if found is None else parse_config_bytes(path, found[0])


def read_config_bytes(path: Path) -> tuple[bytes, os.stat_result] | None:
    """Read a regular file up to the size limit; return its bytes and the fstat of the open file."""
    try:
        _check_kind(path, path.stat())
        # O_NONBLOCK: if the file became a FIFO since stat, open must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            _check_kind(path, status)
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        if path.is_symlink():
            raise ConfigError(
                f"{path} is a symlink to {path.readlink()}, which does not exist; fix or remove the link."
            ) from None
        return None
    except PermissionError:
        raise ConfigError(f"{path} is not readable by this user; change its permissions or owner.") from None
    except NotADirectoryError:
        raise ConfigError(f"{path} is below a file, not a folder; choose another path.") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ConfigError(f"{path} is a symlink loop; replace it with a file.") from None
        raise ConfigError(f"{path} could not be read ({error.strerror}); check the disk and path.") from None
    except ValueError:  # a NUL in the path itself
        raise ConfigError(f"{str(path)!r} is not a valid path; choose another.") from None
    if len(data) > LARGEST:
        raise ConfigError(f"{path} is larger than 1 MiB, too large for a config; is it the right file?")
    return data, status


def parse_config_bytes(path: Path, data: bytes) -> RawConfig:
    """Decode and parse the content of `path`."""
    text = _decoded(path, data)
    if path.suffix.lower() == ".toml":
        return RawConfig(path, text, _parse_toml(path, text), None)
    return _parse_json5(path, text)


def _check_kind(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ConfigError(f"{path} is a folder, not a config file; name a file inside it.")
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError(f"{path} is a pipe, socket or device, not a config file; name a regular file.")


def _decoded(path: Path, data: bytes) -> str:
    zeros = data.count(0)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or (zeros and zeros * 3 > len(data)):
        raise ConfigError(f"{path} looks like UTF-16; save it as UTF-8.")
    if zeros:
        line = data[: data.index(0)].count(b"\n") + 1
        raise ConfigError(f"{path} has a NUL byte in line {line}; is it really a text file?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path} is not UTF-8 (see line {line}); save it as UTF-8.") from None


def _parse_json5(path: Path, text: str) -> RawConfig:
    import pyjson5

    try:
        tree = pyjson5.decode(text, DEEPEST)
    except pyjson5.Json5NestingTooDeep:
        raise _too_deep(path) from None
    except pyjson5.Json5Exception as error:
        raise ConfigError(_json5_message(path, text, str(error.args[0]) if error.args else "")) from None
    _check_object(path, tree)
    positions = outline(text)
    if duplicates := positions.duplicates():
        problems = [
            ConfigProblem(
                format_key(each.path),
                f"is set twice, in line {each.first_line} and in line {each.second_line}",
                hint="keep one of them",
                file=str(path),
                line=each.second_line,
            )
            for each in duplicates
        ]
        raise ConfigError(f"{path} sets a key twice; keep one of each pair.", problems)
    return RawConfig(path, text, tree, positions)


def _json5_message(path: Path, text: str, message: str) -> str:
    """Translate a pyjson5 error ("Expected b'colon' near 3, found U+002d") to a line and plain words."""
    near = re.search(r"near (\d+)", message)
    if not near or message.startswith("No JSON"):
        return f"{path} has no settings; write {{}} for an empty config."
    offset = int(near[1]) - 1
    if message.startswith("Extra data"):
        offset = skip_blank(text, offset + 1)
    elif message.startswith(("Stray", "Unclosed b'comment'")):
        offset -= 1  # these two point past the character
    starts = line_starts(text)
    line = bisect_right(starts, offset)
    place = f"line {line}, column {offset - starts[line - 1] + 1}"
    if unclosed := re.match(r"Unclosed b'(\w+)'", message):
        names = {
            "NumericLiteral": "an invalid number",
            "object": "an unclosed {",
            "array": "an unclosed [",
        }
        what = names.get(unclosed[1], f"an unclosed {unclosed[1]}")
        return f"{path} has {what}, starting at {place}; correct it there."
    if message.startswith("Extra data"):
        return f"{path} has extra text after the end of its settings, at {place}; remove it."
    found = re.search(r"found U\+([0-9a-fA-F]+)", message)
    what = (
        "this is not a valid value"
        if "Expected U+" in message or not found
        else f"{_character(found[1])} is unexpected"
    )
    return f"{path} has a syntax error at {place}: {what}; correct it, or look for a missing comma or quote before it."


def _character(code: str) -> str:
    character = chr(int(code, 16))
    return f'"{character}"' if character.isprintable() else f"the character {int(code, 16):#06x}"


def _parse_toml(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    if any(line.count(".") >= DEEPEST and _LONG_TOML_KEY.search(line) for line in text.splitlines()):
        raise _too_deep(path)
    try:
        tree = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(path) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_toml_message(path, str(error))) from None
    except ValueError as error:  # impossible dates, overlong numbers
        reason = str(error).split(":")[0].split(";")[0]
        raise ConfigError(f"{path} has an invalid value ({reason}); correct it.") from None
    plain = _plain(tree, 0)
    if plain is None:
        raise _too_deep(path)
    _check_object(path, plain)
    return plain  # type: ignore[no-any-return]


def _toml_message(path: Path, message: str) -> str:
    match = re.fullmatch(r"(?s)(.*) \(at (.*)\)", message)
    reason, place = match.groups() if match else (message, "an unknown place")
    return f"{path} has a syntax error at {place}: {reason.rstrip('.').lower()}; correct it there."


def _plain(value: Any, depth: int) -> Any:
    """Convert TOML dates to strings, as in JSON; return None if the nesting is too deep."""
    if isinstance(value, dict | list):
        if depth >= DEEPEST:
            return None
        if isinstance(value, dict):
            parts = {key: _plain(item, depth + 1) for key, item in value.items()}
            return None if None in parts.values() else parts
        items = [_plain(item, depth + 1) for item in value]
        return None if any(item is None for item in items) else items
    return value if isinstance(value, str | bool | int | float) else value.isoformat()


def _check_object(path: Path, tree: Any) -> None:
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} must be an object at its top level; start it with {{ and end it with }}.")


def _too_deep(path: Path) -> ConfigError:
    return ConfigError(f"{path} is nested more than {DEEPEST} levels deep; is it the right file?")
