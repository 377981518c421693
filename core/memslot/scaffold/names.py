"""The names of a new plugin, all derived from one word."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memslot.errors import PluginError

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MAX_CHARS = 50
_PREFIX = "memslot-"
_EMBEDDER_PREFIX = "embed-"
_TAKEN = frozenset({"core", "memory-core", "memory-lancedb", "embed-providers", "memslot"})
"""`memslot-` plus one of these is a distribution of memslot itself."""
_RESERVED = frozenset({"auto", "none"})
"""Reserved values of the slot and embedding provider settings."""


@dataclass(frozen=True)
class Names:
    """`weather` gives the id `weather`, the distribution `memslot-weather` and the package `memslot_weather`.

    The prefix makes plugins easy to find and prevents shadowing of standard modules: a plugin named `json` is
    imported as `memslot_json`.
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
        """The value of `memorySearch.provider`: the plugin `embed-acme` registers the provider `acme`."""
        return self.plugin_id.removeprefix(_EMBEDDER_PREFIX)

    @property
    def title(self) -> str:
        return self.plugin_id.replace("-", " ").capitalize()


def names_for(name: str) -> Names:
    """Derive all names of a new plugin. Raises PluginError if the name is invalid."""
    plugin_id = name.removeprefix(_PREFIX)
    if len(name) > _MAX_CHARS or not _NAME.fullmatch(plugin_id):
        raise PluginError(
            f"a plugin's name must be 1 to {_MAX_CHARS} lower-case letters, digits and single dashes, like my-thing, "
            f"not {name[:80]!r}"
        )
    if plugin_id in _TAKEN:
        raise PluginError(f'"{plugin_id}" is reserved for memslot itself; choose another name')
    names = Names(plugin_id)
    if names.provider_id in _RESERVED:
        raise PluginError(f'"{names.provider_id}" is a reserved word in the config; choose another name')
    return names
