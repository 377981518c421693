"""Which of their settings are imported, which are not, and why."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memslot import ConfigFile, install_command, one_line

from memslot_importers.openclaw.home import OpenClawHome, expand_home, section

KeyPath = tuple[str | int, ...]

DEFAULTS = ("agents", "defaults", "memorySearch")
_REFERENCE = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_READ_ONLY = frozenset({"extraPaths", "paths", "modelPath", "command", "extensionPath"})
"""Settings that may name a file of theirs: it is only read."""
_AGENT_KEYS = ("id", "default", "workspace", "memorySearch")


@dataclass(frozen=True)
class Setting:
    """A setting of theirs, by the key it has in both configs, and its outcome.

    `set`, `same` (ours says so already), `kept` (ours says otherwise and wins), `secret` or `left-out`.
    """

    key: KeyPath
    value: Any = field(repr=False)
    state: str = "set"
    reason: str = ""

    @property
    def name(self) -> str:
        return ConfigFile.key_name(self.key)

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"key": self.name, "state": self.state}
        if self.state in ("set", "same", "kept"):
            told["value"] = ConfigFile.masked(self.value, self.key)
        return {**told, **({"reason": self.reason} if self.reason else {})}

    def leave_out(self, reason: str, state: str = "left-out") -> Setting:
        return replace(self, state=state, reason=reason)


def openclaw_settings(home: OpenClawHome, env: Mapping[str, str], plugins: Collection[str]) -> list[Setting]:
    """All their settings, one per value; for what is not about memory, one per section.

    Keys of agents are those of their own list. `plugins` are the ids of the plugins that are installed here.
    """
    return [_judged(setting, home, env) for setting in _settings(home, plugins)]


def _settings(home: OpenClawHome, plugins: Collection[str]) -> Iterator[Setting]:
    tree = home.tree
    for key, value in tree.items():
        if key not in ("agents", "memory", "plugins"):
            yield Setting((key,), value).leave_out("is not about memory")
    for key, value in section(tree, "agents", "defaults").items():
        if key == "memorySearch":
            yield from _leaves(DEFAULTS, value)
        elif key != "workspace":  # its notes are copied
            yield Setting(("agents", "defaults", key), value).leave_out("is not about memory")
    for agent in home.agents:
        for key, value in agent.entry.items():
            path: KeyPath = ("agents", "list", agent.place or 0, key)
            if key == "memorySearch":
                yield from _leaves(path, value)
            elif key not in _AGENT_KEYS:
                yield Setting(path, value).leave_out("is not about memory")
    yield from _leaves(("memory",), section(tree, "memory"))
    for key, value in section(tree, "plugins").items():
        if key not in ("slots", "entries"):
            yield Setting(("plugins", key), value).leave_out("speaks of that program's plugins")
    for key, value in section(tree, "plugins", "slots").items():
        yield _slot(Setting(("plugins", "slots", key), value), plugins)
    for plugin_id, entry in section(tree, "plugins", "entries").items():
        place: KeyPath = ("plugins", "entries", plugin_id)
        if plugin_id not in plugins:
            yield Setting(place, entry).leave_out(_not_installed(plugin_id))
            continue
        for key, value in (entry if isinstance(entry, Mapping) else {}).items():
            if key == "config":
                yield from _leaves((*place, key), value)
            else:
                yield Setting((*place, key), value).leave_out("speaks of that program's plugins")


def _slot(setting: Setting, plugins: Collection[str]) -> Setting:
    if setting.key[-1] != "memory":
        return setting.leave_out("there is no such slot here")
    if setting.value != "none" and setting.value not in plugins:
        return setting.leave_out(_not_installed(str(setting.value)))
    return setting


def _not_installed(plugin_id: str) -> str:
    command = install_command(plugin_id)
    return f"no plugin {plugin_id} is installed here" + (f"; run: {command}, and import again" if command else "")


def _leaves(path: KeyPath, value: Any) -> Iterator[Setting]:
    if isinstance(value, Mapping) and value and not _variable_of(value):
        for key, inner in value.items():
            yield from _leaves((*path, str(key)), inner)
    elif not isinstance(value, Mapping) or value:
        yield Setting(path, value)


def _variable_of(value: Any) -> str | None:
    """The variable in their other form of `${NAME}`: an object that names an environment variable."""
    if isinstance(value, Mapping) and value.get("source") == "env" and isinstance(value.get("id"), str):
        return str(value["id"])
    return None


def _judged(setting: Setting, home: OpenClawHome, env: Mapping[str, str]) -> Setting:
    """The setting with its paths converted, or the reason why it cannot be imported."""
    if setting.state != "set":
        return setting
    if (name := _variable_of(setting.value)) is not None:
        setting = replace(setting, value=f"${{{name}}}")
    key, value = setting.key, setting.value
    if value is None:
        return setting.leave_out("has no value")
    if ConfigFile.masked(value, key) != value:
        return setting.leave_out(_advice(setting, home.tree), "secret")
    if missing := [name for name in _variables(value) if not env.get(name)]:
        advice = f"needs the environment variable {missing[0]}, which is not set; set it and import again"
        return setting.leave_out(advice)
    if key[-2:] == ("store", "path"):
        return setting.leave_out("is that program's own index; ours is built anew from the notes")
    if key[-1] in ("extraPaths", "paths") and isinstance(value, list):
        return replace(setting, value=[_absolute(each, _base(key, home)) for each in value])
    if key[-1] not in _READ_ONLY and isinstance(value, str) and _is_inside(value, home.root):
        return setting.leave_out("names a place of that program's own, and two programs must not write there")
    return setting


def _variables(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [name for inner in value.values() for name in _variables(inner)]
    if isinstance(value, list):
        return [name for inner in value for name in _variables(inner)]
    return _REFERENCE.findall(value) if isinstance(value, str) else []


def _advice(setting: Setting, tree: Mapping[str, Any]) -> str:
    """How to give memslot a secret without writing it into the config."""
    last = str(setting.key[-1])
    if last.lower().replace("_", "") == "apikey":
        around: Any = tree
        provider = "openai"
        for step in setting.key[:-1]:
            if isinstance(around, Mapping):
                provider = around["provider"] if isinstance(around.get("provider"), str) else provider
                around = around.get(step)
            elif isinstance(around, list) and isinstance(step, int) and step < len(around):
                around = around[step]
        if isinstance(around, Mapping) and isinstance(around.get("provider"), str):
            provider = around["provider"]
        variable = f"{provider if provider != 'auto' else 'openai'}_API_KEY"
    else:
        variable = last
    variable = re.sub(r"[^A-Z0-9]+", "_", variable.upper()).strip("_")
    return (
        f"is a secret in plain text and was not copied; put it into the environment as {variable}, "
        f"then run: memslot config set {setting.name} '${{{variable}}}'"
    )


def _base(key: KeyPath, home: OpenClawHome) -> Path:
    """The workspace that relative paths of a setting start from."""
    agent = home.default_agent
    if key[:2] == ("agents", "list"):
        agent = next((each for each in home.agents if each.place == key[2]), agent)
    return agent.workspace or home.default_agent.workspace or home.root / "workspace"


def _absolute(entry: Any, base: Path) -> Any:
    """An absolute path: relative ones were relative to their workspace."""
    if isinstance(entry, str) and entry:
        written = expand_home(entry)
        if written.is_absolute() or entry.startswith(("~", "$")):
            return entry
        return os.path.normpath(base / written)
    if isinstance(entry, Mapping) and isinstance(entry.get("path"), str):
        return {**entry, "path": _absolute(entry["path"], base)}
    return entry


def _is_inside(value: str, root: Path) -> bool:
    if not value.startswith(("~", "/")) and not Path(value).is_absolute():
        return False
    place = expand_home(value.replace("{agentId}", "agent").replace("{workspace}", "workspace"))
    return any(place.is_relative_to(home) for home in (root, root.resolve(), expand_home("~/.openclaw")))


def described(setting: Setting) -> str:
    """A setting's value for display, short and without secrets."""
    if isinstance(setting.value, dict | list):
        return "a list" if isinstance(setting.value, list) else "an object"
    return one_line(json.dumps(ConfigFile.masked(setting.value, setting.key), ensure_ascii=False, default=str), 60)
