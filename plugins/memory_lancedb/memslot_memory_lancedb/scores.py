"""Scores and their thresholds.

LanceDB's distance for `l2` is the squared Euclidean one. For vectors of length 1 it is 2 - 2·cosine, so a score of 1/(1
+ distance) corresponds to a cosine: 0.95 for .974, 0.9 for .944, 0.7 for .786, 0.5 for .5, 0.3 for -.17.
"""

from __future__ import annotations

DUPLICATE = 0.95
"""Minimum score of duplicates."""
SURE = 0.9
"""Minimum score for an unambiguous match."""
FLOOR = 0.3
"""Minimum score for auto-recall; the embedder's noise usually sets a higher bar."""


def score_of(distance: float) -> float:
    """The score of LanceDB's `_distance`, which rounding may make slightly negative."""
    return 1.0 / (1.0 + max(0.0, distance))
