"""What a score means.

LanceDB's distance for `l2` is the squared Euclidean one. For vectors of length 1 it is 2 - 2·cosine, so a score
of 1/(1 + distance) stands for one cosine: 0.95 for .974, 0.9 for .944, 0.7 for .786, 0.5 for .5, 0.3 for -.17.
"""

from __future__ import annotations

DUPLICATE = 0.95
"""From here on two texts say the same."""
SURE = 0.9
"""Above this a query means one memory and no other."""
FLOOR = 0.3
"""Below this nothing comes before a prompt unasked; the embedder's own noise usually sets a higher bar."""


def score_of(distance: float) -> float:
    """The score of LanceDB's `_distance`; rounding may make that a little less than 0."""
    return 1.0 / (1.0 + max(0.0, distance))


def cosine_of(score: float) -> float:
    """The cosine of two vectors of length 1 that get this score."""
    return 1.0 - (1.0 / score - 1.0) / 2.0


def score_of_cosine(cosine: float) -> float:
    """The score that two vectors of length 1 with this cosine get."""
    return score_of(2.0 - 2.0 * cosine)
