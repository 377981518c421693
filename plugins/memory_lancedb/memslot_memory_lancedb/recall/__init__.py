"""Recall: search, ranking, and the block before a prompt."""
