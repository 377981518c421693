"""Takes over what other programs keep: their notes, their transcripts and the settings that mean the same here."""
