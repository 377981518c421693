"""Moves notes and transcripts out of a memory and into another one, byte for byte."""
