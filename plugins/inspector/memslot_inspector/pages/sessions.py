"""Conversations: their transcripts, and what was recalled and captured in each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from memslot import (
    CanList,
    MemoryItem,
    MemslotError,
    SessionStore,
    list_all,
    one_line,
    recalled_blocks,
    redact,
    strip_recalled,
)

from memslot_inspector.markup import NOTHING, Child, Markup, h, join
from memslot_inspector.pages.layout import ago, badge, empty, notice
from memslot_inspector.visit import Page, Visit, address, item_address

if TYPE_CHECKING:
    from memslot import Host, SessionSummary

MOST_SESSIONS = 200
MOST_MESSAGES = 400
"""Of a page."""
MOST_ITEMS = 5000
_MOST_CHARS = 20_000


def _store(host: Host) -> SessionStore:
    workspace = host.config.workspace(host.agent_id, host.places)
    return SessionStore.of_agent(host.places, host.agent_id, workspace)


def show(visit: Visit) -> Page:
    found = _store(visit.host).sessions(MOST_SESSIONS + 1)
    if not found:
        return Page("Sessions", empty("There are no conversations yet."))
    more = notice(f"Only the last {MOST_SESSIONS} are shown.") if len(found) > MOST_SESSIONS else NOTHING
    rows = [_row(each) for each in found[:MOST_SESSIONS]]
    names = ("conversation", "last used", "messages", "chat", "tokens")
    heads = [h("th", name, scope="col", class_=f"col-{name.partition(' ')[0]}") for name in names]
    table = h("table", h("thead", h("tr", heads)), h("tbody", rows))
    shown = h("div", table, class_="scroll", tabindex="0", role="region", aria_label="Conversations")
    return Page("Sessions", join([more, shown]))


def _row(summary: SessionSummary) -> Markup:
    record = summary.record
    title = redact(summary.title) or summary.id
    tokens = record.input_tokens + record.output_tokens
    problem = (" ", badge(summary.problem, "warn")) if summary.problem else None
    return h(
        "tr",
        h("td", h("a", one_line(title, 120), href=address("/sessions/transcript", id=summary.id)), problem),
        h("td", ago(_moment(summary.updated_at))),
        h("td", summary.messages, class_="number"),
        h("td", record.chat_type),
        h("td", f"{tokens:,}" if tokens else "–", class_="number"),
    )


def _moment(milliseconds: int | None) -> datetime | None:
    return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None


def show_one(visit: Visit) -> Page:
    """A conversation in pages; the last page is shown first."""
    session_id, store = visit.get("id"), _store(visit.host)
    transcript = store.read(session_id)
    total = len(transcript.entries)
    start = visit.number("from", 0) or max(1, total - MOST_MESSAGES + 1)
    entries = transcript.entries[start - 1 : start - 1 + MOST_MESSAGES]
    shown = [_message(each.role, each.time, redact(each.text)) for each in entries]
    known = store.sessions(1, only=lambda record: record.id == session_id)
    captured = list(_captured(visit, session_id))
    messages = h("ol", shown, class_="plain") if shown else empty("Nothing was said.")
    parts: list[Child] = [
        h("p", h("a", "All conversations", href="/sessions")),
        h("p", h("code", session_id), [(" · ", each) for each in _about(known, total)], class_="quiet"),
        notice("Some lines of this transcript cannot be read.", level="warn") if transcript.broken else NOTHING,
        h("section", h("h2", "Captured from this conversation"), _captures(captured)),
        h("section", h("h2", "Transcript"), messages, _page_links(session_id, start, total)),
    ]
    title = redact(known[0].title) if known else ""
    return Page(one_line(title, 120) or "Conversation", join(parts))


def _about(known: Sequence[SessionSummary], messages: int) -> Iterator[Child]:
    for summary in known:
        yield "last used ", ago(_moment(summary.updated_at))
        yield f"{summary.record.chat_type} chat"
    yield "1 message" if messages == 1 else f"{messages:,} messages"


def _page_links(session_id: str, start: int, total: int) -> Markup:
    if total <= MOST_MESSAGES:
        return NOTHING
    places = {"Earlier messages": max(1, start - MOST_MESSAGES) if start > 1 else None}
    places["Later messages"] = start + MOST_MESSAGES if start + MOST_MESSAGES <= total else None
    links = [
        h("a", name, href=address("/sessions/transcript", id=session_id, **{"from": at}), class_="button")
        for name, at in places.items()
        if at
    ]
    return h("p", links, class_="row end")


def _message(role: str, at: int | None, text: str) -> Markup:
    return h(
        "li",
        h("p", h("strong", role or "?"), " ", ago(_moment(at)), class_="quiet"),
        [_recalled(block) for block in recalled_blocks(text)],
        h("div", strip_recalled(text)[:_MOST_CHARS], class_="said", dir="auto"),
        _asked_again(text) if role == "user" else NOTHING,
        class_="card message user" if role == "user" else "card message",
    )


def _recalled(block: str) -> Markup:
    return h("details", h("summary", "Recalled before this prompt"), h("pre", block), class_="recalled")


def _asked_again(text: str) -> Markup:
    asked = one_line(strip_recalled(text), 500)
    return (
        h("a", "What would be recalled now", href=address("/agent", prompt=asked), class_="quiet") if asked else NOTHING
    )


def _captured(visit: Visit, session_id: str) -> Iterator[tuple[str, MemoryItem]]:
    """Items of any memory whose details name this conversation, except its own transcript."""
    memories = visit.host.memories
    for memory_id, memory in memories.having(CanList):
        with contextlib.suppress(MemslotError):  # in the diagnostics; the transcript can be shown all the same
            found = memories.call(memory_id, "list", partial(_items_of, visit, memory, session_id))
            yield from ((memory_id, item) for item in found)


def _items_of(visit: Visit, memory: CanList, session_id: str) -> list[MemoryItem]:
    items = list_all(memory, most=MOST_ITEMS, session=visit.session)
    return [item for item in items if item.details.get("session") == session_id and item.source != "sessions"]


def _captures(captured: list[tuple[str, MemoryItem]]) -> Markup:
    if not captured:
        return empty("No memory came from this conversation.")
    items = [
        h(
            "li",
            h("a", one_line(item.title, 200), href=item_address(memory_id, item.path)),
            " ",
            badge(memory_id, "memory"),
        )
        for memory_id, item in captured
    ]
    return h("ul", items)
