"""Files on disk: the atomic writer, locks between processes, private folders.

Imports nothing of memslot but `memslot.errors`.
"""
