"""Reads a config and checks all of it at once, against the schemas of the host and the installed plugins."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memslot.config.check import Finding, check_tree, with_place
from memslot.config.environ import replace_variables
from memslot.config.keypath import MISSING, lookup
from memslot.config.layers import HERE, read_layers
from memslot.config.merge import copied, merged
from memslot.config.model import config_json_schema
from memslot.config.paths import Places, expand_home
from memslot.config.problems import ConfigProblem
from memslot.config.read import RawConfig, read_config_file
from memslot.config.schema import check_settings, with_defaults
from memslot.errors import ConfigError
from memslot.plugins.cache import Cache
from memslot.plugins.fingerprints import installed_fingerprint, search_path
from memslot.plugins.info import Catalog, PluginInfo
from memslot.plugins.loaded_config import LoadedConfig

if TYPE_CHECKING:
    from memslot.config.admission import Schemas

_HARMLESS = frozenset({"$schema", "$comment", "title", "description", "type", "properties", "additionalProperties"})
"""Schema keywords that an empty object always satisfies, where the type is object."""
_LACKING = "is required"


def load_config(
    places: Places, *, project_dir: Path | None = HERE, env: Mapping[str, str] | None = None
) -> LoadedConfig:
    """Read and check all layers; a project's config is looked for from `project_dir` upwards, if any."""
    layers, warnings = find_layers(places, project_dir=project_dir, env=env)
    tree = merged(*(layer.tree for layer in layers))
    return _loaded(tree, layers, warnings, str(places.config_file), places, env)


def find_layers(
    places: Places, *, project_dir: Path | None = HERE, env: Mapping[str, str] | None = None
) -> tuple[list[RawConfig], list[str]]:
    """Read the layers without checking them; a project's has lost what names code."""
    return read_layers(places, lambda own: _schemas(own, places, env), project_dir=project_dir)


def setting_schemas(places: Places) -> Schemas:
    """Return the JSON Schemas of all settings, those of installed plugins included; any config will do."""
    try:
        own = read_config_file(places.config_file)
    except ConfigError:
        own = None
    return _schemas(own.tree if own else {}, places, None)


def _schemas(own: Mapping[str, Any], places: Places, env: Mapping[str, str] | None) -> Schemas:
    catalog = _find_plugins(own, places, os.environ if env is None else env)
    entries = ((("plugins", "entries", each.id, "config"), dict(each.config_schema)) for each in catalog.usable)
    return [((), config_json_schema(catalog.sections())), *entries]


def parse_config(
    tree: Mapping[str, Any],
    *,
    places: Places | None = None,
    env: Mapping[str, str] | None = None,
) -> LoadedConfig:
    """Check a config that a program passes as a dict."""
    return _loaded(copied(tree), (), (), "config", places or Places.from_env(env), env)


def _loaded(
    tree: dict[str, Any],
    layers: Sequence[RawConfig],
    warnings: Sequence[str],
    source: str,
    places: Places,
    env: Mapping[str, str] | None,
) -> LoadedConfig:
    def place(finding: Finding) -> ConfigProblem:
        return _placed(finding, layers, source)

    env = os.environ if env is None else env
    catalog = _find_plugins(tree, places, env)
    checked = check_tree(tree, env, config_json_schema(catalog.sections()))
    if checked.config is None:
        problems = sorted(checked.located(place), key=lambda each: (each.file or "", each.line or 0))
        files = " and ".join(sorted({problem.file or source for problem in problems}))
        many = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise ConfigError(f"{files} cannot be used because of {many}; correct what is listed here:", problems)
    return LoadedConfig(
        config=checked.config,
        files=tuple(layer.path for layer in layers),
        warnings=tuple(warnings),
        entry_problems={
            plugin_id: tuple(place(finding) for finding in findings)
            for plugin_id, findings in checked.entry_findings.items()
        },
        env_names=checked.env_names,
        env_paths=checked.env_paths,
        tree=tree,
        catalog=catalog,
    )


def _placed(finding: Finding, layers: Sequence[RawConfig], source: str) -> ConfigProblem:
    path = finding[0]
    for length in range(len(path), 0, -1):
        for layer in reversed(layers):  # the last layer that has the key wins
            if lookup(layer.tree, path[:length]) is not MISSING:
                line = layer.outline.line_of(path[:length]) if layer.outline else None
                return with_place(finding, str(layer.path), line)
    return with_place(finding, source, None)


def _find_plugins(tree: Mapping[str, Any], places: Places, env: Mapping[str, str]) -> Catalog:
    """Return all plugins, from the cache if nothing was installed, removed or edited since."""
    named = lookup(replace_variables(tree, env).tree, ("plugins", "load", "paths"))
    paths = [each for each in named if isinstance(each, str) and each] if isinstance(named, list) else []
    # Relative ones start at the config file's folder.
    folders = [places.config_file.parent / expand_home(path) for path in paths]
    cache = Cache(places.cache_dir)
    key = [[[str(folder) for folder in folders], search_path()], installed_fingerprint()]
    kept = cache.get("catalog", key, env, Catalog.from_json)
    if kept is not None:
        return kept

    from memslot.plugins.discovery import discover

    catalog = discover(folders)
    cache.put("catalog", key, catalog.to_json(), watched=catalog.watched.items(), env=env)
    return catalog


def setting_problems(plugin: PluginInfo, loaded: LoadedConfig) -> list[ConfigProblem]:
    """Return the problems of a plugin's settings, by its own schema."""
    entry = loaded.config.plugins.entries.get(plugin.id)
    settings = dict(entry.config) if entry else {}
    if not settings and _HARMLESS.issuperset(plugin.config_schema):
        return []  # nothing is set and nothing can be missing: the validator need not be loaded
    return check_settings(
        plugin.config_schema,
        with_defaults(plugin.config_schema, settings),
        prefix=("plugins", "entries", plugin.id, "config"),
        secret_paths=plugin.secret_paths,
        hidden=loaded.env_paths,
    )


def entry_problems(loaded: LoadedConfig) -> list[ConfigProblem]:
    """Return the problems of all plugins' entries, by the plugins' own schemas."""
    return [
        problem
        for plugin in loaded.catalog.usable
        if plugin.id in loaded.config.plugins.entries and plugin.id not in loaded.entry_problems
        for problem in setting_problems(plugin, loaded)
    ]


def tree_problems(tree: Mapping[str, Any], places: Places) -> list[ConfigProblem]:
    """Return all problems of a config that is being edited, plugins' settings included.

    A plugin's required settings are set one at a time, so missing ones are no problem.
    """
    try:
        loaded = parse_config(tree, places=places)
    except ConfigError as error:
        problems = list(error.problems)
    else:
        broken = [problem for found in loaded.entry_problems.values() for problem in found]
        problems = [*broken, *entry_problems(loaded)]
    return [each for each in problems if each.reason != _LACKING]
