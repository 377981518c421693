"""Earlier versions of a memory, and the way back to one."""

# mypy: disable-error-code="type-abstract"

from __future__ import annotations

from memslot import CanUndo

from memslot_inspector.markup import h, join
from memslot_inspector.pages.layout import ago, badge, empty
from memslot_inspector.visit import Page, Redirect, Visit, address


def show(visit: Visit) -> Page:
    memory_id, memory = visit.able(CanUndo, "go back to an earlier version")
    rows = []
    for place, version in enumerate(memory.versions()):
        restore = h(
            "form",
            visit.token_field(),
            h("input", type="hidden", name="memory", value=memory_id),
            h("input", type="hidden", name="version", value=version.id),
            h("button", "Restore", type="submit", aria_label=f"Restore version {version.id}"),
            method="post",
            action="/browse/history",
        )
        rows.append(
            h(
                "tr",
                h("td", version.id),
                h("td", ago(version.at)),
                h("td", "–" if version.items is None else version.items, class_="number"),
                h("td", restore if place else badge("now")),
            )
        )
    names = [h("th", name, scope="col", class_=f"col-{name}") for name in ("version", "written", "items")]
    table = h("table", h("thead", h("tr", names, h("td"))), h("tbody", rows))
    lead = h(
        "p",
        "Every write makes a version. Restoring one takes the whole memory back to it, with all that was added, edited "
        "or forgotten since. That is a write, too: the present state stays here.",
        class_="quiet",
    )
    shown = h("div", table, class_="scroll") if rows else empty("Nothing was written yet.")
    back = h("p", h("a", f"Back to {memory_id}", href=address("/browse", memory=memory_id)))
    return Page("History", join([back, lead, shown]))


def restore(visit: Visit) -> Redirect:
    memory_id, memory = visit.able(CanUndo, "go back to an earlier version")
    memory.restore(visit.get("version"))
    return Redirect(address("/browse/history", memory=memory_id), "restored")
