"""What is installed and which of it runs: computed once, then read from the cache in milliseconds.

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
    from memslot.plugins.loaded_config import LoadedConfig


@dataclass(frozen=True)
class Overview:
    """Every plugin with its decision, the slots, what the config loader warned about, and the config itself."""

    activation: Activation
    warnings: tuple[str, ...]
    loaded: LoadedConfig | None = field(default=None, compare=False)
    """None if it came from the cache and was not requested, or must not be cached."""

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
        slots = tuple(Slot(**{**slot, "owners": tuple(slot["owners"])}) for slot in data["slots"])
        warnings = tuple(data["warnings"])
        loaded = None
        if with_config and data["config"] is not None:
            from memslot.plugins.loaded_config import restore_config

            catalog = Catalog(tuple(decision.plugin for decision in decisions), {})
            loaded = restore_config(data["config"], map(Path, data["files"]), warnings, env, catalog)
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

    from memslot.plugins.config_loader import load_config

    # Fingerprints first: what changes while we work must make the entry stale, not wrong.
    files = [str(places.config_file), str(places.trust_file), *([str(project)] if project else [])]
    watched = {path: fingerprint(path) for path in files}
    loaded = load_config(places, env=env)
    watched.update(loaded.catalog.watched)
    overview = Overview(decide_plugins(loaded, env), loaded.warnings, loaded)
    kept = overview if _may_be_kept(loaded) else replace(overview, loaded=None)
    cache.put("overview", key, kept.to_json(), watched=watched.items(), env=env, env_names=loaded.env_names)
    return overview


def _may_be_kept(loaded: LoadedConfig) -> bool:
    """Whether the config may be cached. A secret that is written out stays in its one file."""
    from memslot.config.sensitive import masked

    entries = ((f"plugins.entries.{plugin.id}.config", plugin.secret_paths) for plugin in loaded.catalog.plugins)
    secret = {f"{entry}.{path}" for entry, paths in entries for path in paths}
    is_open: bool = masked(loaded.tree, also=secret) == loaded.tree
    return is_open and not loaded.entry_problems


def environment_key(env: Mapping[str, str]) -> list[str | None]:
    """What decides about plugins besides the config; `~` in its paths is the user's home."""
    return [env.get("MEMSLOT_LOAD_PLUGINS"), env.get("MEMSLOT_DISABLE_PLUGINS"), str(expand_home("~"))]


def decide_plugins(loaded: LoadedConfig, env: Mapping[str, str]) -> Activation:
    """Decide which of the plugins found run, for a config that is loaded already."""
    from memslot.hookspecs import HOST_API
    from memslot.plugins.hints import install_command

    return decide_activation(
        loaded.catalog.plugins,
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
    from memslot.plugins.config_loader import setting_problems

    return "; ".join(str(problem) for problem in setting_problems(plugin, loaded)) or None
