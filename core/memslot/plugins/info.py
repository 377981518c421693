"""What the host knows about a plugin before it runs: a plain record that can be cached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Command:
    """A command as help lists it."""

    name: str
    help: str


@dataclass(frozen=True)
class PluginInfo:
    """One plugin that was found. `problem` says why it cannot run, if it cannot."""

    id: str
    kind: str | None
    name: str
    version: str
    description: str
    entry: str
    origin: str
    root: str
    distribution: str | None = None
    min_host_api: int = 1
    config_schema: Mapping[str, Any] = field(default_factory=dict)
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Keys that it describes in sections of the config, each with its JSON Schema."""
    ui_hints: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    providers: tuple[str, ...] = ()
    required_extras: tuple[str, ...] = ()
    required_env: tuple[str, ...] = ()
    problem: str | None = None
    overridden_by: str | None = None

    @property
    def secret_paths(self) -> frozenset[str]:
        """Settings that the manifest marks as sensitive."""
        return frozenset(path for path, hint in self.ui_hints.items() if hint.get("sensitive"))

    def with_problem(self, problem: str) -> PluginInfo:
        return replace(self, problem=problem)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PluginInfo:
        fields = dict(data)
        fields["commands"] = tuple(Command(**command) for command in fields["commands"])
        for key in ("tools", "providers", "required_extras", "required_env"):
            fields[key] = tuple(fields[key])
        return cls(**fields)


@dataclass(frozen=True)
class Catalog:
    """All plugins found, and the files whose change would make this list stale."""

    plugins: tuple[PluginInfo, ...]
    watched: Mapping[str, Any]
    """Each file or folder with its fingerprint from before it was read."""

    @property
    def usable(self) -> list[PluginInfo]:
        """Those that could run."""
        return [plugin for plugin in self.plugins if plugin.problem is None and plugin.overridden_by is None]

    def sections(self) -> dict[str, dict[str, Any]]:
        """The keys of the config's sections that plugins describe; of a key that two describe, the first counts."""
        described: dict[str, dict[str, Any]] = {}
        for plugin in self.usable:
            for name, keys in plugin.sections.items():
                described[name] = {**keys, **described.get(name, {})}
        return described

    def to_json(self) -> dict[str, Any]:
        return {"plugins": [plugin.to_json() for plugin in self.plugins], "watched": dict(self.watched)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Catalog:
        watched = {path: None if kept is None else tuple(kept) for path, kept in data["watched"].items()}
        return cls(tuple(PluginInfo.from_json(item) for item in data["plugins"]), watched)


def unusable(
    plugin_id: str, *, entry: str, origin: str, root: str, distribution: str | None, problem: str
) -> PluginInfo:
    """A record for a plugin whose manifest could not be read."""
    return PluginInfo(
        id=plugin_id,
        kind=None,
        name=plugin_id,
        version="",
        description="",
        entry=entry,
        origin=origin,
        root=root,
        distribution=distribution,
        problem=problem,
    )
