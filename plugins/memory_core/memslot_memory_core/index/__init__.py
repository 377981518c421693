"""The SQLite index of notes and transcripts."""
