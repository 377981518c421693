"""Lossless export and import of memories."""
