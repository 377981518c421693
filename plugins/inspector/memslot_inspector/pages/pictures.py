"""Pictures of the memory: how it grew, a map of what it holds, and what is found often and never."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memslot import CanList, MemoryItem, list_all, one_line

from memslot_inspector import hit_count
from memslot_inspector.markup import Child, Markup, h, join
from memslot_inspector.pages.browse import memory_tabs
from memslot_inspector.pages.growth import growth
from memslot_inspector.pages.layout import empty, no_memory
from memslot_inspector.pages.memory_map import memory_map
from memslot_inspector.visit import Page, Visit, address, item_address

MOST_ITEMS = 20_000


def show(visit: Visit) -> Page:
    if not len(visit.host.memories):
        return Page("Pictures", no_memory(visit.host))
    memory_id, memory = visit.memory()
    items = list(list_all(memory, most=MOST_ITEMS, session=visit.session)) if isinstance(memory, CanList) else []
    parts: list[Child] = [
        memory_tabs(visit.host, "/pictures", memory_id),
        growth(items),
        memory_map(visit, memory_id, memory),
        _found(visit, memory_id, items),
    ]
    return Page("Pictures", join(parts))


def _found(visit: Visit, memory_id: str, items: Sequence[MemoryItem]) -> Markup:
    head = h("h2", "Found often and never")
    if not visit.host_setting("countHits"):
        link = h("a", "Turn it on", href=address("/settings/plugin", id=visit.ctx.plugin_id))
        text = "Nothing is counted. When on, what agents' tools return is counted in a file on this machine. "
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
