"""What a project's config may set: everything but code, which trust in a file can't vouch for.

Trust is a digest of one file. Code lives in others that change later, are imported long after any check, and may be
compiled caches or native libraries; no digest taken before the import covers that. So a project names no code at all.
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
_LONGEST = 200


@dataclass(frozen=True)
class Refused:
    """A key that names code, and the command that puts it into the person's own config."""

    key: str
    command: str


@dataclass(frozen=True)
class Request:
    """One value that a project's config sets; `remark` says what it can reach beyond the project."""

    key: str
    value: str
    remark: str = ""


def refuse_code(tree: dict[str, Any], own: Mapping[str, Any]) -> list[Refused]:
    """Take the keys that name code out of a project's tree; those that the person's own config has, too, are fine."""
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
    """Every value that a project's config sets, for the person who is to trust it. Secrets are masked."""
    code = set(_code_keys(tree))
    hidden = masked(tree)
    found = []
    for path, value in _leaves(tree):
        shown = lookup(hidden, path)
        text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
        is_code = any(path[: len(each)] == each for each in code)
        remark = "ignored: a project can't bring code" if is_code else _remark(value, root)
        found.append(Request(format_key(path), text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…", remark))
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
    """Whether a text is a path that leads out of the project, by itself or by a link."""
    try:
        path = root / expand_home(value)
        is_path = value.startswith(("/", "~", "..")) or "/../" in value or path.exists()
        return is_path and not path.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):  # too long a name, a NUL, a loop of links
        return False
