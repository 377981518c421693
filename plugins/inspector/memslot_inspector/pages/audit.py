"""What an audit of the memory finds: duplicates, secrets, stale entries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from memslot import CanAudit, MemoryFinding, MemslotError

from memslot_inspector.markup import NOTHING, Markup, h, join
from memslot_inspector.pages.layout import badge, empty, no_memory, notice
from memslot_inspector.visit import Page, Visit, item_address

MOST_SHOWN = 200
AUDIT_SECONDS = 60.0
_FIRST_PLACES, _MOST_PLACES = 6, 200
"""Of a finding; those after the first are shown on demand."""


def show(visit: Visit) -> Page:
    if not len(visit.host.memories):
        return Page("Audit", no_memory(visit.host))
    able = visit.host.memories.having(CanAudit)
    if not able:
        return Page("Audit", empty("No memory in the slot has an audit."))
    without = [each for each in visit.host.memories.ids if each not in dict(able)]
    rest = h("p", f"Without an audit: {', '.join(without)}.", class_="quiet") if without else NOTHING
    return Page("Audit", join([*(_audited(visit, memory_id, memory) for memory_id, memory in able), rest]))


def _audited(visit: Visit, memory_id: str, memory: CanAudit) -> Markup:
    """The report on one memory; one that fails costs the others nothing."""
    try:
        found = visit.host.memories.call(memory_id, "audit", lambda: list(memory.audit()), seconds=AUDIT_SECONDS)
    except MemslotError as error:
        return h("section", h("h2", memory_id), notice(str(error), level="bad"))
    return _report(memory_id, found)


def _report(memory_id: str, found: Sequence[MemoryFinding]) -> Markup:
    groups = []
    for kind, some in groupby(found[:MOST_SHOWN], key=lambda each: each.kind):
        items = [_finding(memory_id, each) for each in some]
        groups.append(h("section", h("h3", kind, " ", badge(str(len(items)))), h("ul", items, class_="findings")))
    more = f" The first {MOST_SHOWN} of {len(found)} are shown." if len(found) > MOST_SHOWN else ""
    lead = f"{len(found)} finding{'' if len(found) == 1 else 's'}.{more}"
    return h("section", h("h2", memory_id), h("p", lead, class_="quiet"), groups or empty("All is well."))


def _finding(memory_id: str, finding: MemoryFinding) -> Markup:
    places = [(finding.path, finding.start_line), *finding.others]
    links = [
        (h("a", f"{path}:{line}" if line else path, href=item_address(memory_id, path, line)), " ")
        for path, line in places[:_MOST_PLACES]
    ]
    others, unlinked = links[_FIRST_PLACES:], len(places) - len(links)
    rest = h("p", others, f"and {unlinked:,} more" if unlinked else "", class_="places")
    return h(
        "li",
        h("p", links[:_FIRST_PLACES], class_="places"),
        h("details", h("summary", f"{len(others) + unlinked:,} more"), rest) if others else NOTHING,
        h("blockquote", finding.excerpt),
        h("p", finding.action, class_="quiet"),
        class_="card",
    )
