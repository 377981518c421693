"""What a project's config may set: everything but code.

Trust is a digest of one file. Code lives in other files that change later, are imported long after any check, and may
be compiled caches or native libraries; no digest taken before the import covers that. So a project can't name code.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memslot.config.keypath import MISSING, KeyPath, format_key, lookup
from memslot.config.model import section_places
from memslot.config.paths import expand_home
from memslot.config.sensitive import HIDDEN, masked

LOAD_PATHS: KeyPath = ("plugins", "load", "paths")
_QMD_COMMAND: KeyPath = ("memory", "qmd", "command")
_EXTENSION: KeyPath = ("store", "vector", "extensionPath")
_DEFAULT_EXTENSION: KeyPath = ("agents", "defaults", "memorySearch", *_EXTENSION)
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


def refuse_code(tree: dict[str, Any], own: Mapping[str, Any]) -> list[Refused]:
    """Remove keys that name code from a project's tree; report those that differ from the user's own config."""
    refused = []
    for path in _code_keys(tree):
        value = lookup(tree, path)
        if value is MISSING:
            continue
        del lookup(tree, path[:-1])[path[-1]]
        target = _DEFAULT_EXTENSION if path[-len(_EXTENSION) :] == _EXTENSION else path
        mine = lookup(own, target)
        if path == LOAD_PATHS and isinstance(value, list):
            listed = mine if isinstance(mine, list) else []
            value = [*listed, *(each for each in value if each not in listed)]
        if value != mine:
            written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            refused.append(Refused(format_key(path), f"memslot config set {format_key(target)} {shlex.quote(written)}"))
    return refused


def requests(tree: Mapping[str, Any], root: Path) -> list[Request]:
    """List every value a project's config sets, for review before trusting it. Secrets are masked."""
    code = set(_code_keys(tree))
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


def _code_keys(tree: Mapping[str, Any]) -> list[KeyPath]:
    searches = section_places(tree, "memorySearch")
    return [LOAD_PATHS, _QMD_COMMAND, *((*place, *_EXTENSION) for place in searches)]


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
