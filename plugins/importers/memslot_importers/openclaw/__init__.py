"""An OpenClaw home: its settings, and the notes and transcripts of its agents."""
