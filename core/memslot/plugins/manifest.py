"""The manifest: what a plugin declares about itself, readable without running its code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.alias_generators import to_camel

from memslot.config.schema import schema_fault
from memslot.config.sensitive import shown
from memslot.config.spelling import nearest
from memslot.errors import ManifestError
from memslot.plugins.info import Command, PluginInfo

MANIFEST_NAME = "memslot.plugin.json"
MAX_BYTES = 256 * 1024
ID_PATTERN = r"^[a-z0-9][a-z0-9-]{0,63}$"
RESERVED_COMMANDS = frozenset(
    {
        *("init", "run", "plugins", "embed", "config", "sessions", "doctor", "paths", "trust"),
        *("completion", "search", "remember", "forget", "status"),
    }
)
"""memslot's own commands, which no plugin can take."""
OPEN_GROUPS = frozenset({"sessions"})
"""Groups of memslot's own to which plugins can add commands."""
_NO_SETTINGS: dict[str, Any] = {"type": "object", "additionalProperties": False}


CommandName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}( [a-z][a-z0-9-]{0,31})?$")]


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True, strict=True)


class UiHint(_Part):
    """How a form shows one setting."""

    label: str | None = Field(None, description="Short name shown beside the field.")
    help: str | None = Field(None, description="One sentence about what the setting does.")
    placeholder: str | None = Field(None, description="Example shown while the field is empty.")
    sensitive: bool = Field(False, description="A secret: shown as dots, kept out of messages and logs.")
    advanced: bool = Field(False, description="Hidden until the advanced settings are opened.")


class CommandHint(_Part):
    """A command as `memslot --help` lists it before the plugin is loaded."""

    name: CommandName = Field(description="The word after `memslot`; `sessions NAME` adds a command to that group.")
    help: str = Field("", max_length=200, description="One line for `memslot --help`.")


class Provides(_Part):
    """What the plugin registers, so that it can be shown and found before its code runs."""

    tools: list[str] = Field(default=[], description="Names of the tools it gives to agents.")
    commands: list[CommandHint | CommandName] = Field(
        default=[], description="Commands it adds to `memslot`: a name, or a name with one line of help."
    )
    providers: list[str] = Field(default=[], description="Ids of the embedding providers it registers.")

    @field_validator("commands")
    @classmethod
    def _leaves_ours_alone(cls, value: list[CommandHint | str]) -> list[CommandHint | str]:
        for hint in value:
            name = hint if isinstance(hint, str) else hint.name
            if name in RESERVED_COMMANDS:
                raise ValueError(f'holds "{name}", which is a command of memslot itself')
            group, space, _ = name.partition(" ")
            if space and group not in OPEN_GROUPS:
                raise ValueError(f'holds "{name}", but plugins can add commands only to: {", ".join(OPEN_GROUPS)}')
        return value


class Requires(_Part):
    """What the plugin needs to be useful."""

    extras: list[str] = Field(default=[], description="Extras of the memslot distribution that bring its packages.")
    env: list[str] = Field(default=[], description="Environment variables it reads, such as an API key.")


class Manifest(_Part):
    """`memslot.plugin.json`: is in the plugin's package and is read without importing it."""

    schema_: str | None = Field(None, alias="$schema", description="Address of this schema, for editors.")
    id: str = Field(
        pattern=ID_PATTERN,
        description="The plugin's id in the config: lower-case letters, digits and dashes. "
        "Equal to the name of its entry point.",
    )
    kind: Literal["memory", "embedder", "tool", "app"] = Field(
        description="memory: can own the memory slot. embedder: has embedding providers. "
        "tool: gives tools to agents. app: adds commands or a server."
    )
    name: str = Field(min_length=1, max_length=100, description="The display name.")
    version: str = Field("", max_length=50, description="The plugin's version.")
    description: str = Field("", max_length=500, description="One or two sentences about what it does.")
    entry: str | None = Field(
        None,
        pattern=r"^[A-Za-z_][\w.]*(:[A-Za-z_]\w*)?$",
        description="`package.module` or `package.module:object` that holds the hooks. "
        "For development folders; an installed plugin's entry point says it.",
    )
    min_host_api: int = Field(1, ge=1, description="The oldest version of the host's hooks that it supports.")
    config_schema: dict[str, Any] = Field(
        default=_NO_SETTINGS,
        description="JSON Schema 2020-12 for `plugins.entries.<id>.config`. Without it the plugin takes no settings.",
    )
    sections: dict[Literal["memorySearch", "memory"], dict[str, dict[str, Any]]] = Field(
        default={},
        description="Keys of the config's own sections that this plugin reads, beside those of the host: JSON Schema "
        "2020-12 of each key. With a default of `{}`, defaults inside an object count, too.",
    )
    ui_hints: dict[str, UiHint] = Field(
        default={}, description="How forms show the settings, by dotted path of the setting."
    )
    provides: Provides = Field(default=Provides(), description="What it registers.")
    requires: Requires = Field(default=Requires(), description="What it needs.")

    @field_validator("config_schema")
    @classmethod
    def _is_a_schema(cls, value: dict[str, Any]) -> dict[str, Any]:
        if value.get("type", "object") != "object":
            raise ValueError("must describe an object")
        fault = schema_fault(value)
        if fault is not None:
            raise ValueError(f"is not a valid JSON Schema 2020-12: {fault}")
        return value

    @field_validator("sections")
    @classmethod
    def _fits_into_another_schema(cls, value: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for keys in value.values():
            cls._is_a_schema({"properties": keys})
            if reserved := re.search(r'"(\$\w+)":', json.dumps(keys)):
                raise ValueError(f"holds {reserved[1]}; a key is described where it stands, without references")
        return value


def read_manifest(path: Path) -> Manifest:
    """Read a manifest file. Raises one ManifestError that lists everything wrong with it."""
    try:
        if not path.is_file():
            raise ManifestError(f"{path} is not a file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise ManifestError(f"{path} is larger than {MAX_BYTES // 1024} KB")
    return parse_manifest(data, str(path))


def parse_manifest(data: bytes, source: str) -> Manifest:
    """Parse a manifest's bytes; `source` names it in errors."""
    try:
        tree = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_no_duplicates)
    except UnicodeDecodeError:
        raise ManifestError(f"{source} is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{source} is not valid JSON: {error}") from None
    if not isinstance(tree, dict):
        raise ManifestError(f"{source} must hold one JSON object")
    try:
        json.dumps(tree, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ManifestError(f"{source} holds half of a surrogate pair, which is no text") from None
    try:
        return Manifest.model_validate(tree)
    except ValidationError as error:
        faults = _explain(error)
        raise ManifestError(f"{source}: " + "; ".join(faults), faults) from None
    except RecursionError:
        raise ManifestError(f"{source} is nested too deeply") from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} appears twice")
    return tree


def _explain(error: ValidationError) -> list[str]:
    known = [field.alias or name for name, field in Manifest.model_fields.items()]
    sentences: list[str] = []
    for fault in error.errors(include_url=False):
        parts = [str(part) for part in fault["loc"] if part not in ("str", "CommandHint")]
        path = ".".join(parts)
        if fault["type"] == "missing":
            sentence = f"{path} is required"
        elif fault["type"] == "extra_forbidden":
            meant = nearest(parts[-1], known)
            sentence = f"{path} is not a known key" + (f' (did you mean "{meant}"?)' if meant else "")
        else:
            reason = fault["msg"].removeprefix("Value error, ")
            value = "" if fault["type"] == "value_error" else f" is {shown(fault['input'], ())}:"
            sentence = f"{path}{value} {reason[:1].lower()}{reason[1:]}"
        if sentence not in sentences:
            sentences.append(sentence)
    return sentences


def describe(manifest: Manifest, *, entry: str, origin: str, root: Path, distribution: str | None) -> PluginInfo:
    """Turn a manifest into the plain record that the rest of the host works with."""
    commands = tuple(
        Command(hint, "") if isinstance(hint, str) else Command(hint.name, hint.help)
        for hint in manifest.provides.commands
    )
    return PluginInfo(
        id=manifest.id,
        kind=manifest.kind,
        name=manifest.name,
        version=manifest.version,
        description=manifest.description,
        entry=entry,
        origin=origin,
        root=str(root),
        distribution=distribution,
        min_host_api=manifest.min_host_api,
        config_schema=manifest.config_schema,
        sections={str(name): keys for name, keys in manifest.sections.items()},
        ui_hints={key: hint.model_dump() for key, hint in manifest.ui_hints.items()},
        tools=tuple(manifest.provides.tools),
        commands=commands,
        providers=tuple(manifest.provides.providers),
        required_extras=tuple(manifest.requires.extras),
        required_env=tuple(manifest.requires.env),
    )


def manifest_json_schema() -> dict[str, Any]:
    """The manifest's own JSON Schema 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "plugin.schema.json",
        **Manifest.model_json_schema(by_alias=True),
    }
