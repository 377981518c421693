"""Checks everything and says what is wrong and how to fix it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memslot.config.allowed import keys_of_format, part_of
from memslot.config.keypath import KeyPath, format_key, lookup
from memslot.config.merge import merged
from memslot.config.model import SECTIONS, section_places
from memslot.config.paths import Places
from memslot.config_fixes import ConfigFixes
from memslot.embeddings.selection import REPLACED, Selection
from memslot.errors import ConfigError, MemslotError
from memslot.host import Host
from memslot.plugins.activation import NO_OWNER, Decision, members_of
from memslot.plugins.config_loader import find_layers, load_config, parse_config, setting_problems
from memslot.plugins.loaded_config import LoadedConfig
from memslot.plugins.overview import decide_plugins

Level = Literal["ok", "warning", "problem"]
PROVIDER_FORMAT = "embedding-provider"
"""The `format` of a plugin's setting that names an embedding provider."""


@dataclass(frozen=True)
class Finding:
    """The result of one check. `action` is the next step, if there is one."""

    level: Level
    about: str
    message: str
    action: str | None = None


def examine() -> list[Finding]:
    """Check everything: folders, config, plugins, memory, embeddings."""
    places = Places.from_env()
    return _once([*_examine_home(places), *_examine_host(places, plugins_only=False)])


def examine_plugins() -> list[Finding]:
    """Check the plugins only."""
    return _once(_examine_host(Places.from_env(), plugins_only=True))


def _once(findings: Iterator[Finding] | list[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))


def _examine_home(places: Places) -> Iterator[Finding]:
    if not places.home.is_dir():
        yield Finding("warning", "home", f"{places.home} does not exist; defaults are used", "memslot init")
        return
    is_open = os.name == "posix" and bool(stat.S_IMODE(places.home.stat().st_mode) & 0o077)
    if is_open:
        message = f"{places.home} can be read by other users"
        yield Finding("warning", "home", message, f"chmod 700 {places.home}")
    if not os.access(places.home, os.W_OK):
        yield Finding("problem", "home", f"{places.home} cannot be written", f"check who owns {places.home}")
    elif not is_open:
        yield Finding("ok", "home", str(places.home))


def _examine_host(places: Places, *, plugins_only: bool) -> Iterator[Finding]:
    """Report and remove what is invalid in the config, then load the rest, so that one mistake hides no other."""
    try:
        layers, warnings = find_layers(places)
    except ConfigError as error:  # no file that could be read in part
        yield Finding("problem", "config", str(error), f"correct {places.config_file}, then run: memslot doctor")
        return
    fixes = ConfigFixes(places, layers)
    tree = merged(*(layer.tree for layer in layers))
    is_valid = True
    try:
        loaded = load_config(places)
    except ConfigError as error:
        is_valid = False
        for problem in error.problems:
            yield Finding("problem", "config", str(problem), fixes.of(problem))
        try:
            tree = fixes.without(tree, error.problems)
            loaded = parse_config(tree, places=places)
        except ConfigError:
            return
    try:
        activation = decide_plugins(loaded, os.environ)
        for slot in activation.slots:
            if slot.error is not None:
                fitting = [d.plugin.id for d in activation.decisions if d.plugin.kind == slot.name]
                yield Finding("problem", slot.name, slot.error, fixes.choose(f"plugins.slots.{slot.name}", fitting))
                tree = merged(tree, {"plugins": {"slots": {slot.name: list(slot.owners) or NO_OWNER}}})
        host = Host.load(tree)
    except MemslotError as error:
        yield Finding("problem", "plugins", str(error))
        return
    with host:
        yield from _examine_plugins(host, loaded, fixes)
        if not plugins_only:
            yield from _examine_config(host, loaded, warnings, fixes)
            if is_valid:
                yield from _examine_file(host)
            yield from _examine_memory(host, loaded, fixes)
            yield from _examine_spool(host)


def _examine_plugins(host: Host, loaded: LoadedConfig, fixes: ConfigFixes) -> Iterator[Finding]:
    host.tools()  # which finds out what is wrong with their schemas
    badly_set = set()
    for decision in host.activation.decisions:
        if decision.code == "bad-config":
            plugin = decision.plugin
            badly_set.add(plugin.id)
            for problem in loaded.entry_problems.get(plugin.id) or setting_problems(plugin, loaded):
                yield Finding("problem", f"plugin {plugin.id}", str(problem), fixes.of(problem))
    # Last first: removing an item of plugins.load.paths shifts the later ones.
    for event in reversed(list(host.diagnostics)):
        if event.stage == "activation" and event.plugin in badly_set:
            continue
        level: Level = "problem" if event.level == "error" else "warning"
        action = fixes.of_load_path(event.message) or f"memslot plugins disable {event.plugin}"
        yield Finding(level, f"plugin {event.plugin}", f"{event.stage}: {event.message}", action)
    off = len(host.activation.decisions) - len(host.plugins)
    running = ", ".join(host.plugins) or "none"
    yield Finding("ok", "plugins", f"running: {running}" + (f"; {off} not running" if off else ""))


def _examine_config(host: Host, loaded: LoadedConfig, warnings: Sequence[str], fixes: ConfigFixes) -> Iterator[Finding]:
    for warning in warnings:
        yield Finding("warning", "config", warning)
    for key in _unread_keys(loaded):
        yield Finding("warning", "config", f"{key} is set, but no installed plugin reads it", fixes.unset(key))
    installed = {decision.plugin.id for decision in host.activation.decisions}
    for unknown in sorted(set(host.config.plugins.entries) - installed):
        key = f"plugins.entries.{unknown}"
        yield Finding("warning", "config", f"{key} is set, but no such plugin is installed", fixes.unset(key))
    for key, names in (("allow", host.config.plugins.allow), ("deny", host.config.plugins.deny)):
        # Last first: removing one shifts the later ones.
        for index, name in reversed(list(enumerate(names))):
            if name not in installed:
                message = f'plugins.{key} names "{name}", which is not installed'
                yield Finding("warning", "config", message, fixes.correct(f"plugins.{key}[{index}]", name, installed))


def _examine_file(host: Host) -> Iterator[Finding]:
    file = host.places.config_file
    if file.exists():
        yield Finding("ok", "config", str(file))
    else:
        level: Level = "warning" if os.environ.get("MEMSLOT_CONFIG") else "ok"
        yield Finding(level, "config", f"{file} does not exist; defaults are used")


def _unread_keys(loaded: LoadedConfig) -> Iterator[str]:
    """Return keys in sections that no installed plugin describes, probably left over from a removed one."""
    schema, described = loaded.schema, loaded.catalog.sections()
    for place in [place for name in SECTIONS if name not in described for place in section_places(loaded.tree, name)]:
        written = lookup(loaded.tree, place)
        known = part_of(schema, place)["properties"]
        yield from (
            format_key((*place, key)) for key in (written if isinstance(written, dict) else ()) if key not in known
        )


def _examine_memory(host: Host, loaded: LoadedConfig, fixes: ConfigFixes) -> Iterator[Finding]:
    """Check the memory and its embedder. Both notice a failing provider: report it once."""
    providers = list(_examine_provider_names(host, loaded.tree, fixes))
    selection = host.select_embedder()
    yield from _examine_slot(host, loaded, selection)
    yield from providers
    if not any(f'is "{selection.requested}"' in finding.message for finding in providers):
        yield from _examine_embeddings(selection, fixes)


def _examine_spool(host: Host) -> Iterator[Finding]:
    if given_up := host.undelivered_runs():
        message = f"{len(given_up)} finished run(s) could not be delivered to plugins: {given_up[-1]}"
        yield Finding("warning", "spool", message, f"review the files in {given_up[-1].parent}, then delete them")


def _examine_slot(host: Host, loaded: LoadedConfig, selection: Selection) -> Iterator[Finding]:
    members = members_of(host.config.plugins.slots.memory)
    if not members:
        if not members_of(loaded.config.plugins.slots.memory):  # else its value was wrong, which is reported
            yield Finding("ok", "memory", "turned off by plugins.slots.memory")
        return
    if not len(host.memories) and len(members) == 1:
        yield from _examine_absent(host, members[0], host.memory_problem or "there is no memory")
        return
    absent = host.memories.absent
    for plugin_id, status in host.memories.statuses().items():
        if plugin_id in absent:
            yield from _examine_absent(host, plugin_id, f"{plugin_id} does not run: {absent[plugin_id]}")
            continue
        for problem in status.problems:
            if selection.provider is None and selection.reason in problem:
                continue
            message, _, action = problem.partition("; run: ")
            yield Finding("problem", "memory", f"{plugin_id}: {message}", action or None)
        if status.is_healthy:
            counts = ", ".join(f"{name}: {number}" for name, number in status.counts.items())
            place = "owns the slot" if plugin_id == host.memory_owner else f"runs beside {host.memory_owner}"
            yield Finding("ok", "memory", f"{plugin_id} {place}" + (f" ({counts})" if counts else ""))


def _examine_absent(host: Host, plugin_id: str, message: str) -> Iterator[Finding]:
    """Report memories that the slot names but that don't run."""
    decision = next((d for d in host.activation.decisions if d.plugin.id == plugin_id), None)
    if decision is None or decision.code not in ("bad-config", "broken"):  # those are reported with the plugins
        is_beside = len(members_of(host.config.plugins.slots.memory)) > 1
        action = _way_to_run(decision, is_beside=is_beside) if decision else "memslot plugins list"
        yield Finding("problem", "memory", message, action)


def _way_to_run(decision: Decision, *, is_beside: bool = False) -> str:
    if decision.code == "plugins-off":
        is_env = "MEMSLOT_DISABLE_PLUGINS" in decision.reason
        return "unset MEMSLOT_DISABLE_PLUGINS" if is_env else "memslot config set plugins.enabled true"
    if decision.code == "not-loaded":
        return "unset MEMSLOT_LOAD_PLUGINS"
    beside = " --beside" if is_beside else ""
    return f"memslot plugins enable {decision.plugin.id}{beside}"


def _examine_provider_names(host: Host, tree: Any, fixes: ConfigFixes) -> Iterator[Finding]:
    """Check that every provider the config names, for any agent, is registered by a running plugin."""
    owners = {name: d for d in reversed(host.activation.decisions) for name in d.plugin.providers}
    known = {"auto", NO_OWNER, *owners, *(spec.id for spec in host.embedding_providers.specs)}
    for key, name in _provider_names(host, tree):
        if name in REPLACED and name not in known:
            message = f'{key} is "{name}", which was removed; {REPLACED[name]} is used instead'
            yield Finding("warning", "embeddings", message, fixes.put(key, REPLACED[name]))
        elif name not in known:
            message = f'{key} is "{name}", which no plugin provides; available providers: {", ".join(sorted(known))}'
            yield Finding("problem", "embeddings", message, fixes.correct(key, name, known))
        elif name in owners and not owners[name].runs:
            plugin_id, reason = owners[name].plugin.id, owners[name].reason
            message = f'{key} is "{name}", which comes with {plugin_id}, which does not run: {reason}'
            yield Finding("problem", "embeddings", message, _way_to_run(owners[name]))


def _provider_names(host: Host, tree: Any) -> Iterator[tuple[str, str]]:
    """Yield each provider that the config names, with its key; plugins mark such settings by their `format`."""
    places = section_places(tree, "memorySearch")
    paths: list[KeyPath] = [(*place, name) for place in places for name in ("provider", "fallback")]
    for plugin in host.activation.running:
        prefix = ("plugins", "entries", plugin.id, "config")
        paths += keys_of_format(lookup(tree, prefix), dict(plugin.config_schema), PROVIDER_FORMAT, prefix)
    for path in paths:
        value = lookup(tree, path)
        if isinstance(value, str) and "${" not in value:
            yield format_key(path), value


def _examine_embeddings(selection: Selection, fixes: ConfigFixes) -> Iterator[Finding]:
    if selection.provider is not None and not selection.is_degraded:
        yield Finding("ok", "embeddings", f"{selection.provider.id} ({selection.provider.model}): {selection.reason}")
        return
    if selection.provider is not None:
        message = f"{selection.provider.id} is used instead of {selection.requested}: {selection.reason}"
        yield Finding("warning", "embeddings", message)
        return
    tried = [f"{name}: {why}" for name, why in selection.passed_over if why not in selection.reason]
    message = f"search uses keywords only: {selection.reason}" + (f" ({'; '.join(tried)})" if tried else "")
    if selection.requested == NO_OWNER:
        yield Finding("ok", "embeddings", message)
    elif selection.requested == "auto":
        yield Finding("warning", "embeddings", message)
    else:
        action = f"provide what is missing, or: {fixes.put('agents.defaults.memorySearch.provider', 'auto')}"
        yield Finding("problem", "embeddings", message, action)
