"""A config text edited in steps, each of which can be undone byte for byte."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memslot import MemslotError, edit_json, unset_json

from memslot_mcp_server.clients.catalog import Syntax

KeyPath = tuple[str | int, ...]
UNSAFE = "it is written in a way that cannot be edited safely"


class Change(NamedTuple):
    """A value of ours that was set, replaced or removed (None: there is none)."""

    path: KeyPath
    old: Any
    new: Any

    def path_text(self) -> str:
        """Format a path, such as `hooks.Stop[0]`."""
        text = ""
        for step in self.path:
            text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
        return text


class Splice(NamedTuple):
    """The part of a text that a step replaced: `length` characters from `start` were `old` before."""

    start: int
    length: int
    old: str


@dataclass
class Draft:
    """A config file's text while it is edited. Every edit raises a MemslotError if it cannot be made safely."""

    syntax: Syntax
    text: str
    changes: list[Change] = field(default_factory=list)
    splices: list[Splice] = field(default_factory=list)
    tree: Any = None

    def __post_init__(self) -> None:
        self.tree = self._parse(self.text) if self.syntax != "text" and self.text.strip() else {}
        if not isinstance(self.tree, dict):
            raise MemslotError("it is not a JSON object")

    def get(self, *path: str | int) -> Any:
        """The value at a path, or None."""
        return _value(self.tree, path)

    def put(self, path: KeyPath, value: Any) -> None:
        """Set a value, creating missing objects and lists on the way."""
        wanted = copy.deepcopy(self.tree)
        old = _value(wanted, path)
        if type(old) is type(value) and old == value:
            return
        _put(wanted, path, value)
        if self.syntax == "toml":
            table = _with_table(self.text, path, value) if old is None else None
            self._replace(table or _toml_with(self.text, path, value), wanted)
        else:
            if not self.text.strip():
                self._replace("{}\n", {})
            at, whole = _first_missing(self.tree, path, value)
            self._replace(edit_json(self.text, at, whole), wanted)
        self.changes.append(Change(path, old, value))

    def remove(self, path: KeyPath) -> None:
        """Remove a value, and parents that are then empty, except the root."""
        old = self.get(*path)
        if old is None:
            return
        wanted = copy.deepcopy(self.tree)
        del _value(wanted, path[:-1])[path[-1]]
        text = _toml_without(self.text, path) if self.syntax == "toml" else unset_json(self.text, path)
        self._replace(text, wanted, around=path)
        self.changes.append(Change(path, old, None))

    def rewrite(self, text: str, about: Change) -> None:
        """Replace the whole text, in a file that belongs to memslot alone."""
        if text != self.text:
            self.splices.append(_splice(self.text, text))
            self.text = text
            self.changes.append(about)

    def _replace(self, text: str, wanted: Any, around: KeyPath = ()) -> None:
        """Apply a step; the text must then parse to the wanted tree, with or without empty objects around a path."""
        if self.syntax == "toml" and "\r\n" in self.text:
            text = _with_crlf(text, _splice(self.text, text))
        tree = self._parse(text)
        if _pruned(tree, around) != _pruned(wanted, around):
            raise MemslotError(UNSAFE)
        self.splices.append(_splice(self.text, text))
        self.text, self.tree = text, tree

    def _parse(self, text: str) -> Any:
        return _parse_toml(text) if self.syntax == "toml" else parse_json(text)


def take_back(text: str, splices: Sequence[Splice]) -> str:
    """The text before these steps."""
    for start, length, old in reversed(splices):
        text = text[:start] + old + text[start + length :]
    return text


def parse_json(text: str) -> Any:
    """Parse JSON with comments; raises a MemslotError that names the position."""
    import pyjson5

    try:
        return pyjson5.decode(text, 200)
    except pyjson5.Json5Exception as error:
        # Only the first argument: the others contain what was parsed so far, including other servers' keys.
        near = re.search(r"near (\d+)", str(error.args[0]))
        before = text[: max(0, int(near[1]) - 1)] if near else ""
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise MemslotError(f"it is not valid JSON at line {line}, column {column}") from None


def _parse_toml(text: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MemslotError(f"it is not valid TOML: {error}") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or lists a thousand levels deep
        raise MemslotError("it is TOML that Python cannot read") from None


def _with_table(text: str, path: KeyPath, value: Any) -> str | None:
    """The text with a table at its end; None where there can be none, such as beside an inline table.

    tomlkit adds no line before the next table, and refuses a table beside dotted keys.
    """
    import tomllib

    if not isinstance(value, dict):
        return None
    end = "" if text.endswith(("\n\n", "\n\r\n")) or not text.strip() else "\n" if text.endswith("\n") else "\n\n"
    changed = text + end + _toml_with("", path, value)
    try:
        tomllib.loads(changed)
    except tomllib.TOMLDecodeError:
        return None
    return changed


def _toml_with(text: str, path: KeyPath, value: Any) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document: Any = tomlkit.parse(text)
        owner = document
        for step in path[:-1]:
            if step not in owner:
                owner[step] = tomlkit.table(is_super_table=True)
            owner = owner[step]
        owner[path[-1]] = value
        changed = tomlkit.dumps(document)
    except (TOMLKitError, TypeError, KeyError, ValueError, AttributeError):
        raise MemslotError(UNSAFE) from None
    return changed if changed.endswith("\n") else changed + "\n"


def _toml_without(text: str, path: KeyPath) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document: Any = tomlkit.parse(text)
        owner = document
        for step in path[:-1]:
            owner = owner[step]
        del owner[path[-1]]
        if len(path) > 1 and not owner:
            del document[path[0]]
        return tomlkit.dumps(document)
    except (TOMLKitError, TypeError, KeyError, ValueError, AttributeError):
        raise MemslotError(UNSAFE) from None


def _value(tree: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        if isinstance(step, int):
            if not isinstance(tree, list) or step >= len(tree):
                return None
        elif not isinstance(tree, dict) or step not in tree:
            return None
        tree = tree[step]
    return tree


def _put(tree: Any, path: KeyPath, value: Any) -> None:
    for step, following in itertools.pairwise(path):
        if isinstance(tree, dict) and tree.get(str(step)) is None:
            tree[str(step)] = [] if isinstance(following, int) else {}
        tree = tree[step]
    if isinstance(tree, list) and path[-1] == len(tree):
        tree.append(value)
    else:
        tree[path[-1]] = value


def _first_missing(tree: Any, path: KeyPath, value: Any) -> tuple[KeyPath, Any]:
    """Return where to insert, and the value wrapped in the objects and lists that are missing."""
    for length in range(1, len(path)):
        if _value(tree, path[:length]) is None:
            for step in reversed(path[length:]):
                value = [value] if isinstance(step, int) else {step: value}
            return path[:length], value
    return path, value


def _pruned(tree: Any, path: KeyPath) -> Any:
    """The tree without empty objects and lists on the way to a path."""
    tree = copy.deepcopy(tree)
    for length in range(len(path) - 1, 0, -1):
        owner = _value(tree, path[: length - 1])
        if _value(owner, path[length - 1 : length]) in ({}, []):
            del owner[path[length - 1]]
    return tree


def _with_crlf(text: str, added: Splice) -> str:
    """Use Windows line ends in what a step added."""
    start, end = added.start, added.start + added.length
    middle = re.sub(r"(?<!\r)\n", "\r\n", text[start:end])
    if text[max(0, start - 1) : start] == "\r":
        middle = middle.removeprefix("\r")
    return text[:start] + middle + text[end:]


def _splice(old: str, new: str) -> Splice:
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    return Splice(start, len(new) - end - start, old[start : len(old) - end])


def _common(one: str, other: str) -> int:
    """Return the length of two texts' common prefix."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
