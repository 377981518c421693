"""Looks at everything and says in plain words what is wrong and what to do."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from memslot.config.paths import Places
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
        for problem in error.problems or (error,):
            yield Finding("problem", "config", str(problem), f"edit {places.config_file}")
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
    file = host.places.config_file
    yield Finding("ok", "config", str(file) if file.exists() else f"{file} is not there; defaults are used")


def _examine_plugins(host: Host) -> Iterator[Finding]:
    for event in host.diagnostics:
        level: Level = "problem" if event.level == "error" else "warning"
        action = f"memslot plugins info {event.plugin}, or memslot plugins disable {event.plugin}"
        yield Finding(level, f"plugin {event.plugin}", f"{event.stage}: {event.message}", action)
    off = len(host.activation.decisions) - len(host.plugins)
    running = ", ".join(host.plugins) or "none"
    yield Finding("ok", "plugins", f"running: {running}" + (f"; {off} not running" if off else ""))


def _examine_memory(host: Host) -> Iterator[Finding]:
    if host.memory is None:
        # Somebody who turned memory off knows that it is off.
        level: Level = "warning" if host.config.plugins.slots.memory == NO_OWNER else "problem"
        yield Finding(level, "memory", host.memory_problem or "there is no memory", "memslot plugins list")
        return
    status = host.memory_status()
    for problem in status.problems:
        yield Finding("problem", "memory", f"{host.memory_owner}: {problem}")
    if status.is_healthy:
        counts = ", ".join(f"{number} {name}" for name, number in status.counts.items())
        yield Finding("ok", "memory", f"{host.memory_owner} owns the slot ({counts})")


def _examine_embeddings(host: Host) -> Iterator[Finding]:
    selection = host.select_embedder()
    if selection.provider is not None and not selection.is_degraded:
        yield Finding("ok", "embeddings", f"{selection.provider.id} ({selection.provider.model}): {selection.reason}")
        return
    message = f"search uses keywords only: {selection.reason}"
    if selection.provider is not None:
        message = f"{selection.provider.id} is used instead of {selection.requested}: {selection.reason}"
    tried = "; ".join(f"{name}: {why}" for name, why in selection.passed_over)
    yield Finding("warning", "embeddings", message + (f" ({tried})" if tried else ""))
