"""Copies the Markdown of this repository, and what it links to, to where mkdocs builds the site from."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WANTED = (
    "*.md",
    "docs/*.md",
    "docs/images/*.svg",
    "docs/images/*.png",
    "core/README.md",
    "plugins/*/README.md",
    "benchmarks/**/*.md",
    "examples/*/README.md",
    "examples/*.py",
    "plugin-schema/*.json",
    "LICENSE",
)
_FENCE = re.compile(r"^( *```\w+) [^\n`]+$", re.MULTILINE)
"""Words after a fence's language are for the tests; Markdown in Python does not take them for a fence."""


def copy_pages(target: Path) -> list[Path]:
    """Fill a new folder with the pages, in the layout of the repository; returns them."""
    shutil.rmtree(target, ignore_errors=True)
    pages = []
    for file in sorted({file for pattern in WANTED for file in ROOT.glob(pattern)}):
        copy = target / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            copy.write_text(_FENCE.sub(r"\1", file.read_text(encoding="utf-8")), encoding="utf-8")
            pages.append(copy)
        else:
            shutil.copyfile(file, copy)
    return pages


if __name__ == "__main__":
    copy_pages(Path(sys.argv[1]))
