"""How to install a plugin that is not there."""

from __future__ import annotations

import re
from importlib import metadata


def install_command(plugin_id: str) -> str:
    """The command that brings a plugin: an extra of `memslot` if one does, else the conventional package name."""
    distribution = f"memslot-{plugin_id}"
    try:
        requirements = metadata.requires("memslot") or []
    except metadata.PackageNotFoundError:
        requirements = []
    for requirement in requirements:
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", requirement)
        if name and name.group() == distribution:
            return f'pip install "memslot[{extra.group(1)}]"' if extra else "pip install memslot"
    return f"pip install {distribution}"
