"""Files on disk: atomic writes, inter-process locks, private folders.

Imports nothing of memslot but `memslot.errors`.
"""
