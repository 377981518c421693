"""Brings memories back: scores, the floor below which nothing is shown, and the block before a prompt."""
