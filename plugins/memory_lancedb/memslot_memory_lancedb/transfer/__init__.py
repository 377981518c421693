"""Memories in files, out and in again without loss."""
