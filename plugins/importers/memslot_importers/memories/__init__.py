"""Memories of other programs, imported as notes of ours."""
