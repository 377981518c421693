"""Merging of config trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge trees into a new one: objects merge recursively, any other value replaces the earlier one."""
    result: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            old = result.get(key)
            if isinstance(old, dict) and isinstance(value, Mapping):
                result[key] = merged(old, value)
            else:
                result[key] = copied(value)
    return result


def copied(value: Any) -> Any:
    """Return a deep copy of a JSON-like value."""
    if isinstance(value, Mapping):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [copied(item) for item in value]
    return value
