"""Export and import of notes and transcripts, byte for byte."""
