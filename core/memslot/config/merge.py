"""Lay one config tree over another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """A new tree: objects merge key by key, anything else in a later layer replaces the earlier."""
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
    """A deep copy of a JSON-like value, so that no two trees share a part."""
    if isinstance(value, Mapping):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [copied(item) for item in value]
    return value
