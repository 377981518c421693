"""Looks at everything and says in plain words what is wrong and what to do."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from memslot.config.paths import Places
from memslot.config.spelling import nearest
from memslot.errors import ConfigError, MemslotError
from memslot.host import Host
from memslot.plugins.activation import NO_OWNER

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `action` is the next step, where there is one."""

    level: Level
    about: str
    message: str
    action: str | None = None


def examine() -> list[Finding]:
    """Everything: places, config, plugins, memory, embeddings."""
    places = Places.from_env()
    return [*_examine_home(places), *_examine_host(places, plugins_only=False)]


def examine_plugins() -> list[Finding]:
    """Only the plugins."""
    return list(_examine_host(Places.from_env(), plugins_only=True))


def _examine_home(places: Places) -> Iterator[Finding]:
    if not places.home.is_dir():
        yield Finding("warning", "home", f"{places.home} is not there; defaults are used", "memslot init")
        return
    if os.name == "posix" and stat.S_IMODE(places.home.stat().st_mode) & 0o077:
        message = f"{places.home} can be read by other users"
        yield Finding("warning", "home", message, f"chmod 700 {places.home}")
    elif not os.access(places.home, os.W_OK):
        yield Finding("problem", "home", f"{places.home} cannot be written", f"check who owns {places.home}")
    else:
        yield Finding("ok", "home", str(places.home))


def _examine_host(places: Places, *, plugins_only: bool) -> Iterator[Finding]:
    try:
        host = Host.load()
    except ConfigError as error:
        for problem in error.problems:
            yield Finding("problem", "config", str(problem), f"edit {problem.file or places.config_file}")
        if not error.problems:
            yield Finding("problem", "config", str(error), "edit the file named here")
        return
    except MemslotError as error:
        yield Finding("problem", "plugins", str(error))
        return
    with host:
        yield from _examine_plugins(host)
        if not plugins_only:
            yield from _examine_config(host)
            yield from _examine_memory(host)
            yield from _examine_embeddings(host)


def _examine_config(host: Host) -> Iterator[Finding]:
    for warning in host.warnings:
        yield Finding("warning", "config", warning)
    installed = {decision.plugin.id for decision in host.activation.decisions}
    for unknown in sorted(set(host.config.plugins.entries) - installed):
        message = f"plugins.entries.{unknown} is set, but no such plugin is installed"
        yield Finding("warning", "config", message, f"memslot config unset plugins.entries.{unknown}")
    for key, names in (("allow", host.config.plugins.allow), ("deny", host.config.plugins.deny)):
        for unknown in sorted(set(names) - installed):
            meant = nearest(unknown, installed)
            hint = f'did you mean "{meant}"?' if meant else f"memslot config get plugins.{key}"
            yield Finding("warning", "config", f'plugins.{key} names "{unknown}", which is not installed', hint)
    file = host.places.config_file
    if file.exists():
        yield Finding("ok", "config", str(file))
    else:
        level: Level = "warning" if os.environ.get("MEMSLOT_CONFIG") else "ok"
        yield Finding(level, "config", f"{file} is not there; defaults are used")


def _examine_plugins(host: Host) -> Iterator[Finding]:
    for event in host.diagnostics:
        level: Level = "problem" if event.level == "error" else "warning"
        action = f"memslot plugins info {event.plugin}, or memslot plugins disable {event.plugin}"
        yield Finding(level, f"plugin {event.plugin}", f"{event.stage}: {event.message}", action)
    off = len(host.activation.decisions) - len(host.plugins)
    running = ", ".join(host.plugins) or "none"
    yield Finding("ok", "plugins", f"running: {running}" + (f"; {off} not running" if off else ""))


def _examine_memory(host: Host) -> Iterator[Finding]:
    slot = host.config.plugins.slots.memory
    if slot == NO_OWNER:  # somebody who turned memory off knows that it is off
        yield Finding("ok", "memory", "turned off by plugins.slots.memory")
        return
    if host.memory is None:
        action = f"memslot plugins enable {slot}, or memslot plugins list"
        yield Finding("problem", "memory", host.memory_problem or "there is no memory", action)
        return
    status = host.memory_status()
    for problem in status.problems:
        yield Finding("problem", "memory", f"{host.memory_owner}: {problem}")
    if status.is_healthy:
        counts = ", ".join(f"{name}: {number}" for name, number in status.counts.items())
        yield Finding("ok", "memory", f"{host.memory_owner} owns the slot" + (f" ({counts})" if counts else ""))


def _examine_embeddings(host: Host) -> Iterator[Finding]:
    selection = host.select_embedder()
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
        yield Finding("problem", "embeddings", message, "memslot config get agents.defaults.memorySearch.provider")
