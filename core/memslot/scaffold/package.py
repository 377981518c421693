"""Writes a new plugin package that is complete and passes its own tests."""

from __future__ import annotations

import string
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

from memslot import __version__
from memslot.errors import PluginError
from memslot.scaffold.names import names_for

Kind = Literal["embedder", "memory", "tool"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_SUFFIX = ".tmpl"
_PACKAGE = "package"
"""The template folder that is renamed to the package's name."""


def write_package(name: str, kind: Kind, folder: Path) -> list[Path]:
    """Write a package into a new or empty folder and return the files. Raises PluginError on failure."""
    names = names_for(name)
    if kind not in KINDS:
        raise PluginError(f'there is no template for "{kind}"; available kinds: {", ".join(KINDS)}')
    values = {
        "plugin_id": names.plugin_id,
        "distribution": names.distribution,
        "package": names.package,
        "identifier": names.identifier,
        "provider_id": names.provider_id,
        "title": names.title,
        "kind": kind,
        "core_version": ".".join(__version__.split(".")[:2]),
    }
    # Rendered before anything is written, so a template error leaves no partial package.
    files = {
        _place(path, names.package): string.Template(text).substitute(values) for path, text in _templates(kind).items()
    }
    _claim(folder)
    written = []
    try:
        for place, text in sorted(files.items()):
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
            written.append(target)
    except OSError as error:
        raise PluginError(f"{error.filename} cannot be written: {error.strerror}") from None
    return written


def _claim(folder: Path) -> None:
    """Create the folder, or verify that it is empty."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise PluginError(f"{folder} is not empty; name another folder with --dir")
    except OSError as error:
        raise PluginError(f"{folder} cannot be created: {error.strerror}") from None


def _templates(kind: Kind) -> dict[PurePosixPath, str]:
    """Return template texts by path; a kind's own templates override the shared ones."""
    root = resources.files("memslot.scaffold") / "templates"
    return {**_read(root / "shared"), **_read(root / kind)}


def _read(folder: Traversable, below: str = "") -> dict[PurePosixPath, str]:
    found: dict[PurePosixPath, str] = {}
    for item in folder.iterdir():
        if item.is_dir():
            found |= _read(item, f"{below}{item.name}/")
        elif item.name.endswith(_SUFFIX):
            found[PurePosixPath(below, item.name)] = item.read_text(encoding="utf-8")
    return found


def _place(path: PurePosixPath, package: str) -> PurePosixPath:
    """Return a template's output path: `package/plugin.py.tmpl` becomes `<package>/plugin.py`."""
    parts = [package if part == _PACKAGE else part for part in path.parts]
    return PurePosixPath(*parts).with_name(path.name.removesuffix(_SUFFIX))
