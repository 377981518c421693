"""The command that installs what is missing: from the package index, or from the clone that memslot came from."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import Distribution


@dataclass(frozen=True)
class _Requirement:
    """What the distribution `memslot` requires, and the extra that brings it, if one does."""

    name: str
    options: str
    extra: str | None


def install_command(plugin_id: str) -> str | None:
    """The command that installs a plugin, for those that the distribution `memslot` names; None for others."""
    requirements = list(_requirements())
    extras = [each.extra for each in requirements if each.name == f"memslot-{plugin_id}"]
    if not extras:
        return None
    if None in extras:
        return extra_install_command(None)
    size = Counter(each.extra for each in requirements)
    return extra_install_command(min(extras, key=lambda extra: size[extra]))  # others bring more than was asked for


def optional_plugins() -> set[str]:
    """Ids of plugins that come with an extra of memslot alone."""
    requirements = [each for each in _requirements() if each.name.startswith("memslot-")]
    names = {each.name for each in requirements} - {each.name for each in requirements if each.extra is None}
    return {name.removeprefix("memslot-") for name in names}


def install_command_for(command: str) -> str | None:
    """The command that installs the plugin of a command, by the list in the metadata of the distribution `memslot`."""
    distribution = _distribution()
    if distribution is None:
        return None
    listed = distribution.entry_points
    extra = next((each.value for each in listed if (each.group, each.name) == ("memslot.commands", command)), None)
    return None if extra is None else extra_install_command(extra)


def extra_install_command(extra: str | None) -> str:
    """The command that installs an extra of memslot (None: memslot itself).

    Where memslot was installed from a clone, the command names folders of that clone.
    """
    clone = _clone()
    if clone is not None:
        wanted = [each for each in _requirements() if each.extra == extra and each.name.startswith("memslot-")]
        folders = {each: clone / "plugins" / each.name.removeprefix("memslot-").replace("-", "_") for each in wanted}
        parts = [f'"{folder}{each.options}"' for each, folder in folders.items() if folder.is_dir()]
        if parts:
            return f"pip install {' '.join(parts)}"
    return f'pip install "memslot[{extra}]"' if extra else "pip install memslot"


def _distribution() -> Distribution | None:
    from importlib import metadata  # nine milliseconds that only a message needs

    try:
        return metadata.distribution("memslot")
    except metadata.PackageNotFoundError:
        return None


def _requirements() -> Iterator[_Requirement]:
    distribution = _distribution()
    for requirement in (distribution and distribution.requires) or []:
        if found := re.match(r"([A-Za-z0-9._-]+)(\[[^\]]*\])?", requirement):
            extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", requirement)
            yield _Requirement(found[1], found[2] or "", extra[1] if extra else None)


def _clone() -> Path | None:
    """The folder that pip installed the distribution `memslot` from (PEP 610), or None if it came from an index."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    distribution = _distribution()
    if distribution is None:
        return None
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    except ValueError:
        return None
    if "dir_info" not in origin:
        return None
    return Path(url2pathname(urlsplit(origin.get("url", "")).path))
