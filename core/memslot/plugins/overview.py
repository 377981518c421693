"""What is installed and what of it runs: worked out once, then read from the cache in milliseconds.

`memslot --help` and `memslot plugins list` need nothing but this, so the modules that take long to
import (pydantic, pluggy, importlib.metadata) are imported only where something has changed.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memslot.config.paths import Places, expand_home
from memslot.config.project import find_project_file
from memslot.plugins.activation import Activation, Decision, Rules, Slot, decide_activation, environment_rules
from memslot.plugins.cache import Cache
from memslot.plugins.fingerprints import fingerprint, installed_fingerprint, search_path
from memslot.plugins.info import Catalog, PluginInfo

if TYPE_CHECKING:
    from memslot.config.loaded import LoadedConfig
    from memslot.config.problems import ConfigProblem


_HARMLESS = frozenset({"$schema", "$comment", "title", "description", "type", "properties", "additionalProperties"})
"""Schema keywords that an empty object always satisfies, where the type is object."""


@dataclass(frozen=True)
class Overview:
    """Every plugin with its decision, the slots, what the config loader warned about, and the config itself."""

    activation: Activation
    warnings: tuple[str, ...]
    loaded: LoadedConfig | None = field(default=None, compare=False)
    """None where it comes from the cache and nobody asked for it, or the cache may not hold it."""

    def to_json(self) -> dict[str, Any]:
        return {
            "decisions": [
                {"plugin": d.plugin.to_json(), "runs": d.runs, "code": d.code, "reason": d.reason}
                for d in self.activation.decisions
            ],
            "slots": [asdict(slot) for slot in self.activation.slots],
            "warnings": list(self.warnings),
            "config": None if self.loaded is None else self.loaded.tree,
            "files": [] if self.loaded is None else [str(file) for file in self.loaded.files],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], env: Mapping[str, str], *, with_config: bool) -> Overview:
        decisions = tuple(
            Decision(PluginInfo.from_json(d["plugin"]), d["runs"], d["code"], d["reason"]) for d in data["decisions"]
        )
        slots = tuple(Slot(**slot) for slot in data["slots"])
        warnings = tuple(data["warnings"])
        loaded = None
        if with_config and data["config"] is not None:
            from memslot.config.loaded import restore_config

            loaded = restore_config(data["config"], map(Path, data["files"]), warnings, env)
        return cls(Activation(decisions, slots), warnings, loaded)


def read_setup(places: Places, env: Mapping[str, str]) -> tuple[LoadedConfig, Activation]:
    """The config and the plugins that go with it; raises ConfigError where the config is wrong."""
    overview = read_overview(places, env, with_config=True)
    assert overview.loaded is not None
    return overview.loaded, overview.activation


def read_overview(places: Places, env: Mapping[str, str], *, with_config: bool = False) -> Overview:
    """The overview, from the cache if that still holds; raises ConfigError where the config is wrong."""
    cache = Cache(places.cache_dir)
    project = find_project_file(Path(), places)
    key = [[str(places.config_file), str(project), search_path()], installed_fingerprint(), environment_key(env)]
    kept = cache.get("overview", key, env, functools.partial(Overview.from_json, env=env, with_config=with_config))
    if kept is not None and (kept.loaded is not None or not with_config):
        return kept

    from memslot.config.load import load_config

    # Fingerprints first: what changes while we work must make the entry stale, not wrong.
    files = [str(places.config_file), str(places.trust_file), *([str(project)] if project else [])]
    watched = {path: fingerprint(path) for path in files}
    loaded = load_config(places, env=env)
    catalog = find_plugins(loaded, places, env)
    watched.update(catalog.watched)
    overview = Overview(_decide(catalog, loaded, env), loaded.warnings, loaded)
    kept = overview if _may_be_kept(loaded, catalog) else replace(overview, loaded=None)
    cache.put("overview", key, kept.to_json(), watched=watched.items(), env=env, env_names=loaded.env_names)
    return overview


def _may_be_kept(loaded: LoadedConfig, catalog: Catalog) -> bool:
    """Whether the config may stand in the cache, too. A secret that is written out stays in its one file."""
    from memslot.config.sensitive import masked

    entries = ((f"plugins.entries.{plugin.id}.config", plugin.secret_paths) for plugin in catalog.plugins)
    secret = {f"{entry}.{path}" for entry, paths in entries for path in paths}
    is_open: bool = masked(loaded.tree, also=secret) == loaded.tree
    return is_open and not loaded.entry_problems


def environment_key(env: Mapping[str, str]) -> list[str | None]:
    """What decides about plugins beside the config; `~` in its paths is the person's home."""
    return [env.get("MEMSLOT_LOAD_PLUGINS"), env.get("MEMSLOT_DISABLE_PLUGINS"), str(expand_home("~"))]


def decide_plugins(loaded: LoadedConfig, places: Places, env: Mapping[str, str]) -> Activation:
    """Find all plugins and decide which run, for a config that is loaded already."""
    return _decide(find_plugins(loaded, places, env), loaded, env)


def find_plugins(loaded: LoadedConfig, places: Places, env: Mapping[str, str]) -> Catalog:
    """All plugins, from the cache where nothing was installed, removed or edited since."""
    folders = _load_paths(loaded, places)
    cache = Cache(places.cache_dir)
    key = [[[str(folder) for folder in folders], search_path()], installed_fingerprint()]
    kept = cache.get("catalog", key, env, Catalog.from_json)
    if kept is not None:
        return kept

    from memslot.plugins.discovery import discover

    catalog = discover(folders)
    cache.put("catalog", key, catalog.to_json(), watched=catalog.watched.items(), env=env)
    return catalog


def _load_paths(loaded: LoadedConfig, places: Places) -> list[Path]:
    """`plugins.load.paths`; a relative one is meant from the config file's folder (a project's: from the project)."""
    return [places.config_file.parent / expand_home(path) for path in loaded.config.plugins.load.paths]


def _decide(catalog: Catalog, loaded: LoadedConfig, env: Mapping[str, str]) -> Activation:
    from memslot.hookspecs import HOST_API
    from memslot.plugins.hints import install_command

    return decide_activation(
        catalog.plugins,
        rules_of(loaded, env),
        host_api=HOST_API,
        find_setting_fault=lambda plugin: _setting_fault(plugin, loaded),
        install_hint=install_command,
    )


def rules_of(loaded: LoadedConfig, env: Mapping[str, str]) -> Rules:
    """What config and environment say about plugins, as plain data."""
    plugins = loaded.config.plugins
    only, all_off = environment_rules(env)
    slots = plugins.slots
    return Rules(
        enabled=plugins.enabled,
        allow=frozenset(plugins.allow),
        deny=frozenset(plugins.deny),
        disabled=frozenset(name for name, entry in plugins.entries.items() if not entry.enabled),
        slots=slots.to_tree(),
        chosen_slots=frozenset(slots.written()),
        broken_entries={
            name: "; ".join(str(problem) for problem in problems) for name, problems in loaded.entry_problems.items()
        },
        only=only,
        all_off=all_off,
    )


def _setting_fault(plugin: PluginInfo, loaded: LoadedConfig) -> str | None:
    return "; ".join(str(problem) for problem in setting_problems(plugin, loaded)) or None


def setting_problems(plugin: PluginInfo, loaded: LoadedConfig) -> list[ConfigProblem]:
    """What is wrong with a plugin's settings, by its own schema."""
    from memslot.plugins.settings import check_settings, with_defaults

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
