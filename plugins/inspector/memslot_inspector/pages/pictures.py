"""Pictures of the memory: how it grew, a map of what it holds, and what is found often and never."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING

from memslot import CanList, CanMap, MemoryItem, one_line

from memslot_inspector import hit_count
from memslot_inspector.markup import Child, Markup, h, join
from memslot_inspector.pages.browse import memory_tabs
from memslot_inspector.pages.layout import empty, tabs
from memslot_inspector.projection import project
from memslot_inspector.visit import Page, Visit, address, item_address

if TYPE_CHECKING:
    from memslot import MemoryPoint

MOST_POINTS = 400
MOST_ITEMS = 20_000
COLOURS = 6
AGES = ((7, "this week"), (30, "this month"), (90, "three months"), (365, "this year"), (10**9, "older"))
_WIDTH, _HEIGHT, _EDGE = 720, 220, 28
_MAP = 720


def show(visit: Visit) -> Page:
    memory_id, memory = visit.memory()
    items = _all_items(visit, memory) if isinstance(memory, CanList) else []
    parts: list[Child] = [
        memory_tabs(visit.host, "/pictures", memory_id),
        _growth(items),
        _map(visit, memory_id, memory),
        _found(visit, memory_id, items),
    ]
    return Page("Pictures", join(parts))


def _all_items(visit: Visit, memory: CanList) -> list[MemoryItem]:
    items: list[MemoryItem] = []
    cursor = None
    while len(items) < MOST_ITEMS:
        page = memory.list_items(cursor=cursor, limit=1000, session=visit.session)
        items += page.items
        cursor = page.cursor
        if cursor is None:
            break
    return items


# Growth


def _moment(item: MemoryItem) -> datetime | None:
    """When an item was created, by its own details, else when it last changed."""
    day, created = item.details.get("day"), item.details.get("created")
    if isinstance(created, datetime):
        return created
    if isinstance(day, date):
        return datetime.combine(day, time(12), UTC)
    return item.changed_at


def _growth(items: Sequence[MemoryItem]) -> Markup:
    moments = sorted(found for item in items if (found := _moment(item)) is not None)
    head = h("h2", "Growth")
    if len(moments) < 2 or moments[0] == moments[-1]:
        return h("section", head, empty("Too little to draw yet."))
    first, span = moments[0].timestamp(), moments[-1].timestamp() - moments[0].timestamp()
    step = max(1, len(moments) // 300)
    places = [*range(0, len(moments), step), len(moments) - 1]
    points = [
        (
            _EDGE + (moments[each].timestamp() - first) / span * (_WIDTH - 2 * _EDGE),
            _HEIGHT - _EDGE - (each + 1) / len(moments) * (_HEIGHT - 2 * _EDGE),
        )
        for each in places
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    floor = _HEIGHT - _EDGE
    area = f"M{points[0][0]:.1f},{floor} L{line.replace(' ', ' L')} L{points[-1][0]:.1f},{floor} Z"
    label = f"From {moments[0]:%d %b %Y} to {moments[-1]:%d %b %Y}, to {len(moments):,} items"
    drawing = h(
        "svg",
        h("path", d=area, class_="area"),
        h("polyline", points=line, class_="stroke"),
        h("line", x1=_EDGE, y1=floor, x2=_WIDTH - _EDGE, y2=floor, class_="axis"),
        h("text", f"{moments[0]:%d %b %Y}", x=_EDGE, y=_HEIGHT - 8),
        h("text", f"{moments[-1]:%d %b %Y}", x=_WIDTH - _EDGE, y=_HEIGHT - 8, class_="end"),
        h("text", f"{len(moments):,} items", x=_WIDTH - _EDGE, y=_EDGE - 10, class_="end"),
        viewbox=f"0 0 {_WIDTH} {_HEIGHT}",
        class_="chart",
        role="img",
        aria_label=label,
    )
    return h("section", head, h("div", drawing, class_="card"))


# Map


def _map(visit: Visit, memory_id: str, memory: object) -> Markup:
    head = h("h2", "Map")
    if not isinstance(memory, CanMap):
        return h("section", head, empty(f"{memory_id} has no vectors to draw."))
    points = list(memory.points(limit=MOST_POINTS))
    if len(points) < 3:
        return h("section", head, empty("There are too few vectors to draw yet."))
    by = "age" if visit.get("by") == "age" else "source"
    views = [(f"by {each}", address("/pictures", memory=memory_id, by=each), each == by) for each in ("source", "age")]
    names = _names(points, by)
    kinds = list(dict.fromkeys(name for _, name in AGES if name in names) if by == "age" else dict.fromkeys(names))
    places = {name: min(place, COLOURS - 1) for place, name in enumerate(kinds)}
    dots = [
        h(
            "a",
            h(
                "circle",
                h("title", point.excerpt),
                cx=f"{20 + x * (_MAP - 40):.0f}",
                cy=f"{20 + y * (_MAP / 2 - 40):.0f}",
                r=5,
            ),
            href=item_address(memory_id, point.path, point.start_line),
            class_=f"c{places[name]}",
            tabindex="-1",
        )
        for point, name, (x, y) in zip(points, names, project([each.vector for each in points]), strict=True)
    ]
    label = f"{len(points)} pieces of memory; those close together are similar. The list below has the same links."
    drawing = h("svg", dots, viewbox=f"0 0 {_MAP} {_MAP // 2}", class_="map", role="group", aria_label=label)
    legend = [
        h(
            "li",
            h("svg", h("circle", cx=6, cy=6, r=5), viewbox="0 0 12 12", class_=f"key c{place}", aria_hidden="true"),
            name,
        )
        for name, place in places.items()
    ]
    rows = [
        h("li", h("a", point.path, href=item_address(memory_id, point.path, point.start_line)), " ", point.excerpt)
        for point in points
    ]
    return h(
        "section",
        head,
        tabs(views, "Colours"),
        h(
            "div",
            drawing,
            h("ul", legend, class_="legend"),
            h("p", "Point at a dot to read it; click to open it.", class_="quiet", id="point", aria_live="polite"),
            class_="card",
        ),
        h("details", h("summary", f"The {len(points)} pieces as a list"), h("ul", rows)),
    )


def _names(points: Sequence[MemoryPoint], by: str) -> list[str]:
    """The group of each point, which decides its colour."""
    if by == "source":
        return [point.source for point in points]
    now = datetime.now(UTC)
    days = [(now - point.changed_at).days if point.changed_at is not None else 10**8 for point in points]
    return [next(name for most, name in AGES if each <= most) for each in days]


# Found


def _found(visit: Visit, memory_id: str, items: Sequence[MemoryItem]) -> Markup:
    head = h("h2", "Found often and never")
    if not visit.host_setting("countHits"):
        link = h("a", "Turn the count on", href=address("/settings/plugin", id=visit.ctx.plugin_id))
        text = "Nothing is counted. If you turn it on, what agents' tools return is counted in a file on this machine. "
        return h("section", head, h("p", text, link, class_="empty"))
    known = {item.path: item.title for item in items}
    counts = Counter(
        {
            path: number
            for name, number in hit_count.read(hit_count.count_file(visit.ctx)).items()
            for of, _, path in [name.partition(":")]
            if of == memory_id and path in known
        }
    )
    often = [
        h("li", h("strong", f"{number} ×"), " ", h("a", one_line(known[path], 120), href=item_address(memory_id, path)))
        for path, number in counts.most_common(15)
    ]
    never = [
        h("li", h("a", one_line(title, 120), href=item_address(memory_id, path)))
        for path, title in known.items()
        if path not in counts
    ]
    return h(
        "section",
        head,
        h(
            "div",
            h(
                "div",
                h("h3", "Often"),
                h("ol", often, class_="plain") if often else empty("Nothing yet."),
                class_="card",
            ),
            h("div", h("h3", f"Never ({len(never)})"), h("ul", never[:50], class_="plain"), class_="card"),
            class_="grid",
        ),
    )
