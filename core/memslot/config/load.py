"""Load the config: the person's file, a trusted project's file over it, everything checked at once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memslot.config.check import Checked, Finding, check_tree, with_place
from memslot.config.keypath import MISSING, KeyPath, lookup
from memslot.config.loaded import LoadedConfig
from memslot.config.merge import copied, merged
from memslot.config.paths import Places
from memslot.config.problems import ConfigProblem
from memslot.config.read import RawConfig, parse_config_bytes, read_config_file
from memslot.errors import ConfigError, MemslotError

HERE = Path()


def load_config(
    places: Places, *, project_dir: Path | None = HERE, env: Mapping[str, str] | None = None
) -> LoadedConfig:
    """Read and check all layers; a project's config is looked for from `project_dir` upwards, if any."""
    layers, warnings = read_layers(places, project_dir=project_dir)
    tree = merged(*(layer.tree for layer in layers))
    checked = check_tree(tree, os.environ if env is None else env)
    return _loaded(checked, tree, layers, warnings, str(places.config_file))


def read_layers(places: Places, *, project_dir: Path | None = HERE) -> tuple[list[RawConfig], list[str]]:
    """The files that count, the deciding one last, and warnings about those that don't."""
    layers: list[RawConfig] = []
    warnings: list[str] = []
    if user := read_config_file(places.config_file):
        layers.append(user)
    own = user.tree if user else {}
    if project_dir is not None and (project := _project_layer(project_dir, places, own, warnings)):
        layers.append(project)
    return layers, warnings


def parse_config(
    tree: Mapping[str, Any], *, env: Mapping[str, str] | None = None, source: str = "config"
) -> LoadedConfig:
    """Check a config that a program passes as a dict; `source` names it in messages."""
    own = copied(tree)
    return _loaded(check_tree(own, os.environ if env is None else env), own, (), (), source)


def _loaded(
    checked: Checked, tree: dict[str, Any], layers: Sequence[RawConfig], warnings: Sequence[str], source: str
) -> LoadedConfig:
    def place(finding: Finding) -> ConfigProblem:
        return _placed(finding, layers, source)

    if checked.config is None:
        problems = sorted(checked.located(place), key=lambda each: (each.file or "", each.line or 0))
        files = " and ".join(sorted({problem.file or source for problem in problems}))
        many = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise ConfigError(f"{files} cannot be used because of {many}; correct what is listed here:", problems)
    return LoadedConfig(
        config=checked.config,
        files=tuple(layer.path for layer in layers),
        warnings=tuple(warnings),
        entry_problems={
            plugin_id: tuple(place(finding) for finding in findings)
            for plugin_id, findings in checked.entry_findings.items()
        },
        env_names=checked.env_names,
        env_paths=checked.env_paths,
        tree=tree,
    )


def _placed(finding: Finding, layers: Sequence[RawConfig], source: str) -> ConfigProblem:
    path = finding[0]
    for length in range(len(path), 0, -1):
        for layer in reversed(layers):  # the last layer that has the key is the one that decided it
            if lookup(layer.tree, path[:length]) is not MISSING:
                line = layer.outline.line_of(path[:length]) if layer.outline else None
                return with_place(finding, str(layer.path), line)
    return with_place(finding, source, None)


def _project_layer(start: Path, places: Places, own: Mapping[str, Any], warnings: list[str]) -> RawConfig | None:
    from memslot.config.project import find_project_file, read_project_file

    path = find_project_file(start, places)
    if path is None:
        return None
    # Only now: most runs have no project file, and then need neither hashes nor locks.
    from memslot.config.admission import refuse_code
    from memslot.config.trust import read_trust

    book = read_trust(places)
    if book.warning:
        warnings.append(book.warning)
    try:
        project = read_project_file(path)
    except MemslotError as error:
        warnings.append(f"The project config was ignored: {error}")
        return None
    state = book.state_of(project)
    if state != "trusted":
        why = "has changed since you trusted it" if state == "changed" else "is not trusted yet"
        warnings.append(f"{path} {why} and was ignored; read it, then run `memslot trust` to use it.")
        return None
    layer = parse_config_bytes(project.path, project.data)
    for key in _folder_keys(layer.tree):
        _anchor(layer.tree, key, project.root)
    for refused in refuse_code(layer.tree, own):
        warnings.append(
            f"{path}: {refused.key} was ignored, since a project's config can't bring code; "
            f"if you want it, put it into your own: {refused.command}"
        )
    return layer


def _folder_keys(tree: Mapping[str, Any]) -> list[KeyPath]:
    """The keys whose values are folders of the project when a project writes them."""
    load_paths, agents = ("plugins", "load", "paths"), ("agents", "list")
    return [
        ("agents", "defaults", "workspace"),
        *((*agents, index, "workspace") for index in range(_length(tree, agents))),
        *((*load_paths, index) for index in range(_length(tree, load_paths))),
    ]


def _length(tree: Mapping[str, Any], path: KeyPath) -> int:
    found = lookup(tree, path)
    return len(found) if isinstance(found, list) else 0


def _anchor(tree: dict[str, Any], key: KeyPath, root: Path) -> None:
    """A project speaks of its own folders: `workspace: "."` means the project."""
    written = lookup(tree, key)
    if not isinstance(written, str) or not written or written.startswith(("~", "$")):
        return
    if not Path(written).is_absolute():
        lookup(tree, key[:-1])[key[-1]] = str(root / written)
