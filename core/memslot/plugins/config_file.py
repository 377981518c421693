"""The user's config file, as a plugin that brings settings from another program sees it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memslot.config.edit import set_value
from memslot.config.keypath import MISSING, KeyPath, format_key, lookup, parse_key
from memslot.config.merge import copied
from memslot.config.paths import Places
from memslot.config.problems import ConfigProblem
from memslot.config.read import read_config_file
from memslot.config.sensitive import masked
from memslot.config.starter import starter_config
from memslot.errors import ConfigError
from memslot.plugins.config_loader import load_config, parse_config, tree_problems

if TYPE_CHECKING:
    from memslot.config.model import Config


class ConfigFile:
    """The user's config file: what is set in it, whether changes would be accepted, and a way to write them.

    A key is a tuple of names and places in lists: `("agents", "list", 0, "id")`.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        raw = read_config_file(places.config_file)
        self._written: Mapping[str, Any] = raw.tree if raw else {}
        # In a config that `init` wrote and nobody changed, no setting is the user's choice.
        self._chosen: Mapping[str, Any] = {} if raw is None or raw.text == starter_config() else raw.tree

    @staticmethod
    def key_name(key: KeyPath) -> str:
        """A key as people write it: `agents.list[0].id`."""
        return format_key(key)

    @staticmethod
    def masked(value: Any, key: KeyPath) -> Any:
        """A setting's value with every secret in it hidden."""
        return masked(value, key)

    @staticmethod
    def read_tree(path: Path) -> Mapping[str, Any]:
        """The settings in any JSON5 or TOML file; a ConfigError that says why it cannot be read."""
        raw = read_config_file(path)
        return raw.tree if raw else {}

    def load(self) -> Config:
        """The checked config as it is on disk now, without a project's."""
        return load_config(self._places, project_dir=None).config

    def plugins(self) -> set[str]:
        """The ids of the installed plugins that can run."""
        return {plugin.id for plugin in load_config(self._places, project_dir=None).catalog.usable}

    def get(self, key: KeyPath, default: Any = None) -> Any:
        """The value that the user gave a setting, before variables are filled in."""
        found = lookup(self._chosen, key)
        return default if found is MISSING else found

    def refusals(self, settings: Iterable[tuple[KeyPath, Any]]) -> list[tuple[KeyPath, str]]:
        """Which of these settings memslot or a plugin's schema refuses, and why, whatever the file says."""
        tree: dict[str, Any] = {}
        for key, value in settings:
            _put(tree, key, value)
        found = tree_problems(tree, self._places, is_complete=False)
        return [(_path_of(each), f"{each.reason}{f' ({each.hint})' if each.hint else ''}") for each in found]

    def preview(self, changes: Iterable[tuple[KeyPath, Any]]) -> Config:
        """The checked config as it would be with these changes."""
        tree: dict[str, Any] = copied(self._written)
        for key, value in changes:
            _put(tree, key, value)
        return parse_config(tree, places=self._places).config

    def set(self, key: KeyPath, value: Any) -> None:
        """Write one setting, keeping comments and layout; a ConfigError where it is refused."""
        check = functools.partial(tree_problems, places=self._places, is_complete=False)
        set_value(self._places.config_file, format_key(key), value, check=check)


def _put(tree: dict[str, Any], key: KeyPath, value: Any) -> None:
    """Set a value in a tree, with the sections around it; a list grows by one at its end."""
    owner: Any = tree
    for step, following in zip(key, [*key[1:], None], strict=True):
        fresh: Any = copied(value) if following is None else [] if isinstance(following, int) else {}
        if isinstance(owner, list):
            assert isinstance(step, int)
            if step == len(owner):
                owner.append(fresh)
            elif following is None:
                owner[step] = fresh
        elif following is None or not isinstance(owner.get(step), dict | list):
            owner[step] = fresh
        owner = owner[step]


def _path_of(problem: ConfigProblem) -> KeyPath:
    try:
        return parse_key(problem.key)
    except ConfigError:
        return ()
