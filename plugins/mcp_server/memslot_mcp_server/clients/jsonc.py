"""Changes one place in a JSON text that may hold comments, and leaves every other character as it was."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from memslot import MemslotError

Path = tuple[str | int, ...]
_BLANK = re.compile(r"(?:[\s\ufeff]|//[^\n\r]*|/\*.*?\*/)*+", re.DOTALL)
_STRING = re.compile(r"\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'", re.DOTALL)
_WORD = re.compile(r"[^\s\ufeff,:/\[\]{}\"']+")


@dataclass(frozen=True)
class _Entry:
    """A member of an object, or an item of a list: where its value stands."""

    key: str | None
    start: int
    end: int
    comma: int | None


@dataclass(frozen=True)
class _Holder:
    """An object or a list with what is in it; `end` is behind its closing bracket."""

    start: int
    end: int
    entries: tuple[_Entry, ...]


def parse(text: str) -> Any:
    """The value of a text; raises a MemslotError that says where it is wrong."""
    import pyjson5

    try:
        return pyjson5.decode(text, 200)
    except pyjson5.Json5Exception as error:
        # The first argument alone: the others hold what was read up to there, and with it other servers' keys.
        near = re.search(r"near (\d+)", str(error.args[0]))
        before = text[: max(0, int(near[1]) - 1)] if near else ""
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise MemslotError(f"it cannot be read as JSON from line {line}, column {column} on") from None


def set_value(text: str, path: Path, value: Any) -> str:
    """The text with a value at a path; what is missing on the way is made, one item at the end of a list too."""
    start, end = _root(text)
    for depth, step in enumerate(path):
        if text[start] != ("[" if isinstance(step, int) else "{"):
            raise MemslotError(f"{_shown(path[:depth])} is not {'a list' if isinstance(step, int) else 'an object'}")
        holder = _read_holder(text, start)
        entry = _find(holder, step)
        if entry is None:
            return _insert(text, holder, step, _nested(path[depth + 1 :], value))
        start, end = entry.start, entry.end
    return text[:start] + _render(value, _indent_at(text, start), _newline(text)) + text[end:]


def _nested(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = [value] if isinstance(step, int) else {step: value}
    return value


def _shown(path: Path) -> str:
    return ".".join(str(step) for step in path) or "the whole file"


# Reading: the text was parsed before, so nothing is checked here.


def _root(text: str) -> tuple[int, int]:
    start = _skip(text, 0)
    return start, _value_end(text, start)


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return match.end() if match else position


def _value_end(text: str, start: int) -> int:
    if text[start] in "{[":
        return _read_holder(text, start).end
    match = (_STRING if text[start] in "\"'" else _WORD).match(text, start)
    if match is None:
        raise MemslotError("the file is written in a way that cannot be edited safely")
    return match.end()


def _read_holder(text: str, start: int) -> _Holder:
    closing = "}" if text[start] == "{" else "]"
    entries = []
    position = _skip(text, start + 1)
    while text[position] != closing:
        key = None
        if closing == "}":
            key_end = _value_end(text, position)
            key = _key(text[position:key_end])
            position = _skip(text, _skip(text, key_end) + 1)
        end = _value_end(text, position)
        after = _skip(text, end)
        comma = after if text[after] == "," else None
        entries.append(_Entry(key, position, end, comma))
        position = _skip(text, after + 1) if comma is not None else after
    return _Holder(start, position + 1, tuple(entries))


def _key(written: str) -> str:
    return str(parse(written)) if written[0] in "\"'" else written


def _find(holder: _Holder, step: str | int) -> _Entry | None:
    if isinstance(step, int):
        return holder.entries[step] if step < len(holder.entries) else None
    return next((entry for entry in reversed(holder.entries) if entry.key == step), None)


# Writing


def _insert(text: str, holder: _Holder, step: str | int, value: Any) -> str:
    prefix = f"{json.dumps(step, ensure_ascii=False)}: " if isinstance(step, str) else ""
    last = holder.entries[-1] if holder.entries else None
    end = holder.end - 1
    inside = text[holder.start + 1 : end]
    if "\n" not in inside and last is not None:
        member = prefix + json.dumps(value, ensure_ascii=False)
        if last.comma is not None:
            return f"{text[: last.comma + 1]} {member},{text[last.comma + 1 :]}"
        return f"{text[: last.end]}, {member}{text[last.end :]}"
    newline = _newline(text)
    base = _indent_at(text, holder.start)
    inner = _indent_at(text, last.start) if last is not None else base + _unit(text)
    member = prefix + _render(value, inner, newline)
    comma = "," if last is not None and last.comma is not None else ""
    line_start = max(text.rfind("\n", 0, end), text.rfind("\r", 0, end)) + 1
    if line_start > holder.start and not text[line_start:end].strip():
        before, after = text[:line_start], text[line_start:]
        addition = f"{inner}{member}{comma}{newline}"
    else:
        before, after = text[:end].rstrip(" \t"), base + text[end:]
        addition = f"{newline}{inner}{member}{comma}{newline}"
    if last is not None and last.comma is None:
        before = f"{before[: last.end]},{before[last.end :]}"
    return before + addition + after


def _render(value: Any, indent: str, newline: str) -> str:
    unit = "\t" if indent.startswith("\t") else 2
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return newline.join([lines[0], *(indent + line for line in lines[1:])])


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "


def _indent_at(text: str, offset: int) -> str:
    start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    match = re.compile(r"[ \t]*").match(text, start, offset)
    return match[0] if match else ""
