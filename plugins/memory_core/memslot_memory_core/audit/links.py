"""Names the links that indexing passes over: the index itself only counts them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from memslot_memory_core.sources.files import SKIPPED_FOLDERS, leads_elsewhere
from memslot_memory_core.sources.globs import States
from memslot_memory_core.sources.roots import ExtraPathLike, Root, find_roots


def find_links(workspace: Path, extra_paths: Sequence[str | ExtraPathLike]) -> list[str]:
    """Paths of links to Markdown files and to folders, where a real one would have been indexed."""
    found: dict[str, None] = {}
    for root in find_roots(workspace, extra_paths).roots:
        if root.only is None:
            _walk(root, root.folder, root.shown, root.glob.begin() if root.glob else None, found)
    return list(found)


def _walk(root: Root, folder: str, shown: str, states: States | None, found: dict[str, None]) -> None:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return  # told by those who look for files
    for entry in entries:
        reached = root.glob.after(states, entry.name) if root.glob and states is not None else None
        if entry.name in SKIPPED_FOLDERS or (root.glob and not reached):
            continue
        if leads_elsewhere(entry):
            if entry.name.lower().endswith(root.suffixes) or entry.is_dir():
                found.setdefault(shown + entry.name)
        elif entry.is_dir(follow_symlinks=False):
            _walk(root, entry.path, f"{shown}{entry.name}/", reached, found)
