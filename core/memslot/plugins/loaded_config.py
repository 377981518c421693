"""A checked config, and its restoration from the cache."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memslot.config.environ import replace_variables
from memslot.config.keypath import KeyPath
from memslot.config.model import Config, config_json_schema
from memslot.plugins.info import Catalog

if TYPE_CHECKING:
    from memslot.config.problems import ConfigProblem


@dataclass(frozen=True)
class LoadedConfig:
    """A checked config and where it came from."""

    config: Config
    files: tuple[Path, ...]
    warnings: tuple[str, ...]
    entry_problems: Mapping[str, tuple[ConfigProblem, ...]]
    """Plugins whose entry is broken, with the reasons; they are switched off in `config`."""
    env_names: frozenset[str]
    env_paths: frozenset[KeyPath]
    """Paths of values from the environment, which are never shown."""
    tree: dict[str, Any] = field(repr=False)
    """The merged keys as they were written, before variables were filled in."""
    catalog: Catalog = field(repr=False)
    """The plugins that were found; the check used their manifests."""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the config file, with the keys that these plugins describe."""
        return config_json_schema(self.catalog.sections())


def restore_config(
    tree: dict[str, Any], files: Iterable[Path], warnings: tuple[str, ...], env: Mapping[str, str], catalog: Catalog
) -> LoadedConfig:
    """Rebuild a config whose tree passed the check with the same values of its variables."""
    filled = replace_variables(tree, env)
    if filled.problems:
        raise ValueError("a variable of the config is missing")
    config = Config.from_tree(filled.tree)
    return LoadedConfig(config, tuple(files), warnings, {}, filled.names, filled.paths, tree, catalog)
