"""What the public attributes of instances are for: those that `__init__` sets, and properties that say nothing.

A text that stands below the assignment in the source goes before the one here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from parts import signatures

ABOUT: dict[str, dict[str, str]] = {
    "AgentRun": {
        "info": "The prompt as it was given, the run's id, and the conversation it belongs to.",
        "context": "What plugins recalled, fenced and marked as untrusted; may be empty.",
        "system_prompt": "The program's own system prompt, followed by the sections that plugins add.",
        "tools": "The tools an agent may use in this type of chat.",
        "session": "The conversation the run belongs to.",
    },
    "ConfigError": {"problems": "All problems, one entry each."},
    "EmbeddingPipeline": {
        "provider": "The provider that embeds.",
        "cache": "The cache of vectors, if there is one.",
        "batch_timeout": "Seconds that one batch may take.",
    },
    "Host": {
        "config": "All settings, with their defaults filled in.",
        "places": "Where files live.",
        "activation": "Which plugins were found, which run, and why the others do not.",
        "agent_id": "The agent this host is for.",
        "warnings": "Warnings about the config files, one sentence each.",
        "diagnostics": "Non-fatal problems, oldest first: iterate over it.",
        "embedding_providers": "The embedding providers that plugins registered.",
    },
    "MemoryStatus": {"is_healthy": "Whether there are no problems."},
    "PluginContext": {
        "plugin_id": "The plugin's own id.",
        "config": "The plugin's own settings, checked against its manifest, with the defaults filled in.",
        "agent_id": "The agent this host is for. Keep the data of different agents apart.",
        "places": "Where files live.",
        "host_config": "All settings of the host.",
        "logger": "The logger `memslot.plugin.<id>`.",
    },
    "ProviderBusyError": {"retry_after": "Seconds the provider asks to wait, if it said so."},
    "Session": {"is_private": "Whether the chat is direct, without an audience."},
}
TYPES = {
    ("Host", "warnings"): "tuple[str, ...]",
    ("PluginContext", "logger"): "logging.Logger",
}
"""Types that the source does not spell out at the assignment."""


@dataclass(frozen=True)
class Attribute:
    """One attribute of an instance. The type is empty where the source does not tell."""

    name: str
    type: str
    about: str

    def __str__(self) -> str:
        shown = f"{self.name}: {self.type}" if self.type else self.name
        return f"- `{shown}`" + (f": {self.about}" if self.about else "")


def set_by_init(node: ast.ClassDef) -> Iterator[Attribute]:
    """The public attributes that a class's `__init__` sets, in their order."""
    init = next((item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
    if init is None:
        return
    arguments = [*init.args.posonlyargs, *init.args.args, *init.args.kwonlyargs]
    types = {each.arg: signatures.source(each.annotation) for each in arguments if each.annotation}
    for item, after in zip(init.body, [*init.body[1:], None], strict=True):
        for name, annotation, value in _assigned(item):
            if not name.startswith("_"):
                kind = signatures.source(annotation) if annotation else _type_of(node.name, name, value, types)
                yield Attribute(name, kind, _text_below(after) or about(node.name, name))


def about(owner: str, name: str) -> str:
    return ABOUT.get(owner, {}).get(name, "")


def _assigned(item: ast.stmt) -> Iterator[tuple[str, ast.expr | None, ast.expr | None]]:
    """Names that a statement sets on `self`, with the annotation and the value."""
    if isinstance(item, ast.AnnAssign):
        targets: list[ast.expr] = [item.target]
        annotation: ast.expr | None = item.annotation
    elif isinstance(item, ast.Assign):
        targets, annotation = item.targets, None
    else:
        return
    for target in targets:
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
            yield target.attr, annotation, item.value


def _type_of(owner: str, name: str, value: ast.expr | None, types: dict[str, str]) -> str:
    if (owner, name) in TYPES:
        return TYPES[owner, name]
    if isinstance(value, ast.Name):
        return types.get(value.id, "")
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        if value.func.id == "tuple" and isinstance(value.args[0], ast.Name):
            return types.get(value.args[0].id, "tuple").replace("Sequence[", "tuple[").replace("]", ", ...]", 1)
        return value.func.id if value.func.id[0].isupper() else ""
    return ""


def _text_below(item: ast.stmt | None) -> str:
    if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and isinstance(item.value.value, str):
        return signatures.first_line(item.value.value)
    return ""
