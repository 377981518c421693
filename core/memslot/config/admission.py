"""What a project's config may set: everything but code.

Trust is a digest of one file. Code lives in other files that change later, are imported long after any check, and may
be compiled caches or native libraries; no digest taken before the import covers that. So a project can't name code.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memslot.config.allowed import Schema, keys_of_format
from memslot.config.keypath import MISSING, KeyPath, format_key, lookup
from memslot.config.model import SECTIONS, section_places
from memslot.config.paths import expand_home
from memslot.config.sensitive import HIDDEN, masked

Schemas = Iterable[tuple[KeyPath, Schema]]
"""JSON Schemas of settings, each with the key that it describes."""
LOAD_PATHS: KeyPath = ("plugins", "load", "paths")
_CODE_FORMAT = "code"
"""The `format` of a setting that names code to run: a program or a library."""
_VARIABLE = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_MAX_CHARS = 200


@dataclass(frozen=True)
class Refused:
    """A rejected key that names code, and the command that sets it in the user's own config."""

    key: str
    command: str


@dataclass(frozen=True)
class Request:
    """One value a project's config sets; `remark` says what it reaches outside the project."""

    key: str
    value: str
    remark: str = ""


def refuse_load_paths(tree: dict[str, Any], own: Mapping[str, Any]) -> list[Refused]:
    """Remove the plugin folders from a project's tree, as `refuse_code` does, before any plugin is looked for."""
    named = lookup(tree, LOAD_PATHS)
    if not isinstance(named, list):
        return _refuse(tree, own, LOAD_PATHS, named)
    mine = lookup(own, LOAD_PATHS)
    listed = mine if isinstance(mine, list) else []
    return _refuse(tree, own, LOAD_PATHS, [*listed, *(each for each in named if each not in listed)])


def refuse_code(tree: dict[str, Any], own: Mapping[str, Any], schemas: Schemas) -> list[Refused]:
    """Remove keys that name code from a project's tree; report those that differ from the user's own config."""
    last_first = reversed(_code_keys(tree, schemas))  # removing one item of a list shifts the later ones
    return [each for path in last_first for each in _refuse(tree, own, path, lookup(tree, path))]


def _refuse(tree: dict[str, Any], own: Mapping[str, Any], path: KeyPath, value: Any) -> list[Refused]:
    """Remove a key; report it unless the user's own config has this value."""
    if lookup(tree, path) is MISSING:
        return []
    del lookup(tree, path[:-1])[path[-1]]
    target = _for_all_agents(tree, path)
    if value == lookup(own, target):
        return []
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return [Refused(format_key(path), f"memslot config set {format_key(target)} {shlex.quote(written)}")]


def _for_all_agents(tree: Mapping[str, Any], path: KeyPath) -> KeyPath:
    """Return where a setting of a section is written for all agents."""
    for name, places in SECTIONS.items():
        for place in section_places(tree, name):
            if path[: len(place)] == place:
                return (*places[0], *path[len(place) :])
    return path


def requests(tree: Mapping[str, Any], root: Path, schemas: Schemas) -> list[Request]:
    """List every value a project's config sets, for review before trusting it. Secrets are masked."""
    code = [LOAD_PATHS, *_code_keys(tree, schemas)]
    hidden = masked(tree)
    found = []
    for path, value in _leaves(tree):
        shown = lookup(hidden, path)
        text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
        is_code = any(path[: len(each)] == each for each in code)
        remark = "ignored: a project can't bring code" if is_code else _remark(value, root)
        found.append(
            Request(format_key(path), text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 1] + "…", remark)
        )
    return found


def _code_keys(tree: Mapping[str, Any], schemas: Schemas) -> list[KeyPath]:
    return [
        key for place, schema in schemas for key in keys_of_format(lookup(tree, place), schema, _CODE_FORMAT, place)
    ]


def _leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if path and not inside:
        yield path, value
    for step, item in inside:
        yield from _leaves(item, (*path, step))


def _remark(value: Any, root: Path) -> str:
    if not isinstance(value, str) or value == HIDDEN:
        return ""
    remarks = []
    if "://" in value:
        remarks.append("reaches another machine")
    elif _is_outside(value, root):
        remarks.append("outside the project")
    if names := sorted(set(_VARIABLE.findall(value))):
        remarks.append(f"reads {', '.join(names)} from the environment")
    return "; ".join(remarks)


def _is_outside(value: str, root: Path) -> bool:
    """Whether a string is a path that leaves the project, directly or through a symlink."""
    try:
        path = root / expand_home(value)
        is_path = value.startswith(("/", "~", "..")) or "/../" in value or path.exists()
        return is_path and not path.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):  # name too long, NUL byte, symlink loop
        return False
