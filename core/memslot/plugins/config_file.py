"""The user's config file, for plugins that import settings from another program or edit them."""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memslot.config.edit import Check, change_values, preview_values, set_value
from memslot.config.keypath import MISSING, KeyPath, format_key, lookup, parse_key, put
from memslot.config.merge import copied
from memslot.config.model import SECTIONS
from memslot.config.paths import Places
from memslot.config.problems import ConfigProblem
from memslot.config.read import read_config_file
from memslot.config.sensitive import HIDDEN, masked
from memslot.config.starter import starter_config
from memslot.errors import ConfigError
from memslot.plugins.config_loader import load_config, parse_config, tree_problems
from memslot.redaction.redact import redact

if TYPE_CHECKING:
    from memslot.config.model import Config


NEW_SECRET = f"{HIDDEN} (new)"


@dataclass(frozen=True)
class ConfigDiff:
    """A change to the config file that is not written yet."""

    lines: tuple[str, ...]
    """In the format of `diff -u`, secrets hidden; empty if nothing changes."""
    before: str = field(repr=False)
    """The whole file as it was, secrets included: never show it."""


class ConfigFile:
    """The user's config file: what is set in it, whether changes would be accepted, and a way to write them.

    A key is a tuple of names and places in lists: `("agents", "list", 0, "id")`.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        raw = read_config_file(places.config_file)
        self._written: Mapping[str, Any] = raw.tree if raw else {}
        # In an unchanged config from `init`, no setting is the user's choice.
        self._chosen: Mapping[str, Any] = {} if raw is None or raw.text == starter_config() else raw.tree

    @staticmethod
    def key_name(key: KeyPath) -> str:
        """A key as people write it: `agents.list[0].id`."""
        return format_key(key)

    @staticmethod
    def section_key(name: str) -> KeyPath:
        """Where the settings of a section, which manifests describe, are written for all agents."""
        return SECTIONS[name][0]

    @staticmethod
    def masked(value: Any, key: KeyPath) -> Any:
        """A setting's value with every secret in it hidden."""
        return masked(value, key)

    @staticmethod
    def read_tree(path: Path) -> Mapping[str, Any]:
        """The settings in a JSON5 or TOML file. Raises ConfigError with the reason if it cannot be read."""
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
        """The problems that memslot's or a plugin's schema finds in these settings, whatever the file contains."""
        tree: dict[str, Any] = {}
        for key, value in settings:
            put(tree, key, value)
        found = tree_problems(tree, self._places)
        return [(_path_of(each), f"{each.reason}{f' ({each.hint})' if each.hint else ''}") for each in found]

    def preview(self, changes: Iterable[tuple[KeyPath, Any]]) -> Config:
        """The checked config as it would be with these changes."""
        tree: dict[str, Any] = copied(self._written)
        for key, value in changes:
            put(tree, key, value)
        return parse_config(tree, places=self._places).config

    def preview_diff(self, changes: Iterable[tuple[KeyPath, Any]]) -> ConfigDiff:
        """What `change` would write; None as a value removes a setting. A ConfigError where it would be refused."""
        before, after = preview_values(self._places.config_file, _by_name(changes), check=self._check)
        old = "" if before is None else before.text
        known, wanted = (_secrets(raw.tree if raw else {}, self._sensitive) for raw in (before, after))
        # A secret that replaces another one is masked differently, or the diff would not show the change.
        masks = {**dict.fromkeys(wanted, NEW_SECRET), **dict.fromkeys(known, HIDDEN)}
        was, will_be = (_hide(text, masks).splitlines() for text in (old, after.text))
        name = self._places.config_file.name
        return ConfigDiff(tuple(difflib.unified_diff(was, will_be, name, name, lineterm="")), old)

    def change(self, changes: Iterable[tuple[KeyPath, Any]], *, expected: str) -> bool:
        """Write and remove settings, all or none, keeping comments and layout; False when nothing changes.

        `expected` is the `before` of the diff that the user saw: a file that was changed since is refused.
        """
        return change_values(self._places.config_file, _by_name(changes), check=self._check, expected=expected)

    @property
    def _check(self) -> Check:
        return functools.partial(tree_problems, places=self._places)

    @functools.cached_property
    def _sensitive(self) -> frozenset[str]:
        """The keys of settings that a manifest calls sensitive."""
        try:
            plugins = load_config(self._places, project_dir=None).catalog.plugins
        except ConfigError:
            plugins = parse_config({}, places=self._places).catalog.plugins
        return frozenset(f"plugins.entries.{each.id}.config.{path}" for each in plugins for path in each.secret_paths)

    def set(self, key: KeyPath, value: Any) -> None:
        """Write one setting, keeping comments and layout; a ConfigError where it is refused."""
        set_value(self._places.config_file, format_key(key), value, check=self._check)


def _by_name(changes: Iterable[tuple[KeyPath, Any]]) -> list[tuple[str, Any]]:
    return [(format_key(key), MISSING if value is None else value) for key, value in changes]


def _secrets(tree: Any, sensitive: Collection[str]) -> set[str]:
    """Every text in a tree that must not be shown."""
    return {old for old, new in _leaves(tree, masked(tree, also=sensitive)) if isinstance(old, str) and old != new}


def _leaves(one: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the values of two trees of the same shape in pairs; one that the second lacks is hidden."""
    if isinstance(one, dict):
        for key, value in one.items():
            yield from _leaves(value, other[key] if isinstance(other, dict) else None)
    elif isinstance(one, list | tuple):
        for place, value in enumerate(one):
            yield from _leaves(value, other[place] if isinstance(other, list) else None)
    else:
        yield one, other


def _hide(text: str, masks: Mapping[str, str]) -> str:
    """The text with each secret replaced by its mask."""
    for each in sorted(filter(None, masks), key=len, reverse=True):
        quoted = (json.dumps(each, ensure_ascii=False), json.dumps(each), f"'{each}'")
        for form in (*quoted, *([each] if len(each) > 8 else [])):  # a short one may be part of any word
            text = text.replace(form, f'"{masks[each]}"' if form != each else masks[each])
    return redact(text)


def _path_of(problem: ConfigProblem) -> KeyPath:
    try:
        return parse_key(problem.key)
    except ConfigError:
        return ()
