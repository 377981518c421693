"""How to install a plugin that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import metadata


def install_command(plugin_id: str) -> str | None:
    """The command that installs a plugin, for those that the distribution `memslot` names; None for others."""
    extras = [extra for distribution, extra in _requirements() if distribution == f"memslot-{plugin_id}"]
    if not extras:
        return None
    if None in extras:
        return "pip install memslot"
    # An extra that gathers others names it too; the one of its own is meant.
    return f'pip install "memslot[{min(filter(None, extras), key=lambda extra: (extra == "all", extra))}]"'


def install_command_for(command: str) -> str | None:
    """The command that installs the plugin of a command: the extra `mcp` brings memslot-mcp-server, which has it."""
    brings = any(extra == command and name.startswith(f"memslot-{command}") for name, extra in _requirements())
    return f'pip install "memslot[{command}]"' if brings else None


def _requirements() -> Iterator[tuple[str, str | None]]:
    """What the distribution `memslot` requires: the name, and the extra that brings it, if one does."""
    try:
        requirements = metadata.requires("memslot") or []
    except metadata.PackageNotFoundError:
        return
    for requirement in requirements:
        if name := re.match(r"[A-Za-z0-9._-]+", requirement):
            extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", requirement)
            yield name.group(), extra.group(1) if extra else None
