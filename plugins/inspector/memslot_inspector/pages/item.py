"""One item: as rendered, as source, and to edit."""

# mypy: disable-error-code="type-abstract"

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING

from memslot import (
    CanForget,
    CanList,
    CanRead,
    CanUpdate,
    MemslotError,
    list_all,
    one_line,
    read_parts,
    redact,
)

from memslot_inspector.markdown import MOST_CHARS, render_markdown
from memslot_inspector.markup import NOTHING, Markup, h, join, raw_text
from memslot_inspector.pages.browse import MOST_ITEMS, details_of, is_row
from memslot_inspector.pages.diff import diff, diff_of
from memslot_inspector.pages.layout import badge, empty, notice, short_path, tabs
from memslot_inspector.visit import Answer, Page, Redirect, Visit, address, item_address

if TYPE_CHECKING:
    from memslot import MemoryItem

MOST_LINES = 20_000
MOST_EDIT_CHARS = 400_000
SOURCE_LINES = 2000
"""Lines of a page of the source."""
MOST_SOURCE_CHARS = 400_000
"""Characters of a page of the source: lines can be long."""


def read_whole(visit: Visit, path: str, most: int = MOST_EDIT_CHARS) -> tuple[str, str, bool]:
    """The memory's id, the text of an item as `read` gives it, and whether that is all of it."""
    memory_id, memory = visit.able(CanRead, "read")
    parts: list[str] = []
    is_whole, size = False, 0
    for part in read_parts(memory, path, session=visit.session):
        parts.append(part.text)
        size += len(part.text)
        is_whole = part.next_line is None
        if (part.next_line or 0) > MOST_LINES or size > most:
            break
    text = "\n".join(parts)
    return memory_id, text, is_whole and len(text) <= most


def show(visit: Visit) -> Page:
    path, view = visit.get("path"), visit.get("view")
    memory_id, memory = visit.able(CanRead, "read")
    start, body, remark = 1, None, NOTHING
    if view == "edit" and isinstance(memory, CanUpdate):
        _, text, is_whole = read_whole(visit, path)
        body = _editor(visit, memory_id, path, text) if is_whole else None
        remark = _too_long("edited here", MOST_EDIT_CHARS) if body is None else NOTHING
    elif view != "source" and not visit.get("line"):
        _, text, is_whole = read_whole(visit, path, MOST_CHARS)
        rendered = render_markdown(text) if is_whole else None
        body = h("article", rendered, class_="card prose", dir="auto") if rendered is not None else None
        view, remark = "rendered", _too_long("rendered", MOST_CHARS) if body is None else NOTHING
    if body is None:
        view, start = "source", _first_line(visit)
        text, body = _source(visit, memory_id, path, start)
    if not text:
        told = f"{path} is empty, or gone." if start == 1 else f"{path} ends before line {start:,}, or is gone."
        return Page("Nothing there", notice(told, level="warn"), status=404)
    names = {"rendered": "Rendered", "source": "Source"} | ({"edit": "Edit"} if isinstance(memory, CanUpdate) else {})
    links = [
        (name, address("/browse/item", memory=memory_id, path=path, view=each), each == view)
        for each, name in names.items()
    ]
    head = h(
        "div",
        badge(memory_id, "memory"),
        h("code", short_path(path), class_="quiet", title=path) if _heading(path, text) != path else NOTHING,
        _forget_link(memory_id, path) if isinstance(memory, CanForget) else NOTHING,
        class_="item-head",
    )
    return Page(
        _heading(path, text), join([head, _details(visit, memory_id, path), tabs(links, "Views"), remark, body])
    )


def _details(visit: Visit, memory_id: str, path: str) -> Markup:
    """Category, importance, origin and age of a captured memory."""
    memories = visit.host.memories
    memory = memories.get(memory_id)
    if not isinstance(memory, CanList) or is_file(path):
        return NOTHING

    def find() -> list[MemoryItem]:
        items = list_all(memory, most=MOST_ITEMS, session=visit.session)
        return [item for item in items if item.path == path and is_row(item)]

    with contextlib.suppress(MemslotError):  # in the diagnostics; the text can be shown all the same
        for item in memories.call(memory_id, "list", find):
            pairs = [
                h("span", h("span", f"{name} ", class_="quiet"), value) for name, value in details_of(item).items()
            ]
            return h("p", pairs, class_="details")
    return NOTHING


def is_file(path: str) -> bool:
    """Whether a path names a file, and not only an id."""
    return "." in path


def _too_long(done: str, most: int) -> Markup:
    return notice(f"Too long to be {done}: more than {most:,} characters or {MOST_LINES:,} lines.", level="warn")


def _heading(path: str, text: str) -> str:
    """The path of a file; the text of an item without a better name."""
    return path if is_file(path) else one_line(text, 80)


def _forget_link(memory_id: str, path: str) -> Markup:
    return h("a", "Forget…", href=address("/browse/forget", memory=memory_id, path=path), class_="button danger")


def _first_line(visit: Visit) -> int:
    """The first line of the wanted page of the source."""
    line = visit.number("line", 0)
    return (line - 1) // SOURCE_LINES * SOURCE_LINES + 1 if line else max(1, visit.number("from", 1))


def _source(visit: Visit, memory_id: str, path: str, start: int) -> tuple[str, Markup]:
    """Lines of the source as text and as a page, with links to those before and after."""
    _, memory = visit.able(CanRead, "read")
    part = memory.read(path, start_line=start, max_lines=SOURCE_LINES, session=visit.session)
    lines, left, following = [], MOST_SOURCE_CHARS, part.next_line
    for number, line in enumerate(part.text.split("\n"), start):
        if left <= 0:
            following = number
            break
        text = line if len(line) <= left else f"{line[:left]}…"
        left -= len(line) + 1
        kind = "chosen" if number == visit.number("line", 0) else None
        lines.append(h("li", h("span", text or " "), id=f"L{number}", value=number, class_=kind))
    places = {"Earlier lines": max(1, start - SOURCE_LINES) if start > 1 else None, "Later lines": following}
    links = [
        h("a", name, href=_lines_address(memory_id, path, at), class_="button") for name, at in places.items() if at
    ]
    shown = h("ol", lines, class_="card source", dir="auto")
    return part.text, join([shown, h("p", links, class_="row end")]) if links else shown


def _lines_address(memory_id: str, path: str, start: int) -> str:
    return address("/browse/item", memory=memory_id, path=path, view="source", **{"from": start})


def _editor(visit: Visit, memory_id: str, path: str, seen: str, text: str | None = None) -> Markup:
    """A form with the text that is there, or with the person's own."""
    back = item_address(memory_id, path)
    is_late = text is not None
    return h(
        "form",
        visit.token_field(),
        h("input", type="hidden", name="memory", value=memory_id),
        h("input", type="hidden", name="path", value=path),
        h("input", type="hidden", name="digest", value=_digest(seen)),
        h(
            "label",
            h("span", "Text"),
            # The first line break of a textarea is dropped by the browser.
            h(
                "textarea",
                join(["\n", raw_text(seen if text is None else text)]),
                name="text",
                rows=24,
                spellcheck="true",
                class_="source",
            ),
        ),
        h("p", "Lines that you do not edit stay as they are, redacted secrets included.", class_="quiet"),
        h(
            "div",
            h("a", "Keep what is there" if is_late else "Cancel", href=back, class_="button"),
            h("button", "Save mine" if is_late else "Save", type="submit"),
            class_="row end",
        ),
        method="post",
        action="/browse/save",
        class_="card stack",
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def save(visit: Visit) -> Answer:
    """Save an edited text, unless it was changed since the user saw it. What was typed is never lost."""
    path, text, seen = visit.get("path"), visit.get("text"), ""
    memory_id, memory = visit.able(CanUpdate, "change what it holds")
    try:
        _, seen, _ = read_whole(visit, path)
        if not seen:
            raise MemslotError(f"{path} is gone, or empty; nothing was written")
        if _digest(seen) != visit.get("digest"):
            return _late(visit, memory_id, path, seen, text)
        receipt = memory.update(path, text, expected=seen)
    except (MemslotError, OSError) as error:
        said = h("p", one_line(str(error), 2000), class_="notice bad", role="alert")
        return Page("That did not work", join([said, _editor(visit, memory_id, path, seen, text)]), status=400)
    return Redirect(item_address(memory_id, receipt.path), "saved")


def _late(visit: Visit, memory_id: str, path: str, seen: str, text: str) -> Page:
    """Somebody else was quicker: what saving the person's text would do to theirs, and the way to do it."""
    said = h("p", f"{path} was changed meanwhile. Nothing was written.", class_="notice bad", role="alert")
    changed = diff_of(seen, redact(text))
    shown = diff(changed) if changed else empty("Your text is what is there now.")
    change = h("section", h("h2", "What saving yours would change now"), shown)
    return Page("Changed meanwhile", join([said, change, _editor(visit, memory_id, path, seen, text)]), status=409)
