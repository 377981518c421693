"""The version of every distribution, from `__version__` in `core/memslot/__init__.py`."""

from __future__ import annotations

import re
from pathlib import Path

from memslot import __version__

_OWN = re.compile(r'^version = "[^"]*"$', re.MULTILINE)
_PIN = re.compile(r"(?P<name>\"memslot-[a-z-]+(?:\[[a-z,-]+\])?)==[^\"]+")


def render(root: Path) -> dict[Path, str]:
    """Each pyproject.toml of the project, with this version as its own and in its pins of the others."""
    files = [root / "pyproject.toml", *sorted(root.glob("plugins/*/pyproject.toml"))]
    return {file: _with_version(file.read_text(encoding="utf-8")) for file in files if file.exists()}


def _with_version(text: str) -> str:
    return _PIN.sub(rf"\g<name>=={__version__}", _OWN.sub(f'version = "{__version__}"', text, count=1))
