""" "Did you mean" suggestions."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(written: str, known: Iterable[str]) -> str | None:
    """Return the closest known name, ignoring case, dashes and underscores."""
    import difflib

    folded = {_fold(name): name for name in known}
    near = difflib.get_close_matches(_fold(written[:100]), folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else None


def _fold(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
