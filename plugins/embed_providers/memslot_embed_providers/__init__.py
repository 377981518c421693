"""Embedding providers, one plugin each, so that each can be denied or replaced."""
