"""Keeps what the quick door needs, when a command has gone the usual way and well."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memslot.cli import quick

if TYPE_CHECKING:
    from memslot.plugins.info import PluginInfo
    from memslot.plugins.overview import Overview

_MOST_BYTES = 256 * 1024
_HOMES = ("HOME", "USERPROFILE")
"""Where `~` leads; a config may hold one."""

_prepared: dict[str, Mapping[str, Any]] = {}
_ground: tuple[Overview, PluginInfo] | None = None


def prepare_quick(command: str, data: Mapping[str, Any]) -> None:
    """Let the plugin's quick entry (`provides.quick` in its manifest) answer this command the next time.

    `data` is what it will be given: plain JSON, and nothing secret, as it is kept in a file. Call it in the command
    itself, once all is well; it counts if the command then ends well, and for as long as neither the config nor
    what is installed changes.
    """
    _prepared[command] = data


def stand_on(overview: Overview, owner: PluginInfo) -> None:
    """Say what the command that begins now depends on, and whose it is; there was nothing to warn of."""
    global _ground
    _ground = overview, owner


def write_records() -> None:
    """Keep what was prepared. Never raises: without a record the next command goes the usual way, too."""
    standing = quick.here
    if standing is None or quick.is_kept or _ground is None or not _prepared:
        return
    overview, owner = _ground
    watched = {**overview.watched, **standing.files}
    if owner.origin != "installed" or any(watched[path] != kept for path, kept in overview.watched.items()):
        return  # a file of the config has changed while this ran
    required = [name for plugin in overview.activation.running for name in plugin.required_env]
    names = sorted({*_HOMES, *overview.env_names, *required})
    for command, data in _prepared.items():
        if command not in owner.quick:
            continue
        salt = os.urandom(16).hex()
        record = {
            "key": standing.key,
            "installed": standing.installed,
            "watched": watched,
            "names": names,
            "salt": salt,
            "env": quick.digests(names, os.environ, salt),
            "entry": owner.quick[command],
            "data": data,
        }
        _write(standing.file(command), record)


def _write(file: str, record: Mapping[str, Any]) -> None:
    from pathlib import Path

    from memslot.plugins.cache import replace_file

    try:
        text = json.dumps(record)
        if len(text) <= _MOST_BYTES:
            replace_file(Path(file), text)
    except (OSError, TypeError, ValueError):
        return
