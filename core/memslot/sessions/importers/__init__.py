"""Readers of other programs' conversations, one module for each program."""
