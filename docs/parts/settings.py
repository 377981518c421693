"""The tables of all settings, from the config's JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memslot.config.allowed import allowed_at
from memslot.config.keypath import KeyPath
from memslot.config.model import config_json_schema

Schema = dict[str, Any]

SECTIONS = {
    "plugins": "Plugins",
    "agents.defaults": "Every agent",
    "agents.defaults.memorySearch": "How memory is indexed and searched",
    "agents.list": "Single agents",
    "memory": "The memory itself",
    "memory.qmd": "The QMD backend",
    "": "The file itself",
}
"""Tables by the keys they begin with; the longest match takes a setting."""

REPEATED = "MemorySearch"
SPELLED_OUT = "agents.defaults.memorySearch"
"""The one place where the keys of `MemorySearch` are listed; the other places point to it."""


@dataclass(frozen=True)
class Setting:
    """One row: a key that takes a value, not one that only holds other keys."""

    key: str
    allowed: str
    default: str
    about: str


def render() -> str:
    tables: dict[str, list[Setting]] = {prefix: [] for prefix in SECTIONS}
    for setting in list_settings():
        fitting = [prefix for prefix in SECTIONS if not prefix or _is_below(setting.key, prefix)]
        tables[max(fitting, key=len)].append(setting)
    return "\n\n".join(_table(SECTIONS[prefix], prefix, rows) for prefix, rows in tables.items())


def _is_below(key: str, prefix: str) -> bool:
    return key == prefix or key.startswith((f"{prefix}.", f"{prefix}["))


def _table(title: str, prefix: str, rows: list[Setting]) -> str:
    heading = f"### {title}" + (f" (`{prefix}`)" if prefix else "")
    lines = [heading, "", "| key | value | default | what it does |", "|---|---|---|---|"]
    for row in rows:
        cells = [f"`{row.key}`", _plain(row.allowed), row.default, _plain(row.about)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Text that Markdown shows as it is: `<home>` is no tag and `**` no bold type."""
    return re.sub(r"([*_|\\])", r"\\\1", text).replace("<", "&lt;")


def list_settings() -> list[Setting]:
    """Every setting in the order of the schema; keys of list items have `[]`, those of maps `<id>`."""
    schema = config_json_schema()
    return list(_walk(schema, schema["$defs"], "", ()))


def _walk(owner: Schema, defs: dict[str, Schema], prefix: str, path: KeyPath) -> Iterator[Setting]:
    for name, sub in owner.get("properties", {}).items():
        yield from _setting(sub, defs, f"{prefix}.{name}" if prefix else name, (*path, name))


def _setting(sub: Schema, defs: dict[str, Schema], key: str, path: KeyPath) -> Iterator[Setting]:
    about = str(sub.get("description", ""))
    inner = _resolve(sub, defs)
    if "properties" in inner:
        if _is_repeated(sub, key):
            yield Setting(f"{key}.*", f"as in {SPELLED_OUT}", "not set", about)
            return
        yield from _walk(inner, defs, key, path)
        return
    yield Setting(key, allowed_at(path), _default(inner, sub), about)
    items = _resolve(inner.get("items", {}), defs)
    if "properties" in items:
        yield from _walk(items, defs, f"{key}[]", (*path, 0))
    for option in items.get("oneOf", ()) or items.get("anyOf", ()):
        yield from _walk(_resolve(option, defs), defs, f"{key}[]", (*path, 0))
    values = inner.get("additionalProperties")
    if isinstance(values, dict):
        yield from _walk(_resolve(values, defs), defs, f"{key}.<id>", (*path, "id"))


def _is_repeated(sub: Schema, key: str) -> bool:
    return str(sub.get("$ref", "")).endswith(f"/{REPEATED}") and key != SPELLED_OUT


def _resolve(schema: Schema, defs: dict[str, Schema]) -> Schema:
    reference = schema.get("$ref")
    return defs[reference.rsplit("/", 1)[-1]] if reference else schema


def _default(inner: Schema, sub: Schema) -> str:
    for schema in (sub, inner):
        if "default" in schema:
            value = schema["default"]
            if value is None:
                return "not set"
            if isinstance(value, str) and len(value) > 60:
                return "a text of memslot's own"
            return f"`{json.dumps(value, ensure_ascii=False)}`"
    return "`{}`" if inner.get("type") == "object" else "required"
