"""The index: what was read from disk, in SQLite."""
