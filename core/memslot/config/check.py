"""Find everything that is wrong with a config tree, at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memslot.config.allowed import allowed_at, description_of, key_hint, value_hint
from memslot.config.environ import replace_variables
from memslot.config.keypath import MISSING, KeyPath, format_key, lookup
from memslot.config.merge import copied
from memslot.config.problems import ConfigProblem
from memslot.config.sensitive import shown

if TYPE_CHECKING:
    from pydantic import ValidationError

    from memslot.config.model import Config

Finding = tuple[KeyPath, ConfigProblem]
ENTRIES = ("plugins", "entries")


@dataclass(frozen=True)
class Checked:
    """The outcome: a config unless there are findings."""

    config: Config | None
    findings: tuple[Finding, ...]
    entry_findings: Mapping[str, tuple[Finding, ...]]
    """What is wrong inside single plugins' entries; those plugins are switched off, the rest goes on."""
    env_names: frozenset[str]
    env_paths: frozenset[KeyPath]
    """Where values from the environment stand: they are never shown."""

    def located(self, place: Callable[[Finding], ConfigProblem]) -> list[ConfigProblem]:
        """All problems, those inside plugins' entries included, each completed by `place`."""
        inside = [finding for findings in self.entry_findings.values() for finding in findings]
        return [place(finding) for finding in (*self.findings, *inside)]


def check_tree(raw: Mapping[str, Any], env: Mapping[str, str]) -> Checked:
    """Fill in the variables and check every key."""
    from pydantic import ValidationError

    from memslot.config.model import Config, PluginEntry
    from memslot.config.section import validator

    filled = replace_variables(raw, env)
    tree = copied(filled.tree)
    findings: dict[KeyPath, ConfigProblem] = {}
    entry_findings: dict[str, dict[KeyPath, ConfigProblem]] = {}

    def note(path: KeyPath, problem: ConfigProblem) -> None:
        owner = findings
        if path[:2] == ENTRIES and len(path) > 2:
            owner = entry_findings.setdefault(str(path[2]), {})
        owner.setdefault(path, problem)  # the first word on a key is enough

    for path, problem in filled.problems:
        note(path, problem)
    entries = lookup(tree, ENTRIES)
    if isinstance(entries, dict):
        for plugin_id, entry in entries.items():
            try:
                validator(PluginEntry)(entry)
            except ValidationError as error:
                for path, problem in _translated(error, tree, filled.paths, (*ENTRIES, plugin_id)):
                    note(path, problem)
            if plugin_id in entry_findings:
                entries[plugin_id] = {"enabled": False}
    config = None
    try:
        validator(Config)(tree)
        config = Config.from_tree(tree)
    except ValidationError as error:
        for path, problem in _translated(error, tree, filled.paths, ()):
            note(path, problem)
    return Checked(
        None if findings else config,
        tuple(findings.items()),
        {plugin_id: tuple(found.items()) for plugin_id, found in entry_findings.items()},
        filled.names,
        filled.paths,
    )


def _translated(error: ValidationError, tree: Any, from_env: frozenset[KeyPath], prefix: KeyPath) -> list[Finding]:
    """pydantic's findings in our words; only its places and kinds are used, never its sentences."""
    from memslot.config.search_model import OBJECT_TAG, TEXT_TAG

    found = []
    for detail in error.errors(include_url=False, include_input=False):
        # The tag of a union is a step in pydantic's path and none in the file's.
        steps = [step for step in detail["loc"] if step not in (OBJECT_TAG, TEXT_TAG)]
        path = (*prefix, *steps)
        found.append((path, _problem(detail["type"], detail.get("ctx", {}), path, tree, path in from_env)))
    return found


def _problem(kind: str, context: Mapping[str, Any], path: KeyPath, tree: Any, hide: bool) -> ConfigProblem:
    key = format_key(path) or "the config"
    if kind == "unexpected_keyword_argument":
        return ConfigProblem(key, "is not a known key", hint=key_hint(path))
    if kind == "missing":
        return ConfigProblem(key, f"is required, and must be {allowed_at(path)}", hint=description_of(path))
    if kind == "value_error":
        return ConfigProblem(key, str(context.get("error", "is not possible")))
    value = lookup(tree, path)
    hint = None
    if kind == "string_pattern_mismatch":
        hint = description_of(path)
    elif kind == "literal_error" and not hide:
        hint = value_hint(value, path)
    return ConfigProblem(
        key,
        f"must be {allowed_at(path)}",
        value=None if value is MISSING else shown(value, path, hide=hide),
        hint=hint,
    )


def with_place(finding: Finding, file: str | None, line: int | None) -> ConfigProblem:
    """The same problem, knowing its file and line."""
    return replace(finding[1], file=file, line=line)
