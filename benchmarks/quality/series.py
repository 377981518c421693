"""Shares with their uncertainty: what each question gave, and what that says about all questions like them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

SEED, DRAWS = 7, 2000
Half = Literal["open", "kept", "both"]
HALVES: tuple[Half, ...] = ("open", "kept", "both")


class Item(NamedTuple):
    """What one question gave: `counted` of `of`, mostly 0 or 1 of 1."""

    id: str
    is_open: bool
    counted: float
    of: float = 1.0


class Estimate(NamedTuple):
    """A share over `n` questions with its 95 % bootstrap interval."""

    n: int
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """One measure on one set, question by question."""

    set: str
    measure: str
    items: Sequence[Item]

    @property
    def key(self) -> str:
        return f"{self.set} {self.measure}"

    def half(self, half: Half) -> list[Item]:
        return [item for item in self.items if half == "both" or item.is_open == (half == "open")]

    def estimate(self, half: Half = "both") -> Estimate | None:
        """The share over the questions of a half; None where there is nothing to divide by."""
        items = self.half(half)
        if not sum(item.of for item in items):
            return None
        value = sum(item.counted for item in items) / sum(item.of for item in items)
        low, high = _interval(_drawn_shares(items, _draws(len(items))))
        return Estimate(len(items), value, low, high)

    def to_json(self) -> dict[str, Any]:
        figures = {half: self.estimate(half) for half in HALVES}
        return {
            **{half: each and each._asdict() for half, each in figures.items()},
            "items": {item.id: [item.is_open, item.counted, item.of] for item in self.items},
        }

    @classmethod
    def from_json(cls, of_set: str, measure: str, tree: Mapping[str, Any]) -> Series:
        return cls(of_set, measure, [Item(key, *row) for key, row in tree["items"].items()])


def difference(one: Series, other: Series, half: Half = "both") -> Estimate | None:
    """By how much `one` is above `other` on the questions that both have, drawn in pairs."""
    there = {item.id: item for item in other.half(half)}
    pairs = [(item, there[item.id]) for item in one.half(half) if item.id in there]
    ours, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if not all(sum(item.of for item in items) for items in (ours, theirs)):
        return None
    value = sum(i.counted for i in ours) / sum(i.of for i in ours)
    value -= sum(i.counted for i in theirs) / sum(i.of for i in theirs)
    draws = _draws(len(pairs))
    low, high = _interval(_drawn_shares(ours, draws) - _drawn_shares(theirs, draws))
    return Estimate(len(pairs), value, low, high)


def _draws(n: int) -> Any:
    import numpy

    return numpy.random.default_rng(SEED).integers(0, n, size=(DRAWS, n))


def _drawn_shares(items: Sequence[Item], draws: Any) -> Any:
    import numpy

    counted, of = (numpy.asarray([getattr(item, name) for item in items], dtype=float) for name in ("counted", "of"))
    total = of[draws].sum(axis=1)
    return numpy.divide(counted[draws].sum(axis=1), total, out=numpy.full(DRAWS, numpy.nan), where=total > 0)


def _interval(shares: Any) -> tuple[float, float]:
    import numpy

    low, high = numpy.nanpercentile(shares, (2.5, 97.5))
    return float(low), float(high)
