"""Config layers: the user's own file, overlaid by a trusted project's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memslot.config.keypath import KeyPath, lookup
from memslot.config.paths import Places
from memslot.config.read import RawConfig, parse_config_bytes, read_config_file
from memslot.errors import MemslotError

if TYPE_CHECKING:
    from memslot.config.admission import Schemas

HERE = Path()


def read_layers(
    places: Places, find_schemas: Callable[[Mapping[str, Any]], Schemas], *, project_dir: Path | None = HERE
) -> tuple[list[RawConfig], list[str]]:
    """Return the config files in effect, highest precedence last, and warnings about ignored ones.

    A project's config is searched for from `project_dir` upwards; None skips it. `find_schemas` gets the user's own
    config and returns the schemas of all settings, which say what names code.
    """
    layers: list[RawConfig] = []
    warnings: list[str] = []
    if user := read_config_file(places.config_file):
        layers.append(user)
    own = user.tree if user else {}
    if project_dir is not None and (project := _project_layer(project_dir, places, own, find_schemas, warnings)):
        layers.append(project)
    return layers, warnings


def _project_layer(
    start: Path,
    places: Places,
    own: Mapping[str, Any],
    find_schemas: Callable[[Mapping[str, Any]], Schemas],
    warnings: list[str],
) -> RawConfig | None:
    from memslot.config.project import find_project_file, read_project_file

    path = find_project_file(start, places)
    if path is None:
        return None
    # Imported late: most runs have no project file and need neither hashes nor locks.
    from memslot.config.admission import refuse_code, refuse_load_paths
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
    for refused in [*refuse_load_paths(layer.tree, own), *refuse_code(layer.tree, own, find_schemas(own))]:
        warnings.append(
            f"{path}: {refused.key} was ignored, because a project's config can't bring code; "
            f"to use it, set it in your own config: {refused.command}"
        )
    return layer


def _folder_keys(tree: Mapping[str, Any]) -> list[KeyPath]:
    """Return the keys whose relative paths in a project's config refer to the project."""
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
    """Resolve a relative path against the project: `workspace: "."` means the project folder."""
    written = lookup(tree, key)
    if not isinstance(written, str) or not written or written.startswith(("~", "$")):
        return
    if not Path(written).is_absolute():
        lookup(tree, key[:-1])[key[-1]] = str(root / written)
