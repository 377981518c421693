"""Conversations on disk: a registry of what is known about each, and a transcript of what was said in it."""
