"""One item: as rendered, as source, and to edit."""

# mypy: disable-error-code="type-abstract"

from __future__ import annotations

import hashlib

from memslot import CanForget, CanRead, CanUpdate, MemslotError, one_line, redact

from memslot_inspector.markdown import MOST_CHARS, render_markdown
from memslot_inspector.markup import NOTHING, Markup, h, join, raw_text
from memslot_inspector.pages.diff import diff, diff_of
from memslot_inspector.pages.layout import badge, empty, notice, short_path, tabs
from memslot_inspector.visit import Answer, Page, Redirect, Visit, address, item_address

MOST_LINES = 20_000
MOST_EDIT_CHARS = 400_000


def read_whole(visit: Visit, path: str) -> tuple[str, str, bool]:
    """The memory's id, the text of an item as `read` gives it, and whether that is all of it."""
    memory_id, memory = visit.able(CanRead, "read")
    parts: list[str] = []
    line: int | None = 1
    while line is not None and line <= MOST_LINES:
        part = memory.read(path, start_line=line, max_lines=2000, session=visit.session)
        parts.append(part.text)
        line = part.next_line
    return memory_id, "\n".join(parts), line is None


def show(visit: Visit) -> Page:
    path = visit.get("path")
    memory_id, text, is_whole = read_whole(visit, path)
    _, memory = visit.memory()
    if not text:
        return Page("Nothing there", notice(f"{path} is empty, or gone.", level="warn"), status=404)
    rendered = None if visit.get("line") or visit.get("view") in ("source", "edit") else render_markdown(text)
    view = visit.get("view") if visit.get("view") == "edit" else "rendered" if rendered is not None else "source"
    may_edit = isinstance(memory, CanUpdate) and is_whole and len(text) <= MOST_EDIT_CHARS
    names = [("rendered", "Rendered"), ("source", "Source"), *([("edit", "Edit")] if may_edit else [])]
    links = [
        (name, address("/browse/item", memory=memory_id, path=path, view=each), each == view) for each, name in names
    ]
    head = h(
        "div",
        badge(memory_id, "memory"),
        h("code", short_path(path), class_="quiet", title=path) if _heading(path, text) != path else NOTHING,
        _forget_link(memory_id, path) if isinstance(memory, CanForget) else NOTHING,
        class_="item-head",
    )
    if view == "edit" and may_edit:
        body = _editor(visit, memory_id, path, text)
    elif rendered is not None:
        body = h("article", rendered, class_="card prose", dir="auto")
    else:
        body = _source(text, visit.number("line", 0))
    remarks = [] if is_whole else [notice(f"Only the first {MOST_LINES:,} lines are shown.", level="warn")]
    if len(text) > MOST_CHARS:
        remarks.append(notice(f"Too long to be rendered: more than {MOST_CHARS:,} characters.", level="warn"))
    if not may_edit and isinstance(memory, CanUpdate):
        remarks.append(notice(f"Too long to be edited here: more than {MOST_EDIT_CHARS:,} characters.", level="warn"))
    return Page(_heading(path, text), join([head, tabs(links, "Views"), remarks, body]))


def _heading(path: str, text: str) -> str:
    """The path of a file; the text of an item without a better name."""
    return path if "." in path else one_line(text, 80)


def _forget_link(memory_id: str, path: str) -> Markup:
    return h("a", "Forget…", href=address("/browse/forget", memory=memory_id, path=path), class_="button danger")


def _source(text: str, line: int) -> Markup:
    lines = [
        h("li", h("span", each or " "), id=f"L{number}", class_="chosen" if number == line else None)
        for number, each in enumerate(text.split("\n"), 1)
    ]
    return h("ol", lines, class_="card source", dir="auto")


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
        h("p", "Lines that you do not touch keep their bytes, redacted secrets included.", class_="quiet"),
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
    """Save an edited text, unless it was changed since the user saw it."""
    path, text = visit.get("path"), visit.get("text")
    memory_id, memory = visit.able(CanUpdate, "change what it holds")
    _, seen, _ = read_whole(visit, path)
    if not seen:
        raise MemslotError(f"{path} is gone, or empty; nothing was written, and your text is one step back")
    if _digest(seen) != visit.get("digest"):
        return _late(visit, memory_id, path, seen, text)
    receipt = memory.update(path, text, expected=seen)
    return Redirect(item_address(memory_id, receipt.path), "saved")


def _late(visit: Visit, memory_id: str, path: str, seen: str, text: str) -> Page:
    """Somebody else was quicker: what saving the person's text would do to theirs, and the way to do it."""
    said = h("p", f"{path} was changed meanwhile. Nothing was written.", class_="notice bad", role="alert")
    changed = diff_of(seen, redact(text))
    shown = diff(changed) if changed else empty("Your text is what is there now.")
    change = h("section", h("h2", "What saving yours would change now"), shown)
    return Page("Changed meanwhile", join([said, change, _editor(visit, memory_id, path, seen, text)]), status=409)
