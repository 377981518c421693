"""Commands that fix a config problem, ready to run as printed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Sequence
from typing import Any

from memslot.config.keypath import MISSING, KeyPath, lookup, parse_key
from memslot.config.merge import copied
from memslot.config.paths import Places
from memslot.config.problems import ConfigProblem
from memslot.config.read import RawConfig
from memslot.config.spelling import nearest
from memslot.errors import ConfigError

_REQUIRED = "is required"


class ConfigFixes:
    """Builds fix commands for the file that sets a key, the user's own or the project's."""

    def __init__(self, places: Places, layers: Sequence[RawConfig]) -> None:
        self._own = places.config_file
        self._layers = layers

    def unset(self, key: str) -> str:
        return f"memslot config unset {shlex.quote(key)}{self._flag(key)}"

    def put(self, key: str, value: str) -> str:
        return f"memslot config set {shlex.quote(key)} {shlex.quote(value)}{self._flag(key)}"

    def correct(self, key: str, written: str, known: Collection[str]) -> str:
        """Correct a misspelt name, or unset it if nothing is close."""
        meant = nearest(written, known)
        return self.put(key, meant) if meant else self.unset(key)

    def choose(self, key: str, fitting: Sequence[str]) -> str:
        """Set the closest valid value, else the first."""
        written = lookup(self._deciding(key), parse_key(key))
        if isinstance(written, list):
            named = (each if each in fitting else nearest(each, fitting) for each in written if isinstance(each, str))
            right = list(dict.fromkeys(each for each in named if each))
            return self.put(key, json.dumps(right)) if right else self.unset(key)
        meant = nearest(written, fitting) if isinstance(written, str) else None
        return self.put(key, meant or fitting[0]) if fitting else self.unset(key)

    def of(self, problem: ConfigProblem) -> str:
        file = problem.file or self._file(problem.key)
        if problem.reason.startswith(_REQUIRED):
            return f"set it in {file}: memslot config set {shlex.quote(problem.key)} VALUE{self._flag(problem.key)}"
        return f"edit {file}, or: {self.unset(problem.key)}"

    def of_load_path(self, message: str) -> str | None:
        """Return the command that removes a faulty folder from plugins.load.paths."""
        if not message.startswith("plugins.load.paths names "):
            return None
        paths = lookup(self._deciding("plugins.load.paths"), ("plugins", "load", "paths"))
        for index, path in enumerate(paths if isinstance(paths, list) else ()):
            if isinstance(path, str) and f" {(self._own.parent / path)}," in message:
                return self.unset(f"plugins.load.paths[{index}]")
        return None

    @staticmethod
    def without(tree: dict[str, Any], problems: Sequence[ConfigProblem]) -> dict[str, Any]:
        """Return the tree without its invalid keys, so that the rest can be checked."""
        rest: dict[str, Any] = copied(tree)
        paths: list[KeyPath] = []
        for problem in problems:
            path = parse_key(problem.key)
            while path and lookup(rest, path) is MISSING:  # a missing required key invalidates its parent
                path = path[:-1]
            if path:
                paths.append(path)
        for path in sorted(set(paths), key=lambda each: [str(step).zfill(9) for step in each], reverse=True):
            if lookup(rest, path) is not MISSING:
                del lookup(rest, path[:-1])[path[-1]]
        return rest

    def _deciding(self, key: str) -> Any:
        path = _path(key)
        return next((each.tree for each in reversed(self._layers) if lookup(each.tree, path) is not MISSING), {})

    def _file(self, key: str) -> str:
        path = _path(key)
        found = (each.path for each in reversed(self._layers) if lookup(each.tree, path) is not MISSING)
        return str(next(found, self._own))

    def _flag(self, key: str) -> str:
        return "" if self._file(key) == str(self._own) else " --project"


def _path(key: str) -> KeyPath:
    try:
        return parse_key(key)
    except ConfigError:  # "the config", of a problem with the file as a whole
        return ("",)
