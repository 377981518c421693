"""Validates what a memory returned: copied and checked in the memory's own thread, because its code is untrusted."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memslot.memory.capabilities import MemoryReceipt
from memslot.memory.contract import MemoryHit, MemorySearchOutcome, MemoryStatus
from memslot.plugins.hooks import UnusableResult
from memslot.redaction.redact import redact

MAX_HITS = 200
"""Hits taken from one search; no caller asks for more."""
MAX_SNIPPET_CHARS = 20_000
_LARGEST = 2**63
_DEEPEST = 20


def read_outcome(value: Any) -> MemorySearchOutcome:
    """The outcome, secrets in its snippets redacted."""
    if not isinstance(value, MemorySearchOutcome):
        raise UnusableResult(f"returned {type(value).__name__} instead of MemorySearchOutcome")
    if isinstance(value.hits, str) or not isinstance(value.hits, Sequence):
        raise UnusableResult(f"returned {type(value.hits).__name__} instead of a list of MemoryHit")
    _check(value, str, "mode")
    _check(value, str | None, "provider", "model", "warning", "action", "fallback", "stale")
    _check(value, Mapping | None, "explanation")
    dropped = (value.explanation or {}).get("dropped", ())
    if not isinstance(dropped, Sequence) or not all(isinstance(each, Mapping) for each in dropped):
        raise UnusableResult("returned an explanation whose `dropped` is not a list of mappings")
    hits = [_read_hit(each) for each in itertools.islice(value.hits, MAX_HITS)]
    return replace(value, hits=hits, weak=bool(value.weak), explanation=_plain(value.explanation))


def _read_hit(hit: Any) -> MemoryHit:
    if not isinstance(hit, MemoryHit):
        raise UnusableResult(f"returned {type(hit).__name__} instead of MemoryHit")
    _check(hit, str, "path", "snippet", "source")
    _check(hit, numbers.Integral | None, "start_line", "end_line")
    _check(hit, Mapping | None, "explanation")
    if not is_score(hit.score):
        raise UnusableResult(f"returned a MemoryHit whose score is {hit.score!r}, not a number from 0 to 1")
    first, last = (None if line is None else int(line) for line in (hit.start_line, hit.end_line))
    if not all(line is None or 1 <= line < _LARGEST for line in (first, last)):
        raise UnusableResult("returned a MemoryHit whose lines do not count from 1")
    checked: MemoryHit = replace(hit, start_line=first, end_line=last, score=float(hit.score))
    snippet = redact(checked.snippet)[:MAX_SNIPPET_CHARS]
    return replace(checked, snippet=snippet, explanation=_plain(checked.explanation))


def is_score(value: Any) -> bool:
    """Whether a value is a score: a number from 0 to 1."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and 0 <= value <= 1


def read_status(value: Any) -> MemoryStatus:
    if not isinstance(value, MemoryStatus):
        raise UnusableResult(f"returned {type(value).__name__}, not a MemoryStatus")
    _check(value, str, "backend")
    if not all(isinstance(each, str) for each in value.problems):
        raise UnusableResult("returned a MemoryStatus whose problems are not text")
    if not all(isinstance(count, numbers.Integral) and abs(int(count)) < _LARGEST for count in value.counts.values()):
        raise UnusableResult("returned a MemoryStatus whose counts are not whole numbers")
    counts = {str(name): int(count) for name, count in value.counts.items()}
    return replace(value, counts=counts, details=_plain(value.details))


def read_receipt(value: Any) -> MemoryReceipt:
    if not isinstance(value, MemoryReceipt) or not isinstance(value.path, str):
        raise UnusableResult(f"returned {type(value).__name__}, not a MemoryReceipt with a path")
    _check(value, str | None, "warning")
    return replace(value, is_new=bool(value.is_new))


def read_forgotten(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UnusableResult(f"returned {type(value).__name__}, not whether there was such an item")
    return value


def _plain(value: Any, depth: int = 0) -> Any:
    """A copy of what JSON can hold, cut below a depth that nothing reads; other values as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()} if depth < _DEEPEST else {}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value] if depth < _DEEPEST else []
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return whole if abs(whole := int(value)) < _LARGEST else None
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool) else str(value)


def _check(value: Any, kind: Any, *names: str) -> None:
    """Raise UnusableResult where one of these fields is of another type."""
    for name in names:
        if not isinstance(found := getattr(value, name), kind):
            raise UnusableResult(
                f"returned a {type(value).__name__} whose {name} is {type(found).__name__}, not {_expected(kind)}"
            )


def _expected(kind: Any) -> str:
    names = {"str": "text", "Integral": "a whole number", "Mapping": "a mapping"}
    kinds = getattr(kind, "__args__", (kind,))
    return " or ".join(names.get(each.__name__, "None") for each in kinds)
