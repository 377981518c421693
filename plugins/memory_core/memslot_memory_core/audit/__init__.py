"""The audit of notes: duplicates, secrets, stale entries, unreadable files. It never changes a file."""
