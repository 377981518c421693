"""Looks over the notes for what should not stay as it is; it reads, and never changes a file."""
