"""How a memory grew, as a curve."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from memslot_inspector.markup import Markup, h
from memslot_inspector.pages.layout import empty

if TYPE_CHECKING:
    from memslot import MemoryItem

MOST_STEPS = 90
"""Of the curve; each tells its number of items to who points at it."""
_WIDTH, _HEIGHT = 720, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 16, 34
_LINES = 4


def growth(items: Sequence[MemoryItem]) -> Markup:
    """The number of items over time."""
    moments = sorted(found for item in items if (found := _moment(item)) is not None)
    head = h("h2", "Growth")
    if len(moments) < 2 or moments[0] == moments[-1]:
        return h("section", head, empty("Too little to draw yet: a curve needs items of two moments."))
    return h("section", head, h("div", _curve(moments), class_="card"))


def _moment(item: MemoryItem) -> datetime | None:
    """When an item was created, by its own details, else when it last changed."""
    day, created = item.details.get("day"), item.details.get("created")
    found = created if isinstance(created, datetime) else item.changed_at
    if isinstance(day, date) and not isinstance(created, datetime):
        found = datetime.combine(day, time(12), UTC)
    return found.replace(tzinfo=UTC) if found is not None and found.tzinfo is None else found


def _curve(moments: Sequence[datetime]) -> Markup:
    first, last = moments[0], moments[-1]
    step = max((last - first) / MOST_STEPS, timedelta(hours=1))
    ends = [first + step * number for number in range(1, int((last - first) / step) + 1)]
    if not ends or ends[-1] < last:
        ends.append(last)
    heights = grid_lines(len(moments))
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def across(moment: datetime) -> float:
        return round(_LEFT + (moment - first) / (ends[-1] - first) * wide, 1)

    def up(count: int) -> float:
        return round(_TOP + high - count / heights[-1] * high, 1)

    path, bands, before, count = f"M{_LEFT},{up(0)}", [], first, 0
    for end in ends:
        while count < len(moments) and moments[count] <= end:
            count += 1
        path += f" V{up(count)} H{across(end)}"
        band = h("title", f"{end:%d %b %Y}: {count:,} items")
        bands.append(
            h("rect", band, x=across(before), y=_TOP, width=round(across(end) - across(before), 1), height=high)
        )
        before = end
    floor = up(0)
    lines = [
        (
            h("line", x1=_LEFT, y1=up(each), x2=_WIDTH - _RIGHT, y2=up(each), class_="axis"),
            h("text", f"{each:,}", x=_LEFT - 8, y=up(each) + 4, class_="end"),
        )
        for each in heights
    ]
    return h(
        "svg",
        lines,
        h("path", d=f"{path} V{floor} Z", class_="area"),
        h("path", d=path, class_="stroke"),
        h("text", f"{first:%d %b %Y}", x=_LEFT, y=_HEIGHT - 8),
        h("text", f"{last:%d %b %Y}", x=_WIDTH - _RIGHT, y=_HEIGHT - 8, class_="end"),
        h("g", bands, class_="bands"),
        viewbox=f"0 0 {_WIDTH} {_HEIGHT}",
        class_="chart",
        role="img",
        aria_label=f"From {first:%d %b %Y} to {last:%d %b %Y}, to {len(moments):,} items",
    )


def grid_lines(most: int) -> list[int]:
    """Round numbers from 0 to at least the most, few of them."""
    size = 1
    while True:
        for factor in (1, 2, 5):
            gap = factor * size
            if gap * _LINES >= most:
                return list(range(0, most + gap, gap)) if most % gap else list(range(0, most + 1, gap))
        size *= 10
