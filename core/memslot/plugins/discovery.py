"""Finds plugins without importing them: development folders first, then installed entry points."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from memslot.errors import ManifestError
from memslot.plugins.fingerprints import Fingerprint, fingerprint
from memslot.plugins.info import Catalog, PluginInfo, unusable
from memslot.plugins.manifest import MANIFEST_NAME, describe, read_manifest
from memslot.plugins.ownership import refuse_link_out, refuse_unsafe_folder

GROUP = "memslot.plugins"
_MAX_PLUGINS_PER_FOLDER = 200
logger = logging.getLogger("memslot.plugins")


class Watched:
    """The paths that were read, with fingerprints from before, so that a change meanwhile counts as a change."""

    def __init__(self) -> None:
        self.prints: dict[str, Fingerprint] = {}

    def add(self, path: Path) -> Path:
        self.prints.setdefault(str(path), fingerprint(str(path)))
        return path


def discover(load_paths: Sequence[Path] = ()) -> Catalog:
    """List every plugin that can be found. The first of an id wins; later ones are marked as overridden."""
    watched = Watched()
    found: list[PluginInfo] = []
    for path in load_paths:
        found.extend(_in_folder(path, watched))
    found.extend(_installed(watched))
    first: dict[str, PluginInfo] = {}
    plugins: list[PluginInfo] = []
    for plugin in found:
        winner = first.setdefault(plugin.id, plugin)
        plugins.append(plugin if winner is plugin else replace(plugin, overridden_by=_whereabouts(winner)))
    return Catalog(tuple(plugins), watched.prints)


def _whereabouts(plugin: PluginInfo) -> str:
    return plugin.distribution or plugin.root


def _installed(watched: Watched) -> Iterator[PluginInfo]:
    points: list[importlib.metadata.EntryPoint] = []
    for distribution in importlib.metadata.distributions():
        try:
            points.extend(distribution.entry_points.select(group=GROUP))
        except Exception as error:  # another distribution's broken metadata must not affect our plugins
            logger.debug("entry points of %s cannot be read: %s", distribution, error)
    seen: set[tuple[str, str, str]] = set()
    for point in sorted(points, key=lambda p: (p.name, p.dist.name if p.dist else "")):
        # A distribution can be found twice, through two entries of sys.path.
        identity = (point.name, point.value, point.dist.name if point.dist else "")
        if identity not in seen:
            seen.add(identity)
            yield _read_entry_point(point, watched)


def _read_entry_point(point: importlib.metadata.EntryPoint, watched: Watched) -> PluginInfo:
    distribution = point.dist.name if point.dist else None
    place = {"entry": point.value, "origin": "installed", "distribution": distribution}
    try:
        folder = _package_folder(point.module)
        manifest_path = _nearest_manifest(folder, point.module.count(".") + 1, watched)
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


def _nearest_manifest(folder: Path, depth: int, watched: Watched) -> Path:
    """The manifest in the entry module's folder, or in the nearest package above it."""
    candidates = [parent / MANIFEST_NAME for parent in [folder, *folder.parents][:depth]]
    for candidate in candidates:
        if watched.add(candidate).is_file():
            return candidate
    raise ManifestError(f"there is no {MANIFEST_NAME} in {folder}")


def _in_folder(path: Path, watched: Watched) -> list[PluginInfo]:
    """Plugins of one `plugins.load.paths` item: the folder itself, or packages directly inside it."""
    label = path.name.lower().replace("_", "-") or "folder"
    try:
        return _look_into(path, label, watched)
    except (OSError, RuntimeError, ValueError) as error:  # a name too long, a loop of links, no permission
        return [_refused(label, path, f"plugins.load.paths names {path}, which cannot be read: {error}")]


def _look_into(root: Path, label: str, watched: Watched) -> list[PluginInfo]:
    watched.add(root)
    if not root.is_dir():
        return [_refused(label, root, f"plugins.load.paths names {root}, which is not a folder")]
    if watched.add(root / MANIFEST_NAME).exists():
        return [_read_folder(root, root / MANIFEST_NAME)]
    inside = sorted(folder for folder in root.iterdir() if folder.is_dir())[:_MAX_PLUGINS_PER_FOLDER]
    manifests = [watched.add(folder / MANIFEST_NAME) for folder in inside]
    plugins = [_read_folder(root, manifest) for manifest in manifests if manifest.exists()]
    if not plugins:
        problem = f"plugins.load.paths names {root}, and no {MANIFEST_NAME} is in it or one level below"
        return [_refused(label, root, problem)]
    return plugins


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
    except (ManifestError, OSError, RuntimeError) as error:
        return info.with_problem(str(error))
    return info


def _refused(plugin_id: str, root: Path, problem: str) -> PluginInfo:
    return unusable(plugin_id, entry="", origin="folder", root=str(root), distribution=None, problem=problem)
