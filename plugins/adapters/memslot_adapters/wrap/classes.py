"""Subclasses of an SDK's classes, created at run time."""

from __future__ import annotations

from typing import Any

_made: dict[tuple[type, type], Any] = {}


def subclass(base: type, mixin: type) -> Any:
    """Return a subclass that looks like the SDK's class, with a mixin's methods first; created once."""
    if (base, mixin) not in _made:
        names = {"__module__": base.__module__, "__qualname__": base.__qualname__, "__doc__": base.__doc__}
        _made[base, mixin] = type(base.__name__, (mixin, base), names)
    return _made[base, mixin]


def twin_of(thing: Any, kind: Any) -> Any:
    """Return an object of another class with the same attributes."""
    twin = object.__new__(kind)
    vars(twin).update(vars(thing))
    return twin
