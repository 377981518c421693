"""Tests that a contract has only if a subclass overrides a certain method: otherwise left out, not skipped."""

from __future__ import annotations

from collections.abc import Iterable


def is_overridden(cls: type, contract: type, method: str) -> bool:
    """Whether a class, or one between it and the contract, overrides a method."""
    return getattr(cls, method) is not getattr(contract, method)


def keep_if_overridden(cls: type, contract: type, method: str, tests: Iterable[str]) -> None:
    """Show these tests to pytest only if the method is overridden."""
    wanted = is_overridden(cls, contract, method)
    for name in tests:
        if not wanted:
            setattr(cls, name, None)
        elif name not in vars(cls) and getattr(cls, name) is None:  # left out in a class between the two
            setattr(cls, name, getattr(contract, name))
