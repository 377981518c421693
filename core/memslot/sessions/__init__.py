"""Conversations on disk: a registry of session metadata, and one transcript per session."""
