"""Filters on items and match conditions on namespaces."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.store.base import MatchCondition

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def fits(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value matches a filter."""
    return all(_agrees(value.get(name), each) for name, each in (wanted or {}).items())


def _agrees(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(found, name, limit) for name, limit in wanted.items())
        return isinstance(found, Mapping) and all(_agrees(found.get(name), each) for name, each in wanted.items())
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(wanted)
            and all(_agrees(one, other) for one, other in zip(found, wanted, strict=True))
        )
    return bool(found == wanted)


def _compares(found: Any, name: str, limit: Any) -> bool:
    if name == "$eq":
        return bool(found == limit)
    if name == "$ne":
        return bool(found != limit)
    order = _ORDERS.get(name)
    if order is None:
        raise ValueError(f"the filter's operator {name!r} is unknown; use $eq, $ne, {', '.join(_ORDERS)}")
    try:
        return order(float(found), float(limit))
    except (TypeError, ValueError):
        return False  # only numbers can be compared by size


def matches(namespace: Sequence[str], condition: MatchCondition) -> bool:
    """Whether a namespace begins or ends as the condition demands; `*` stands for any label."""
    path = condition.path
    if len(namespace) < len(path):
        return False
    if condition.match_type == "prefix":
        part = namespace[: len(path)]
    elif condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :]
    else:
        raise ValueError(f"namespaces are matched by prefix or suffix, not by {condition.match_type!r}")
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
