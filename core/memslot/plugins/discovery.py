"""Finds plugins without importing them: development folders first, then installed entry points."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from memslot.errors import ManifestError
from memslot.plugins.info import Catalog, PluginInfo, unusable
from memslot.plugins.manifest import MANIFEST_NAME, describe, read_manifest
from memslot.plugins.ownership import refuse_link_out, refuse_unsafe_folder

GROUP = "memslot.plugins"
_MAX_PLUGINS_PER_FOLDER = 200


def discover(load_paths: Sequence[Path] = ()) -> Catalog:
    """List every plugin that can be found. The first of an id wins; later ones are marked as overridden."""
    watched: list[str] = []
    found: list[PluginInfo] = []
    for path in load_paths:
        found.extend(_in_folder(path, watched))
    found.extend(_installed(watched))
    first: dict[str, PluginInfo] = {}
    plugins: list[PluginInfo] = []
    for plugin in found:
        winner = first.setdefault(plugin.id, plugin)
        plugins.append(plugin if winner is plugin else replace(plugin, overridden_by=_whereabouts(winner)))
    return Catalog(tuple(plugins), tuple(watched))


def _whereabouts(plugin: PluginInfo) -> str:
    return plugin.distribution or plugin.root


def _installed(watched: list[str]) -> Iterator[PluginInfo]:
    entry_points = importlib.metadata.entry_points(group=GROUP)
    for point in sorted(entry_points, key=lambda p: (p.name, p.dist.name if p.dist else "")):
        yield _read_entry_point(point, watched)


def _read_entry_point(point: importlib.metadata.EntryPoint, watched: list[str]) -> PluginInfo:
    distribution = point.dist.name if point.dist else None
    place = {"entry": point.value, "origin": "installed", "distribution": distribution}
    try:
        folder = _package_folder(point.module)
        manifest_path = _nearest_manifest(folder, depth=point.module.count(".") + 1)
        watched.append(str(manifest_path))
        manifest = read_manifest(manifest_path)
        if manifest.id != point.name:
            problem = f"its manifest says id {manifest.id!r}, its entry point says {point.name!r}: they must be equal"
            raise ManifestError(problem)
        root = manifest_path.parent
        info = describe(manifest, entry=point.value, origin="installed", root=root, distribution=distribution)
        return info if info.version else replace(info, version=point.dist.version if point.dist else "")
    except ManifestError as error:
        return unusable(point.name, root="", problem=str(error), **place)  # type: ignore[arg-type]
    except Exception as error:  # a finder or a broken metadata file may raise anything
        problem = f"its entry point {point.value!r} cannot be read: {error}"
        return unusable(point.name, root="", problem=problem, **place)  # type: ignore[arg-type]


def _package_folder(module: str) -> Path:
    """The folder where a module's manifest is looked for; looking up the top-level name only imports nothing."""
    top, *rest = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None:
        raise ManifestError(f"its entry point names the module {module!r}, and there is no {top!r} to import")
    if not spec.submodule_search_locations:
        raise ManifestError(f"{top!r} is a single file; a plugin is a package with a {MANIFEST_NAME} inside")
    return Path(next(iter(spec.submodule_search_locations))).joinpath(*rest)


def _nearest_manifest(folder: Path, depth: int) -> Path:
    """The manifest in the entry module's folder, or in the nearest package above it."""
    candidate = folder
    for _ in range(depth):
        if (candidate / MANIFEST_NAME).is_file():
            return candidate / MANIFEST_NAME
        candidate = candidate.parent
    raise ManifestError(f"there is no {MANIFEST_NAME} in {folder}")


def _in_folder(path: Path, watched: list[str]) -> Iterator[PluginInfo]:
    """Plugins of one `plugins.load.paths` item: the folder itself, or packages directly inside it."""
    root = path.expanduser().absolute()
    watched.append(str(root))
    label = root.name.lower().replace("_", "-") or "folder"
    if not root.is_dir():
        yield _refused(label, root, f"plugins.load.paths names {root}, which is not a folder")
        return
    manifests = [root / MANIFEST_NAME] if (root / MANIFEST_NAME).exists() else _manifests_inside(root)
    if not manifests:
        yield _refused(
            label,
            root,
            f"plugins.load.paths names {root}, and no {MANIFEST_NAME} is in it or one level below",
        )
    for manifest_path in manifests:
        watched.append(str(manifest_path))
        yield _read_folder(root, manifest_path)


def _manifests_inside(root: Path) -> list[Path]:
    try:
        return sorted(root.glob(f"*/{MANIFEST_NAME}"))[:_MAX_PLUGINS_PER_FOLDER]
    except OSError:
        return []


def _read_folder(root: Path, manifest_path: Path) -> PluginInfo:
    package = manifest_path.parent
    label = package.name.lower().replace("_", "-")
    try:
        refuse_link_out(root, manifest_path)
        manifest = read_manifest(manifest_path)
    except ManifestError as error:
        return _refused(label, package, str(error))
    entry = manifest.entry or package.name
    info = describe(manifest, entry=entry, origin="folder", root=package, distribution=None)
    try:
        refuse_unsafe_folder(root, package)
        if entry.partition(":")[0].split(".")[0] != package.name:
            raise ManifestError(f"{manifest_path}: entry is {entry!r}, outside its package {package.name!r}")
    except ManifestError as error:
        return info.with_problem(str(error))
    return info


def _refused(plugin_id: str, root: Path, problem: str) -> PluginInfo:
    return unusable(plugin_id, entry="", origin="folder", root=str(root), distribution=None, problem=problem)
