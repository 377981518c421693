"""What all distributions share: the version, from `__version__` in `core/memslot/__init__.py`, and the licence."""

from __future__ import annotations

import re
from pathlib import Path

from memslot import __version__

_OWN = re.compile(r'^version = "[^"]*"$', re.MULTILINE)
_PIN = re.compile(r'(?P<name>"memslot-[a-z-]+(?:\[[a-z,-]+\])?)==[^"]+')


def render(root: Path) -> dict[Path, str]:
    """Each pyproject.toml with this version as its own and in its pins of the others, and a LICENSE beside it."""
    folders = [root, root / "core", *sorted(file.parent for file in root.glob("plugins/*/pyproject.toml"))]
    projects = [folder / "pyproject.toml" for folder in folders]
    files = {file: _with_version(file.read_text(encoding="utf-8")) for file in projects if file.exists()}
    if files:
        files |= {folder / "LICENSE": (root / "LICENSE").read_text(encoding="utf-8") for folder in folders}
    return files


def _with_version(text: str) -> str:
    return _PIN.sub(rf"\g<name>=={__version__}", _OWN.sub(f'version = "{__version__}"', text, count=1))
