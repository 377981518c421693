"""Shared by all pages: the frame, the menu, notices and small components."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memslot import one_line

from memslot_inspector.markup import NOTHING, Child, Markup, h, join
from memslot_inspector.visit import Page

if TYPE_CHECKING:
    from memslot import Host

MENU = (
    ("/", "Search", "M16.5 10.5a6 6 0 1 1-12 0 6 6 0 0 1 12 0M15 15l5 5"),
    ("/agent", "What an agent gets", "M5 6l6 6-6 6M13 18h6"),
    ("/browse", "Browse", "M5 6h14M5 12h14M5 18h14"),
    ("/sessions", "Sessions", "M4 5h16v11h-9l-5 4v-4H4z"),
    ("/pictures", "Pictures", "M4 5v14h16M8 15l4-5 3 3 5-7"),
    ("/audit", "Audit", "M5 12.5l4.5 4.5L19 7"),
    (
        "/settings",
        "Settings",
        "M4 7h9M17 7h3M4 17h3M11 17h9M13 7a2 2 0 1 0 4 0 2 2 0 1 0-4 0M7 17a2 2 0 1 0 4 0 2 2 0 1 0-4 0",
    ),
)
"""Each page's address, name, and icon: drawn, since fonts have other signs, or colourful ones."""
NOTICES = {
    "saved": "Saved.",
    "remembered": "Remembered.",
    "known": "That was already remembered.",
    "forgotten": "Forgotten.",
    "gone": "There was nothing to forget: it is already gone.",
    "restored": "That version was restored. The previous state is in the history.",
    "settings": "The settings are written.",
    "unchanged": "Nothing to change.",
}
MINUTE, HOUR, DAY = 60, 3600, 86_400
_ID = re.compile(r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def page_html(page: Page, host: Host, path: str, notice: str, problem: str | None) -> str:
    """The whole page."""
    links = [_menu_link(address, name, icon, path) for address, name, icon in MENU]
    said = NOTICES.get(notice)
    frame = h(
        "html",
        h(
            "head",
            h("meta", charset="utf-8"),
            h("meta", name="viewport", content="width=device-width, initial-scale=1"),
            h("meta", name="color-scheme", content="light dark"),
            h("title", f"{page.title} · memslot"),
            h("link", rel="icon", href="/static/icon.svg"),
            h("link", rel="stylesheet", href="/static/style.css"),
            h("script", src="/static/app.js", defer=True),
        ),
        h(
            "body",
            h("a", "Skip to the content", href="#content", class_="skip"),
            h(
                "header",
                h("a", _logo(), h("span", "memslot"), href="/", class_="brand"),
                h("nav", h("ul", links), aria_label="Pages"),
                h("p", h("span", "agent "), h("strong", host.agent_id), class_="agent"),
                class_="side",
            ),
            h(
                "main",
                h("h1", page.title),
                h("p", said, class_="notice good", role="status") if said else NOTHING,
                h("p", problem, class_="notice bad", role="alert") if problem else NOTHING,
                page.body,
                h("p", id="said", class_="unseen", aria_live="polite"),
                id="content",
                tabindex="-1",
            ),
        ),
        lang="en",
    )
    return f"<!doctype html>\n{frame.text}"


def _menu_link(address: str, name: str, icon: str, path: str) -> Markup:
    is_here = path == address or (address != "/" and path.startswith(address))
    sign = h("svg", h("path", d=icon), viewbox="0 0 24 24", class_="sign", aria_hidden="true")
    return h("li", h("a", sign, h("span", name), href=address, aria_current="page" if is_here else None))


def _logo() -> Markup:
    return h("img", src="/static/icon.svg", alt="", width=24, height=24)


def error_page(error: Exception) -> Page:
    """What went wrong, in one sentence."""
    return _alert("That did not work", one_line(str(error), 2000), 400)


def failed_page() -> Page:
    """The answer if the inspector or a plugin has a bug."""
    return _alert("That did not work", "This page could not be made; the terminal of memslot ui says why.", 500)


def late_page(seconds: float) -> Page:
    """The answer if a plugin does not return."""
    said = f"There was no answer within {seconds:g} s; a plugin may hang. A change may still be written later."
    return _alert("No answer", said, 504)


def _alert(title: str, text: str, status: int) -> Page:
    shown = h("p", text, class_="notice bad", role="alert")
    return Page(title, shown, shown, status)


def missing_page() -> Page:
    """The answer to an address that leads nowhere."""
    said = h("p", "There is no such page. ", h("a", "Search the memory", href="/"), class_="empty")
    return Page("Not found", said, status=404)


def notice(text: str, *, level: str = "info", action: str | None = None) -> Markup:
    """A highlighted sentence, with what to do."""
    done = (" ", h("code", action)) if action else None
    return h("p", text, done, class_=f"notice {level}", role="status")


def no_memory(host: Host) -> Markup:
    """Why there is nothing to show, and where to change that."""
    why = host.memory_problem or "there is none in the slot"
    link = h("a", "Choose one in the settings", href="/settings")
    return h("p", f"No memory is in use: {why}. ", link, class_="notice bad", role="alert")


def badge(text: str, kind: str = "") -> Markup:
    return h("span", text, class_=f"badge {kind}".strip())


def empty(text: str) -> Markup:
    """The placeholder for an empty list."""
    return h("p", text, class_="empty")


def facts(rows: list[tuple[str, Child]]) -> Markup:
    """Names and values."""
    return h("dl", [(h("dt", name), h("dd", value)) for name, value in rows], class_="facts")


def bar(share: float, name: str, kind: str = "") -> Markup:
    """A share of 1 as a bar. A drawing, since the policy of the page allows no style in it."""
    width = round(100 * min(1.0, max(0.0, share)), 1)
    return h(
        "svg",
        h("rect", width=100, height=6, class_="rail"),
        h("rect", width=width, height=6, class_="fill"),
        viewbox="0 0 100 6",
        preserveAspectRatio="none",
        class_=f"bar {kind}".strip(),
        role="img",
        aria_label=f"{name} {share:.2f}",
    )


def ago(moment: datetime | None) -> Markup:
    """How long ago, with the exact time on hover."""
    if moment is None:
        return h("span", "–")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    seconds = (datetime.now(UTC) - moment).total_seconds()
    for name, length in (("d", DAY), ("h", HOUR), ("min", MINUTE)):
        if seconds >= length:
            text = f"{int(seconds // length)} {name} ago"
            break
    else:
        text = "just now"
    if seconds > 60 * DAY:
        text = moment.astimezone().strftime("%d %b %Y")
    exact = moment.astimezone().strftime("%Y-%m-%d %H:%M")
    return h("time", text, datetime=moment.isoformat(timespec="seconds"), title=exact)


def short_path(path: str) -> str:
    """The path of an item, of an id in it only the beginning."""
    return _ID.sub(r"\1…", path)


def size(number: int | None) -> str:
    if number is None:
        return "–"
    return f"{number} B" if number < 1024 else f"{number / 1024:.1f} kB"


def tabs(links: list[tuple[str, str, bool]], label: str) -> Markup:
    """Links to views of the same thing; the present one is marked."""
    shown = [h("a", name, href=address, aria_current="true" if here else None) for name, address, here in links]
    return h("nav", shown, class_="tabs", aria_label=label) if len(links) > 1 else NOTHING


def button(text: str, kind: str = "", **attributes: str) -> Markup:
    return h("button", text, type="submit", class_=kind or None, **attributes)


def stack(*children: Child) -> Markup:
    return h("div", join(children), class_="stack")
