"""Copies of data for plugins, so that their changes affect no one else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memslot.tools import ToolResult

_DEEPEST = 100


def own_copy(value: Any, depth: int = 0) -> Any:
    """Deep-copy JSON-like data; immutable values, and what is not data, are passed as they are."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {key: own_copy(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [own_copy(item, depth + 1) for item in value]
    if isinstance(value, tuple):
        return tuple(own_copy(item, depth + 1) for item in value)
    if isinstance(value, ToolResult):
        return replace(value, data=own_copy(value.data, depth + 1))
    return value
