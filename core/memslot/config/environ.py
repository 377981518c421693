"""Substitution of `${VAR}` in config strings by environment variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memslot.config.keypath import KeyPath, format_key
from memslot.config.problems import ConfigProblem

_REFERENCE = re.compile(r"(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True)
class Replaced:
    """A tree after substitution, with the variables used and the problems found."""

    tree: Any
    problems: tuple[tuple[KeyPath, ConfigProblem], ...]
    names: frozenset[str]
    paths: frozenset[KeyPath]
    """Paths of substituted values, which are never shown."""


def replace_variables(tree: Any, env: Mapping[str, str]) -> Replaced:
    """Substitute every `${VAR}`, without recursion; `$${VAR}` is a literal `${VAR}`. Reports all unset variables."""
    problems: list[tuple[KeyPath, ConfigProblem]] = []
    names: set[str] = set()
    paths: set[KeyPath] = set()

    def fill(value: Any, path: KeyPath) -> Any:
        if isinstance(value, dict):
            return {key: fill(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [fill(item, (*path, index)) for index, item in enumerate(value)]
        if not isinstance(value, str) or "${" not in value:
            return value
        return _REFERENCE.sub(lambda match: substitute(match, path), value)

    def substitute(match: re.Match[str], path: KeyPath) -> str:
        escaped, name = match.groups()
        if escaped:
            return "${" + name + "}"
        names.add(name)
        paths.add(path)
        if found := env.get(name):
            return found
        state = "is set but empty" if name in env else "is not set"
        reason = f"needs the environment variable {name}, which {state}"
        hint = f"set {name}, or write $${{{name}}} for the literal text"
        problems.append((path, ConfigProblem(format_key(path), reason, hint=hint)))
        return match[0]

    return Replaced(fill(tree, ()), tuple(problems), frozenset(names), frozenset(paths))
