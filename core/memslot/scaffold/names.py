"""What a new plugin is called: one word from its author, and every name that follows from it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memslot.errors import PluginError

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST = 50
_PREFIX = "memslot-"
_EMBEDDER_PREFIX = "embed-"
_TAKEN = frozenset({"core", "memory-core", "memory-lancedb", "embed-providers", "memslot"})
"""Distributions of the project itself would be `memslot-` and one of these."""
_MEANT_OTHERWISE = frozenset({"auto", "none"})
"""As the id of a slot's owner or of an embedding provider these say something else."""


@dataclass(frozen=True)
class Names:
    """`weather` gives the id `weather`, the distribution `memslot-weather` and the package `memslot_weather`.

    The prefix makes plugins easy to find, and keeps a package from hiding a module of Python's own:
    a plugin named `json` is imported as `memslot_json`.
    """

    plugin_id: str

    @property
    def distribution(self) -> str:
        return f"{_PREFIX}{self.plugin_id}"

    @property
    def package(self) -> str:
        return self.distribution.replace("-", "_")

    @property
    def identifier(self) -> str:
        """The id as part of a Python or tool name."""
        return self.plugin_id.replace("-", "_")

    @property
    def provider_id(self) -> str:
        """What people write as `memorySearch.provider`: the plugin `embed-acme` brings the provider `acme`."""
        return self.plugin_id.removeprefix(_EMBEDDER_PREFIX)

    @property
    def title(self) -> str:
        return self.plugin_id.replace("-", " ").capitalize()


def names_for(name: str) -> Names:
    """All names of a new plugin; raises a PluginError for a name that cannot be used."""
    plugin_id = name.removeprefix(_PREFIX)
    if len(name) > _LONGEST or not _NAME.fullmatch(plugin_id):
        raise PluginError(
            f"a plugin's name is 1 to {_LONGEST} lower-case letters, digits and single dashes, such as my-thing, "
            f"not {name[:80]!r}"
        )
    if plugin_id in _TAKEN:
        raise PluginError(f'"{plugin_id}" is the name of a part of memslot itself; choose another one')
    names = Names(plugin_id)
    if names.provider_id in _MEANT_OTHERWISE:
        raise PluginError(f'"{names.provider_id}" has a meaning in the config already; choose another name')
    return names
