"""Key paths such as `agents.list[0].id`: parsing, formatting and lookup."""

from __future__ import annotations

import re
from typing import Any

from memslot.config.merge import copied
from memslot.errors import ConfigError

KeyPath = tuple[str | int, ...]

_PLAIN = re.compile(r"[^\s.\[\]\"']+")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'")
_INDEX = re.compile(r"\[(\d{1,9})\]")
MISSING: Any = object()


def parse_key(text: str) -> KeyPath:
    """Parse a dotted key; `[0]` is a list index, quotes enclose a name with dots."""
    path: list[str | int] = []
    position = 0
    while True:
        if path and (match := _INDEX.match(text, position)):
            path.append(int(match[1]))
        else:
            if path:
                if not text.startswith(".", position):
                    raise _bad_key(text, position)
                position += 1
            if match := _QUOTED.match(text, position):
                path.append(re.sub(r"\\(.)", r"\1", match[1] if match[1] is not None else match[2]))
            elif match := _PLAIN.match(text, position):
                path.append(match[0])
            else:
                raise _bad_key(text, position)
        position = match.end()
        if position == len(text):
            return tuple(path)


def format_key(path: KeyPath) -> str:
    """Format a path as a dotted key; the inverse of `parse_key`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
            continue
        plain = _PLAIN.fullmatch(step)
        shown = step if plain else '"' + re.sub(r"([\"\\])", r"\\\1", step) + '"'
        text += f".{shown}" if text else shown
    return text


def lookup(tree: Any, path: KeyPath) -> Any:
    """Return the value at a path, or MISSING."""
    for step in path:
        tree = step_into(tree, step)
        if tree is MISSING:
            return MISSING
    return tree


def step_into(value: Any, step: str | int) -> Any:
    """Return the child at a step, or MISSING; a dotted number (`list.0`) also indexes lists."""
    if isinstance(value, dict):
        return value.get(step, MISSING)
    index = list_index(step)
    if isinstance(value, list | tuple) and index is not None and index < len(value):
        return value[index]
    return MISSING


def list_index(step: str | int) -> int | None:
    if isinstance(step, int):
        return step
    return int(step) if step.isascii() and step.isdigit() and len(step) < 10 else None


def put(tree: dict[str, Any], path: KeyPath, value: Any) -> None:
    """Set a value in a tree, creating the objects and lists around it; a list grows by one at its end."""
    owner: Any = tree
    for step, following in zip(path, [*path[1:], None], strict=True):
        place: Any = list_index(step) if isinstance(owner, list) else step
        fresh: Any = copied(value) if following is None else [] if isinstance(following, int) else {}
        if isinstance(owner, list) and place == len(owner):
            owner.append(fresh)
        elif following is None or not isinstance(lookup(owner, (place,)), dict | list):
            owner[place] = fresh
        owner = owner[place]


def nested(path: KeyPath, value: Any) -> Any:
    """Wrap a value in the objects and lists of a path."""
    for position in range(len(path) - 1, -1, -1):
        step = path[position]
        if isinstance(step, int):
            if step != 0:
                raise ConfigError(f"A new list starts at index [0], not [{step}]; set [0] first.")
            value = [value]
        else:
            value = {step: value}
    return value


def _bad_key(text: str, position: int) -> ConfigError:
    return ConfigError(
        f"Key {text!r} has a syntax error at character {position + 1}; "
        'write it like agents.list[0].id or plugins.entries."a.b".enabled.'
    )
