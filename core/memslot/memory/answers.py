"""Validates what a memory returned: copied and checked in the memory's own thread, because its code is untrusted."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memslot.memory.capabilities import MemoryReceipt
from memslot.memory.contract import MemoryHit, MemorySearchOutcome, MemoryStatus
from memslot.plugins.hooks import UnusableResult

MAX_HITS = 200
"""Hits taken from one search; no caller asks for more."""


def read_outcome(value: Any) -> MemorySearchOutcome:
    if not isinstance(value, MemorySearchOutcome):
        raise UnusableResult(f"returned {type(value).__name__} instead of MemorySearchOutcome")
    if isinstance(value.hits, str) or not isinstance(value.hits, Sequence):
        raise UnusableResult(f"returned {type(value.hits).__name__} instead of a list of MemoryHit")
    return replace(value, hits=[_read_hit(each) for each in itertools.islice(value.hits, MAX_HITS)])


def _read_hit(hit: Any) -> MemoryHit:
    if not isinstance(hit, MemoryHit):
        raise UnusableResult(f"returned {type(hit).__name__} instead of MemoryHit")
    if not isinstance(hit.path, str) or not isinstance(hit.snippet, str):
        raise UnusableResult("returned a MemoryHit whose path or snippet is not text")
    if not is_score(hit.score):
        raise UnusableResult(f"returned a MemoryHit whose score is {hit.score!r}, not a number from 0 to 1")
    return hit


def is_score(value: Any) -> bool:
    """Whether a value is a score: a number from 0 to 1."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and 0 <= value <= 1


def read_status(value: Any) -> MemoryStatus:
    if not isinstance(value, MemoryStatus):
        raise UnusableResult(f"returned {type(value).__name__}, not a MemoryStatus")
    return value


def read_receipt(value: Any) -> MemoryReceipt:
    if not isinstance(value, MemoryReceipt) or not isinstance(value.path, str):
        raise UnusableResult(f"returned {type(value).__name__}, not a MemoryReceipt with a path")
    return value


def read_forgotten(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UnusableResult(f"returned {type(value).__name__}, not whether there was such an item")
    return value
