"""The tables of all settings, from the config's JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memslot.config.allowed import allowed_at, part_of
from memslot.config.keypath import KeyPath, format_key
from memslot.config.model import SECTIONS as DESCRIBED
from memslot.config.model import config_json_schema
from memslot.config.search_model import MemorySearch
from memslot.config.section import json_schema
from memslot_memory_core.settings import MemorySettings, SearchSettings

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

SPELLED_OUT, *REPEATED = DESCRIBED["memorySearch"]
"""The keys of `memorySearch` are listed in one place; the others point to it."""


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


def schema() -> Schema:
    """The schema of the config file, with what memslot's own plugins describe."""
    return config_json_schema(sections())


def sections() -> dict[str, Schema]:
    """What memory-core's manifest says of the config's sections: the keys that the host has not."""
    search, own = json_schema(SearchSettings)["properties"], json_schema(MemorySearch)["properties"]
    return {
        "memorySearch": {key: schema for key, schema in search.items() if key not in own},
        "memory": json_schema(MemorySettings)["properties"],
    }


def list_settings() -> list[Setting]:
    """Every setting in the order of the schema; keys of list items have `[]`, those of maps `<id>`."""
    return list(_walk(schema(), "", ()))


def _walk(owner: Schema, prefix: str, path: KeyPath) -> Iterator[Setting]:
    for name, sub in owner.get("properties", {}).items():
        yield from _setting(sub, f"{prefix}.{name}" if prefix else name, (*path, name))


def _setting(sub: Schema, key: str, path: KeyPath) -> Iterator[Setting]:
    about = str(sub.get("description", ""))
    if path in REPEATED:
        yield Setting(f"{key}.*", f"as in {format_key(SPELLED_OUT)}", "not set", about)
    elif "properties" in sub:
        yield from _walk(sub, key, path)
    else:
        yield Setting(key, allowed_at(sub, ()), _default(sub), about)
        yield from _walk(part_of(sub, (0,)), f"{key}[]", (*path, 0))
        yield from _walk(part_of(sub, ("",)), f"{key}.<id>", (*path, ""))


def _default(sub: Schema) -> str:
    if "default" not in sub:
        return "required"
    value = sub["default"]
    if value is None:
        return "not set"
    if isinstance(value, str) and len(value) > 60:
        return "built-in text"
    return f"`{json.dumps(value, ensure_ascii=False)}`"
