"""Which vector engine an index uses, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from memslot_memory_core.index.vectors.engine import DIMS, VectorEngine, VectorTable

if TYPE_CHECKING:
    EngineName = Literal["sqlite-vec", "vec1", "numpy"]
    Wanted = Literal["auto", "sqlite-vec", "vec1", "numpy"]

LARGE = 2_000_000
"""Rows times dimensions from which vec1 is preferred; sqlite-vec takes about 4 ms for so many."""


@dataclass(frozen=True)
class Choice:
    """An engine's name, and the reason for it, as shown in the status."""

    name: EngineName
    reason: str


def choose_engine(
    wanted: Wanted, *, rows: int, dims: int, loads: Callable[[str], str | None], current: str | None = None
) -> Choice:
    """The engine for so many vectors. `loads` returns why an engine is unavailable, or None.

    `current` is the existing table's engine: a shrinking table keeps it until half the threshold, so that an index near
    the threshold is not rewritten repeatedly.
    """
    if wanted == "numpy":
        return Choice("numpy", "set in the config")
    if wanted != "auto":
        lack = _lack(wanted, dims, loads)
        if lack is None:
            return Choice(wanted, "set in the config")
        return Choice("numpy", f"{wanted} is configured but not available: {lack}")
    border = f"{LARGE // dims:,} vectors of {dims:,} dimensions"
    large = rows * dims >= (LARGE // 2 if current == "vec1" else LARGE)
    first, second = _order(large)
    lack = _lack(first, dims, loads)
    if lack is None:
        return Choice(first, f"the fastest above {border}" if large else f"the default up to {border}")
    other_lack = _lack(second, dims, loads)
    if other_lack is None:
        return Choice(second, f"{first} is not available: {lack}")
    return Choice("numpy", f"no extension is available; {first}: {lack}; {second}: {other_lack}")


def make_engine(name: str, table: VectorTable) -> VectorEngine:
    """The engine of that name, for that table."""
    if name == "sqlite-vec":
        from memslot_memory_core.index.vectors.vec0 import SqliteVecEngine

        return SqliteVecEngine(table)
    if name == "vec1":
        from memslot_memory_core.index.vectors.vec1 import Vec1Engine

        return Vec1Engine(table)
    if name == "numpy":
        from memslot_memory_core.index.vectors.numpy_engine import NumpyEngine

        return NumpyEngine(table)
    raise ValueError(f"unknown vector engine {name!r}")


def _order(large: bool) -> tuple[EngineName, EngineName]:
    return ("vec1", "sqlite-vec") if large else ("sqlite-vec", "vec1")


def _lack(name: str, dims: int, loads: Callable[[str], str | None]) -> str | None:
    if dims not in DIMS[name]:
        return f"it supports {DIMS[name][0]} to {DIMS[name][-1]:,} dimensions, not {dims:,}"
    return loads(name)
