"""Puts texts into requests: as many in each as fit, in their order, whichever files they came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def batches(sizes: Sequence[int], *, max_tokens: int, max_items: int) -> Iterator[range]:
    """Neighbouring numbers that go together; what is too large by itself goes alone."""
    start, tokens = 0, 0
    for number, size in enumerate(sizes):
        if number > start and (tokens + size > max_tokens or number - start >= max_items):
            yield range(start, number)
            start, tokens = number, 0
        tokens += size
    if start < len(sizes):
        yield range(start, len(sizes))
