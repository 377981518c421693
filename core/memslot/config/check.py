"""Validate a config tree and report all problems at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from memslot.config.allowed import Schema, allowed_at, description_of, is_described, key_hint, value_hint
from memslot.config.environ import replace_variables
from memslot.config.keypath import KeyPath, format_key, lookup
from memslot.config.merge import copied
from memslot.config.problems import ConfigProblem
from memslot.config.schema import reason_of, schema_validator
from memslot.config.sensitive import shown

if TYPE_CHECKING:
    from memslot.config.model import Config

Finding = tuple[KeyPath, ConfigProblem]
ENTRIES: KeyPath = ("plugins", "entries")
AGENTS: KeyPath = ("agents", "list")


@dataclass(frozen=True)
class Checked:
    """The result: a config unless there are findings."""

    config: Config | None
    findings: tuple[Finding, ...]
    entry_findings: Mapping[str, tuple[Finding, ...]]
    """Problems inside single plugins' entries; those plugins are disabled, the others run."""
    env_names: frozenset[str]
    env_paths: frozenset[KeyPath]
    """Paths of values from the environment, which are never shown."""

    def located(self, place: Callable[[Finding], ConfigProblem]) -> list[ConfigProblem]:
        """Return all problems, including those in plugin entries, each with its location added by `place`."""
        inside = [finding for findings in self.entry_findings.values() for finding in findings]
        return [place(finding) for finding in (*self.findings, *inside)]


def check_tree(raw: Mapping[str, Any], env: Mapping[str, str], schema: Schema) -> Checked:
    """Substitute variables and validate the tree against the whole schema."""
    from memslot.config.model import Config

    filled = replace_variables(raw, env)
    tree = copied(filled.tree)
    findings: dict[KeyPath, ConfigProblem] = {}
    entry_findings: dict[str, dict[KeyPath, ConfigProblem]] = {}

    def note(path: KeyPath, problem: ConfigProblem) -> None:
        owner = findings
        if path[:2] == ENTRIES and len(path) > 2:
            owner = entry_findings.setdefault(str(path[2]), {})
        owner.setdefault(path, problem)  # one problem per key is enough

    def refuse(path: KeyPath, fault: Any = None) -> None:
        note(path, _problem(fault, path, tree, schema, hide=path in filled.paths))

    for path, problem in filled.problems:
        note(path, problem)
    unfit = list(_unfit(tree))
    for path in unfit:
        refuse(path)
    for path in unfit:
        lookup(tree, path[:-1])[path[-1]] = None
    for fault in schema_validator(schema).iter_errors(tree):
        inside: KeyPath = tuple(fault.instance_path)
        if fault.kind.name == "additionalProperties":
            for key in fault.kind.unexpected:
                refuse((*inside, key), fault)
        else:
            refuse((*inside, fault.kind.property) if fault.kind.name == "required" else inside, fault)
    if clash := _agents_clash(lookup(tree, AGENTS)):
        note(AGENTS, ConfigProblem(format_key(AGENTS), clash))
    for plugin_id in entry_findings:
        lookup(tree, ENTRIES)[plugin_id] = {"enabled": False}
    return Checked(
        None if findings else Config.from_tree(tree),
        tuple(findings.items()),
        {plugin_id: tuple(found.items()) for plugin_id, found in entry_findings.items()},
        filled.names,
        filled.paths,
    )


def _unfit(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield paths of values JSON can't represent: NaN, or arbitrary objects in a caller's dict."""
    if isinstance(value, list) or (isinstance(value, dict) and all(isinstance(key, str) for key in value)):
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _unfit(item, (*path, step))
    elif not isinstance(value, str | int | float | None) or (isinstance(value, float) and not isfinite(value)):
        yield path


def _agents_clash(agents: Any) -> str | None:
    listed = [each for each in agents if isinstance(each, dict)] if isinstance(agents, list) else []
    seen: set[str] = set()
    for name in (agent["id"] for agent in listed if isinstance(agent.get("id"), str)):
        # Ids become file names, and some file systems are case-insensitive.
        if name.lower() in seen:
            return f'has two agents with the id "{name}", ids must differ'
        seen.add(name.lower())
    if sum(agent.get("default") is True for agent in listed) > 1:
        return "has more than one agent with default: true, only one can be the default"
    return None


def _problem(fault: Any, path: KeyPath, tree: Any, schema: Schema, *, hide: bool) -> ConfigProblem:
    """Describe a schema violation in a sentence; None means the value is not JSON."""
    key = format_key(path) or "the config"
    keyword = fault.kind.name if fault else "type"
    if keyword == "additionalProperties":
        return ConfigProblem(key, "is not a known key", hint=key_hint(schema, path))
    allowed = allowed_at(schema, path)
    if keyword == "required":
        return ConfigProblem(key, f"is required, and must be {allowed}", hint=description_of(schema, path))
    value = lookup(tree, path)
    hint = None
    if keyword == "pattern":
        hint = description_of(schema, path)
    elif keyword == "enum" and not hide:
        hint = value_hint(schema, path, value)
    reason = f"must be {allowed}" if is_described(schema, path, keyword) else reason_of(fault)
    return ConfigProblem(key, reason, value=shown(value, path, hide=hide), hint=hint)


def with_place(finding: Finding, file: str | None, line: int | None) -> ConfigProblem:
    """Return the problem with its file and line."""
    return replace(finding[1], file=file, line=line)
