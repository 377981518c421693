"""Capture rules: whether a user's message is worth keeping. Pure functions over one text, no store, no model."""
