"""The result of a memory tool command."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MemoryAnswer:
    """The text for the model, and whether to mark the tool's result as an error."""

    text: str
    is_error: bool = False


class Refused(Exception):
    """A command was refused; the message is for the model."""
