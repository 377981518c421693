"""How to install a plugin that is not there."""

from __future__ import annotations

import re
from importlib import metadata


def install_command(plugin_id: str) -> str | None:
    """The command that brings a plugin, for those that memslot itself distributes; nothing is made up for others."""
    distribution = f"memslot-{plugin_id}"
    try:
        requirements = metadata.requires("memslot") or []
    except metadata.PackageNotFoundError:
        return None
    extras: set[str] = set()
    for requirement in requirements:
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        if name and name.group() == distribution:
            extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", requirement)
            if extra is None:
                return "pip install memslot"
            extras.add(extra.group(1))
    if not extras:
        return None
    # An extra that gathers others names it too; the one of its own is meant.
    return f'pip install "memslot[{min(extras, key=lambda extra: (extra == "all", extra))}]"'
