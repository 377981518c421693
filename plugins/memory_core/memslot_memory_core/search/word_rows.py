"""The vector of a single word in a few bytes, and from where on two words are alike."""

from __future__ import annotations

DIMS = 96
"""Longer vectors are cut: models that give vectors of words are made so that the first numbers say nearly all, and
comparing words is what a search spends most of its time on."""
STEPS = 127.0
"""Each number of a vector is kept in one byte, so a cosine may be off by a hundredth; all words of a large index fit,
which means that a search asks the embedder for next to none."""
LEAST_COSINE = 0.5
"""Below this two words have nothing to do with each other."""
