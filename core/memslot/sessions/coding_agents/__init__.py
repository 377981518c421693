"""Transcripts of coding agents: one module for each program's format.

They are here, not in a plugin, because two need them: the importers, and the hooks that capture a turn as it ends.
"""
