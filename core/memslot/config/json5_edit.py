"""Edit one key of a JSON5 text and leave every other character untouched."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from memslot.config.keypath import KeyPath, format_key, list_index, nested
from memslot.config.outline import Entry, Node, Outline, entry_of, outline
from memslot.errors import ConfigError

_PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


@dataclass(frozen=True)
class Style:
    """The file's formatting style, so that insertions match it."""

    newline: str
    indent: str
    bare_keys: bool
    quote: str
    trailing_comma: bool


def set_in_text(text: str, path: KeyPath, value: Any, *, strict_json: bool = False) -> str:
    """Return the text with `value` at `path`, creating missing parents."""
    positions = outline(text)
    style = _style_of(positions, strict_json)
    node, spread = positions.root, True
    for depth, step in enumerate(path):
        if node.kind == "scalar":
            if text[node.start : node.end] != "null":
                where = format_key(path[:depth])
                raise ConfigError(f"{where} is a single value and has no keys inside; unset or replace it first.")
            return _spliced(text, node, nested(path[depth:], value), style, spread)
        spread = _is_spread(text, node, spread)
        entry = entry_of(node, step)
        if entry is None:
            below = nested(path[depth + 1 :], value)
            return _inserted(text, node, path[: depth + 1], below, style, spread)
        node = entry.value
    return _spliced(text, node, value, style, spread)


def edit_json(text: str, path: tuple[str | int, ...], value: Any) -> str:
    """Return a JSON text with `value` at `path`; comments, order and all other characters are preserved.

    For files of other programs: insertions are strict JSON, even if the file has comments and trailing commas. Missing
    parents are created; an index one past the end of a list appends. The text must be valid JSON5. Raises MemslotError
    if the path goes through a scalar.
    """
    return set_in_text(text, path, value, strict_json=True)


def unset_in_text(text: str, path: KeyPath) -> str:
    """Return the text without the key, keeping surrounding comments; unchanged if the key is not set."""
    positions = outline(text)
    owner = positions.entry(path[:-1])
    node = owner.value if owner else positions.root
    entry = positions.entry(path)
    if entry is None:
        return text
    index = node.entries.index(entry)
    comma = entry.comma
    if comma is None and index > 0:
        comma = node.entries[index - 1].comma  # strict JSON forbids a trailing comma
    cuts = [(entry.start, entry.value.end)]
    if comma is not None:
        cuts.append((comma, comma + 1))
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
        if start == entry.start:
            text = _without_blank_line(text, start)
    return text


def unset_json(text: str, path: tuple[str | int, ...]) -> str:
    """A JSON text without the value at `path` and without containers that this empties, except the root.

    For files of other programs, as `edit_json`. What still holds a comment is not empty.
    """
    while True:
        text = unset_in_text(text, path)
        path = path[:-1]
        entry = outline(text).entry(path) if path else None
        if entry is None or entry.value.kind == "scalar":
            return text
        if text[entry.value.start + 1 : entry.value.end - 1].strip():
            return text


def is_empty_object(text: str, path: KeyPath) -> bool:
    """Whether an object is empty, without even a comment. List items don't count."""
    entry = outline(text).entry(path)
    if entry is None or entry.value.kind != "object" or isinstance(path[-1], int):
        return False
    return not text[entry.value.start + 1 : entry.value.end - 1].strip()


def _spliced(text: str, node: Node, value: Any, style: Style, spread: bool) -> str:
    rendered = _render(value, style, _indent_at(text, node.start), spread=spread)
    return text[: node.start] + rendered + text[node.end :]


def _inserted(text: str, node: Node, path: KeyPath, value: Any, style: Style, spread: bool) -> str:
    step = path[-1]
    if node.kind == "array":
        if list_index(step) != len(node.entries):
            raise ConfigError(
                f"{format_key(path)} does not exist, the list has {len(node.entries)} items; "
                f"use a smaller place, or [{len(node.entries)}] to append."
            )
        prefix = ""
    else:
        prefix = _render_key(str(step), style) + ": "
    base = _indent_at(text, node.start)
    inner = _inner_indent(text, node, base + style.indent)
    last = node.entries[-1] if node.entries else None
    if not spread:
        member = prefix + _render(value, style, base, spread=False)
        return _inserted_inline(text, node, last, member)
    member = prefix + _render(value, style, inner, spread=True)
    return _inserted_on_a_line(text, node, last, member, base, inner, style)


def _inserted_inline(text: str, node: Node, last: Entry | None, member: str) -> str:
    end = node.end - 1
    if last is None:
        return text[:end] + member + " " + text[end:]
    if last.comma is None:
        return text[: last.value.end] + ", " + member + text[last.value.end :]
    after = last.comma + 1
    return text[:after] + " " + member + "," + text[after:]


def _inserted_on_a_line(
    text: str, node: Node, last: Entry | None, member: str, base: str, inner: str, style: Style
) -> str:
    end = node.end - 1
    comma = "," if (last.comma is not None if last else style.trailing_comma) else ""
    line_start = max(text.rfind("\n", 0, end), text.rfind("\r", 0, end)) + 1
    if line_start > node.start and not text[line_start:end].strip():
        before, after = text[:line_start], text[line_start:]
        addition = inner + member + comma + style.newline
    else:
        before, after = text[:end].rstrip(" \t"), base + text[end:]
        addition = style.newline + inner + member + comma + style.newline
    if last is not None and last.comma is None:
        before = before[: last.value.end] + "," + before[last.value.end :]
    return before + addition + after


def _is_spread(text: str, node: Node, otherwise: bool) -> bool:
    """Whether members are on separate lines; an empty object follows its parent."""
    inside = text[node.start + 1 : node.end - 1]
    if "\n" in inside or "\r" in inside:
        return True
    return otherwise and not inside.strip()


def _inner_indent(text: str, node: Node, otherwise: str) -> str:
    for entry in node.entries:
        indent = _indent_at(text, entry.start)
        start = entry.start - len(indent)
        if text[start : entry.start] == indent and (start == 0 or text[start - 1] in "\r\n"):
            return indent
    return otherwise


def _indent_at(text: str, offset: int) -> str:
    """Return the indentation of the line at an offset."""
    start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    match = re.compile(r"[ \t]*").match(text, start, offset)
    return match[0] if match else ""


def _without_blank_line(text: str, offset: int) -> str:
    """Remove the gap left by a member: the whole line if nothing else is on it."""
    start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    end = offset
    while end < len(text) and text[end] in " \t":
        end += 1
    if not text[start:offset].strip(" \t") and start > 0:
        for newline in ("\r\n", "\n", "\r"):
            if text.startswith(newline, end):
                return text[:start] + text[end + len(newline) :]
    # In { a: 1, b: 2 }, one of the two spaces around a member goes with it.
    return text[:offset] + text[end:] if text[offset - 1 : offset] in (" ", "\t") else text


def _style_of(positions: Outline, strict_json: bool) -> Style:
    text = positions.text
    newline = next((each for each in ("\r\n", "\n", "\r") if each in text), "\n")
    keys = [entry for entry in _walk(positions.root) if entry.key is not None]
    base = _indent_at(text, positions.root.start)
    indent = _inner_indent(text, positions.root, base + "  ").removeprefix(base) or "  "
    quoted = [entry for entry in keys if text[entry.start] in "\"'"]
    # A key that must be quoted says nothing about the preferred style.
    optional = [entry for entry in quoted if _PLAIN_KEY.fullmatch(str(entry.key))]
    marks = [text[entry.start] for entry in quoted]
    marks += [text[entry.value.start] for entry in _walk(positions.root) if text[entry.value.start] in "\"'"]
    single = marks.count("'") > marks.count('"')
    return Style(
        newline=newline,
        indent=indent,
        bare_keys=not strict_json and not (len(optional) * 2 > len(keys)),
        quote="'" if single and not strict_json else '"',
        trailing_comma=not strict_json and _uses_trailing_commas(positions),
    )


def _uses_trailing_commas(positions: Outline) -> bool:
    spread = [positions.root, *(entry.value for entry in _walk(positions.root))]
    last = [node.entries[-1] for node in spread if node.entries and _is_spread(positions.text, node, False)]
    return not last or any(entry.comma is not None for entry in last)


def _walk(node: Node) -> list[Entry]:
    found = []
    for entry in node.entries:
        found.append(entry)
        found.extend(_walk(entry.value))
    return found


def _render_key(key: str, style: Style) -> str:
    return key if style.bare_keys and _PLAIN_KEY.fullmatch(key) else _render_string(key, style.quote)


def _render_string(value: str, quote: str) -> str:
    body = json.dumps(value, ensure_ascii=False)[1:-1]
    body = body.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    if quote == "'":
        body = body.replace('\\"', '"').replace("'", "\\'")
    return quote + body + quote


def _render(value: Any, style: Style, indent: str, *, spread: bool) -> str:
    if isinstance(value, str):
        return _render_string(value, style.quote)
    if not isinstance(value, dict | list) or not value:
        return json.dumps(value)  # including NaN and Infinity, which JSON5 allows
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    inner = indent + style.indent
    if isinstance(value, dict):
        parts = [
            f"{_render_key(str(key), style)}: {_render(item, style, inner, spread=spread)}"
            for key, item in value.items()
        ]
    else:
        # Short lists of scalars read better on one line.
        spread = spread and any(isinstance(item, dict | list) for item in value)
        parts = [_render(item, style, inner, spread=spread) for item in value]
    if not spread:
        pad = " " if isinstance(value, dict) else ""
        return opening + pad + ", ".join(parts) + pad + closing
    comma = "," if style.trailing_comma else ""
    lines = f",{style.newline}{inner}".join(parts)
    return f"{opening}{style.newline}{inner}{lines}{comma}{style.newline}{indent}{closing}"
