"""Everything that is remembered: as a list, a time line or a table."""

# mypy: disable-error-code="type-abstract"

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from memslot import (
    CanForget,
    CanList,
    CanRemember,
    CanUndo,
    list_all,
    one_line,
)

from memslot_inspector.markup import NOTHING, Child, Markup, h, join
from memslot_inspector.pages.layout import ago, badge, bar, empty, no_memory, size, tabs
from memslot_inspector.visit import Page, Redirect, Visit, address, item_address

if TYPE_CHECKING:
    from memslot import Host, MemoryItem

PAGE_SIZE = 200
MOST_ITEMS = 20_000
_TITLE_CHARS = 240
_NOTHING_YET = empty("Nothing is remembered yet.")


def show(visit: Visit) -> Page:
    if not len(visit.host.memories):
        return Page("Browse", no_memory(visit.host))
    memory_id, memory = visit.memory()
    parts: list[Child] = [memory_tabs(visit.host, "/browse", memory_id)]
    if isinstance(memory, CanRemember):
        parts.append(_remember_form(visit, memory_id))
    history = NOTHING
    if isinstance(memory, CanUndo):
        history = h("a", "History", href=address("/browse/history", memory=memory_id), class_="button")
    if not isinstance(memory, CanList):
        parts.append(h("p", history, class_="row end"))
        return Page("Browse", join([*parts, empty(f"{memory_id} cannot list what it holds; search finds it.")]))
    wanted = visit.get("find").strip()
    shown = _matching(visit, memory_id, memory, wanted) if wanted else _page(visit, memory_id, memory)
    part = h("div", shown, id="items")
    form = NOTHING if shown == _NOTHING_YET else _filter_form(memory_id, wanted)
    parts.append(h("div", form, history, class_="row between"))
    return Page("Browse", join([*parts, part]), part)


def _page(visit: Visit, memory_id: str, memory: CanList) -> Markup:
    """A page of all items; the first has the latest days, wherever they are in the list."""
    cursor = visit.get("cursor") or None
    page = memory.list_items(cursor=cursor, limit=PAGE_SIZE, session=visit.session)
    items = list(page.items)
    if page.cursor and cursor is None and not any(map(is_row, items)):
        days = [item for item in list_all(memory, most=MOST_ITEMS, session=visit.session) if _is_day(item)]
        items = [item for item in items if not _is_day(item)] + _by_day(days)[:PAGE_SIZE]
    more = address("/browse", memory=memory_id, cursor=page.cursor)
    button = h("p", h("a", "More", href=more, class_="button")) if page.cursor else NOTHING
    return join([_shown(memory_id, memory, items) if items else _NOTHING_YET, button])


def _matching(visit: Visit, memory_id: str, memory: CanList, wanted: str) -> Markup:
    """The items with the wanted text in their title, path, category or origin."""
    folded = wanted.casefold()
    every = list_all(memory, most=MOST_ITEMS, session=visit.session)
    items = [item for item in every if folded in _searched(item)]
    more = f"; the first {PAGE_SIZE} are shown" if len(items) > PAGE_SIZE else ""
    matches = "1 match" if len(items) == 1 else f"{len(items):,} matches"
    count = h("p", f"{matches}{more}", class_="summary", data_said=True)
    return join([count, _shown(memory_id, memory, items[:PAGE_SIZE])])


def _searched(item: MemoryItem) -> str:
    details = [str(item.details[name]) for name in ("category", "session") if item.details.get(name)]
    return "\n".join([item.title, item.path, item.source, *details]).casefold()


def _shown(memory_id: str, memory: CanList, items: Sequence[MemoryItem]) -> Markup:
    rows, days = [each for each in items if is_row(each)], [each for each in items if _is_day(each)]
    rest = [each for each in items if not is_row(each) and not _is_day(each)]
    return join(
        [
            _table(memory_id, rows, isinstance(memory, CanForget)) if rows else NOTHING,
            _list(memory_id, rest) if rest else NOTHING,
            _time_line(memory_id, days) if days else NOTHING,
        ]
    )


def _is_day(item: MemoryItem) -> bool:
    return not is_row(item) and isinstance(item.details.get("day"), date)


def _by_day(items: Sequence[MemoryItem]) -> list[MemoryItem]:
    return sorted(items, key=lambda item: (item.details["day"], item.path), reverse=True)


def _filter_form(memory_id: str, wanted: str) -> Markup:
    field = h(
        "input",
        type="text",
        name="find",
        value=wanted,
        placeholder="Filter by name or category",
        aria_label="Filter the list",
        autocomplete="off",
        spellcheck="false",
        maxlength=200,
    )
    hidden = h("input", type="hidden", name="memory", value=memory_id)
    return h("form", hidden, field, action="/browse", class_="filter", data_live="#items")


def memory_tabs(host: Host, path: str, memory_id: str) -> Markup:
    """The memories of a stack as tabs."""
    links = [(each, address(path, memory=each), each == memory_id) for each in host.memories.ids]
    return tabs(links, "Memories")


def _remember_form(visit: Visit, memory_id: str) -> Markup:
    return h(
        "form",
        visit.token_field(),
        h("input", type="hidden", name="memory", value=memory_id),
        h("label", h("span", "Remember something"), h("textarea", name="text", rows=2, required=True)),
        h("div", h("button", "Remember", type="submit"), class_="row end"),
        method="post",
        action="/browse/remember",
        class_="card stack",
    )


def remember(visit: Visit) -> Redirect:
    memory_id, receipt = visit.host.memories.remember(
        visit.get("text"), into=visit.get("memory") or None, session=visit.session
    )
    return Redirect(item_address(memory_id, receipt.path), "remembered" if receipt.is_new else "known")


def _list(memory_id: str, items: Sequence[MemoryItem]) -> Markup:
    rows = [
        h(
            "tr",
            h("td", h("a", one_line(item.title, _TITLE_CHARS), href=item_address(memory_id, item.path))),
            h("td", item.source),
            h("td", ago(item.changed_at)),
            h("td", size(item.size), class_="number"),
        )
        for item in items
    ]
    return h("section", h("h2", "Notes"), _grid(("note", "source", "changed", "size"), rows))


def _table(memory_id: str, items: Sequence[MemoryItem], can_forget: bool) -> Markup:
    rows = [
        h(
            "tr",
            h("td", _box(item)) if can_forget else NOTHING,
            h("td", h("a", one_line(item.title, _TITLE_CHARS), href=item_address(memory_id, item.path)), class_="text"),
            [h("td", value) for value in details_of(item).values()],
        )
        for item in items
    ]
    names = ("memory", *details_of(items[0]))
    table = _grid(("", *names) if can_forget else names, rows)
    if can_forget:
        hidden = h("input", type="hidden", name="memory", value=memory_id)
        button = h("button", "Forget the chosen…", type="submit", class_="danger")
        table = h("form", hidden, table, h("p", button, class_="danger-row"), action="/browse/forget")
    return h("section", h("h2", "Memories"), table)


def _box(item: MemoryItem) -> Markup:
    return h("input", type="checkbox", name="path", value=item.path, aria_label=f"Choose: {one_line(item.title, 80)}")


def details_of(item: MemoryItem) -> dict[str, Child]:
    """What is known of a captured memory, by name."""
    return {
        "category": badge(str(item.details.get("category", item.source))),
        "importance": _importance(item.details.get("importance")),
        "origin": _origin(item.details.get("session")),
        "age": ago(_created(item)),
    }


def is_row(item: MemoryItem) -> bool:
    """Whether an item belongs in the table of captured memories."""
    return "category" in item.details or "importance" in item.details


def _created(item: MemoryItem) -> datetime | None:
    created = item.details.get("created")
    return created if isinstance(created, datetime) else item.changed_at


def _importance(value: Any) -> Child:
    if not isinstance(value, int | float):
        return "–"
    return h("span", bar(float(value), "importance"), h("span", f"{value:.1f}", class_="number"), class_="inline")


def _origin(session: Any) -> Child:
    if not isinstance(session, str) or not session:
        return "–"
    return h(
        "a", one_line(session, 16), href=address("/sessions/transcript", id=session), title=session, class_="nowrap"
    )


def _grid(names: Sequence[str], rows: Sequence[Markup]) -> Markup:
    heads = [h("th", name, scope="col", class_=f"col-{name}") if name else h("td") for name in names]
    table = h("table", h("thead", h("tr", heads)), h("tbody", rows))
    return h("div", table, class_="scroll", tabindex="0", role="region", aria_label="Table")


def _time_line(memory_id: str, items: Sequence[MemoryItem]) -> Markup:
    """Daily notes by month, each day as a bar of its size."""
    ordered = _by_day(items)
    largest = max((item.size or 0 for item in items), default=0) or 1
    months = []
    for month, found in groupby(ordered, key=lambda item: item.details["day"].strftime("%B %Y")):
        days = [
            h(
                "li",
                h(
                    "a",
                    h("span", item.details["day"].strftime("%a %d"), class_="day"),
                    bar((item.size or 0) / largest, f"{size(item.size)}"),
                    h("span", one_line(item.path, 80), class_="quiet"),
                    href=item_address(memory_id, item.path),
                ),
            )
            for item in found
        ]
        months.append(h("section", h("h3", month), h("ol", days, class_="days")))
    return h("section", h("h2", "Days"), months, class_="timeline")
