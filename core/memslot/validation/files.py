"""Static checks: the plugin's manifest, entry point and files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memslot.errors import ManifestError
from memslot.plugins.discovery import GROUP
from memslot.plugins.manifest import Manifest, read_manifest
from memslot.validation.report import Report
from memslot.validation.target import Target


@dataclass(frozen=True)
class Loadable:
    """What a trial run needs: the entry (`package.module`) to load, and the plugin's kind."""

    entry: str
    kind: str


def check_files(target: Target) -> tuple[Report, Loadable | None]:
    """Check the files; return the report and what to load in a trial, or None if the manifest is broken."""
    report = Report(target.installed_id or target.folder.name, str(target.folder))
    try:
        manifest = read_manifest(target.manifest)
    except ManifestError as error:
        for fault in error.faults or [str(error)]:
            report.bad("manifest", fault)
        if target.project is not None and target.project.fault is not None:
            report.bad("entry-point", target.project.fault)
        _check_layout(report, target.folder)
        return report, None
    report.plugin_id = manifest.id
    report.good("manifest", f"{target.manifest.name} is valid: {manifest.kind} plugin {manifest.id}")
    entry = _check_entry_point(report, target, manifest)
    _check_layout(report, target.folder)
    return report, Loadable(entry, manifest.kind)


def _check_entry_point(report: Report, target: Target, manifest: Manifest) -> str:
    """Return the entry to load. For an installed plugin, the host has already read its entry point."""
    name = "entry-point"
    default = manifest.entry or ".".join(_package_path(target.folder))
    if target.project is None:
        return default
    if target.project.fault is not None:
        report.bad(name, target.project.fault)
        return default
    points = target.project.entry_points
    if manifest.id not in points:
        others = f"; it names {', '.join(sorted(points))}" if points else ""
        line = f'{manifest.id} = "{default}"'
        report.bad(name, f'pyproject.toml has no {line} under [project.entry-points."{GROUP}"]{others}')
        return default
    entry = points[manifest.id]
    if manifest.entry is not None and manifest.entry != entry:
        report.bad(name, f"pyproject.toml says {entry}, the manifest's entry says {manifest.entry}; they must match")
    elif not _is_below(entry, target.folder):
        report.bad(name, f"the entry point {entry} is not in {target.folder}, the folder of its manifest")
    else:
        report.good(name, f"the entry point {manifest.id} = {entry} has the manifest's id")
    return entry


def _is_below(entry: str, folder: Path) -> bool:
    """Whether an entry's module is in the package that contains the manifest, where the host looks for it."""
    package = _package_path(folder)
    return entry.partition(":")[0].split(".")[: len(package)] == package


def _package_path(folder: Path) -> list[str]:
    """Return the package path: `src/shop/part` is `shop.part` if both have an `__init__.py`."""
    names = [folder.name]
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
        names.insert(0, folder.name)
    return names


def import_root(folder: Path) -> Path:
    """Return the folder that must be on `sys.path` to import the package."""
    return folder.parents[len(_package_path(folder)) - 1]


def _check_layout(report: Report, folder: Path) -> None:
    if (folder / "__init__.py").is_file():
        report.good("layout", f"{folder.name} is a package")
    else:
        report.bad("layout", f"there is no __init__.py next to the manifest in {folder}")
    top = import_root(folder) / _package_path(folder)[0]
    if (top / "py.typed").is_file():
        report.good("py.typed", "py.typed is present")
    else:
        report.note("py.typed", f"there is no py.typed in {top}; add an empty one so type checkers see your types")
