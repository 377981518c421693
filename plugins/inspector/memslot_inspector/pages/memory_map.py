"""A map of a memory: its pieces as dots, what is alike near each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memslot import CanMap, one_line

from memslot_inspector.markup import Markup, h
from memslot_inspector.pages.layout import empty, short_path, tabs
from memslot_inspector.projection import name_regions, project
from memslot_inspector.visit import Visit, address, item_address

if TYPE_CHECKING:
    from memslot import MemoryPoint

MOST_POINTS = 400
COLOURS = 6
AGES = ((7, "this week"), (30, "this month"), (90, "three months"), (365, "this year"), (10**9, "older"))
MOST_NAMED = 30
"""Up to so many dots have their text beside them; of more, regions are named."""
_WIDTH, _HEIGHT, _EDGE = 720, 400, 28
_NAME_CHARS, _CHAR_WIDTH, _LINE_HEIGHT = 26, 6.2, 15
_PHONE = 2
"""How much wider and higher the names of regions are there, so that they can be read; see the style sheet."""
Box = tuple[float, float, float, float]


def memory_map(visit: Visit, memory_id: str, memory: object) -> Markup:
    head = h("h2", "Map")
    if not isinstance(memory, CanMap):
        return h("section", head, empty(f"{memory_id} has no vectors to draw."))
    points = list(memory.points(limit=MOST_POINTS))
    if len(points) < 3:
        return h("section", head, empty("There are too few vectors to draw yet."))
    by = "age" if visit.get("by") == "age" else "source"
    views = [(f"by {each}", address("/pictures", memory=memory_id, by=each), each == by) for each in ("source", "age")]
    rows = [
        h("li", _link(memory_id, point, short_path(point.path)), " ", h("span", point.excerpt, class_="quiet"))
        for point in points
    ]
    return h(
        "section",
        head,
        tabs(views, "Colours"),
        h("div", _drawing(memory_id, points, _groups(points, by), by), class_="card"),
        h("details", h("summary", f"The {len(points)} pieces as a list"), h("ul", rows, class_="pieces")),
    )


def _drawing(memory_id: str, points: Sequence[MemoryPoint], groups: Sequence[str], by: str) -> Iterator[Markup]:
    counts = Counter(groups)
    known = [name for _, name in AGES] if by == "age" else [name for name, _ in counts.most_common()]
    ordered = [name for name in known if name in counts]
    colours = {name: min(place, COLOURS - 1) for place, name in enumerate(ordered)}
    flat = project([each.vector for each in points])
    places = [(_EDGE + x * (_WIDTH - 2 * _EDGE), _EDGE + y * (_HEIGHT - 2 * _EDGE)) for x, y in flat]
    radius = 7 if len(points) <= MOST_NAMED else 5 if len(points) <= 150 else 4
    dots = [
        h(
            "a",
            h("circle", h("title", point.excerpt), cx=f"{x:.0f}", cy=f"{y:.0f}", r=radius),
            href=item_address(memory_id, point.path, point.start_line),
            class_=f"c{colours[group]}",
            tabindex="-1",
        )
        for point, group, (x, y) in zip(points, groups, places, strict=True)
    ]
    if len(points) <= MOST_NAMED:
        covered = [(x - radius, y - radius, x + radius, y + radius) for x, y in places]
        above = [
            (x, y - radius - 5, one_line(each.excerpt, _NAME_CHARS))
            for each, (x, y) in zip(points, places, strict=True)
        ]
        names = h("g", _names(above, covered), class_="names", aria_hidden="true")
    else:
        regions = name_regions(places, [each.excerpt for each in points])
        names = h("g", _names(regions, scale=_PHONE), class_="names regions", aria_hidden="true")
    label = f"{len(points)} pieces of memory; those close together are similar. The list below has the same links."
    yield h("svg", dots, names, viewbox=f"0 0 {_WIDTH} {_HEIGHT}", class_="map", role="group", aria_label=label)
    yield h("ul", [_key(name, colours[name], counts[name]) for name in ordered], class_="legend")
    yield h(
        "p",
        "Dots that are close together are similar. Point at a dot to read it; click to open it.",
        class_="quiet",
        id="point",
        aria_live="polite",
    )


def _link(memory_id: str, point: MemoryPoint, text: str) -> Markup:
    return h("a", text, href=item_address(memory_id, point.path, point.start_line), title=point.path)


def _key(name: str, colour: int, count: int) -> Markup:
    dot = h("svg", h("circle", cx=6, cy=6, r=5), viewbox="0 0 12 12", class_=f"key c{colour}", aria_hidden="true")
    return h("li", dot, name, h("span", f"{count:,}", class_="quiet number"))


def _names(
    texts: Sequence[tuple[float, float, str]], covered: Sequence[Box] = (), scale: float = 1
) -> Iterator[Markup]:
    """The texts that fit without covering an earlier one, or a place that must stay free."""
    taken = list(covered)
    for x, y, text in texts:
        half, high = len(text) * _CHAR_WIDTH * scale / 2, _LINE_HEIGHT * scale
        x, y = min(max(x, half + 4), _WIDTH - half - 4), max(y, high)
        box = (x - half, y - high, x + half, y + 2)
        if text and not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
            taken.append(box)
            yield h("text", text, x=f"{x:.0f}", y=f"{y:.0f}")


def _groups(points: Sequence[MemoryPoint], by: str) -> list[str]:
    """The group of each point, which decides its colour."""
    if by == "source":
        return [point.source for point in points]
    now = datetime.now(UTC)
    days = [(now - point.changed_at).days if point.changed_at is not None else 10**8 for point in points]
    return [next(name for most, name in AGES if each <= most) for each in days]
