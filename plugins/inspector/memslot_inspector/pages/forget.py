"""Forgetting: first what will be forgotten is shown, then it is done."""

# mypy: disable-error-code="type-abstract"

from __future__ import annotations

from memslot import CanForget, CanRead, CanUndo, MemslotError

from memslot_inspector.markup import h, join
from memslot_inspector.pages.layout import notice, short_path
from memslot_inspector.visit import Page, Redirect, Visit, address

MOST_AT_ONCE = 200
_SHOWN_LINES = 40
_SHOWN_CHARS = 4000


def ask(visit: Visit) -> Page:
    memory_id, memory = visit.able(CanForget, "forget")
    paths = _paths(visit)
    otherwise = "(nothing is there)" if isinstance(memory, CanRead) else "(its text cannot be shown)"
    texts = []
    for path in paths:
        part = memory.read(path, max_lines=_SHOWN_LINES, session=visit.session) if isinstance(memory, CanRead) else None
        text = part.text[:_SHOWN_CHARS] if part is not None else ""
        more = "\n…" if part is not None and (part.next_line or len(part.text) > _SHOWN_CHARS) else ""
        texts.append(
            h(
                "li",
                h("code", short_path(path), title=path),
                h("blockquote", f"{text}{more}" or otherwise),
            )
        )
    undo = (
        "It stays in the history for a while, where you can bring it back."
        if isinstance(memory, CanUndo)
        else "This cannot be undone."
    )
    form = h(
        "form",
        visit.token_field(),
        h("input", type="hidden", name="memory", value=memory_id),
        [h("input", type="hidden", name="path", value=path) for path in paths],
        h("a", "Keep", href=address("/browse", memory=memory_id), class_="button"),
        h("button", f"Forget {_count(paths)}", type="submit", class_="danger"),
        method="post",
        action="/browse/forget",
        class_="row end",
    )
    lead = notice(f"{memory_id} will forget {_count(paths)}. {undo}", level="warn")
    return Page("Forget?", join([lead, h("ul", texts, class_="card plain"), form]))


def forget(visit: Visit) -> Redirect:
    memory_id, _ = visit.able(CanForget, "forget")
    removed = [visit.host.memories.forget(memory_id, path) for path in _paths(visit)]
    return Redirect(address("/browse", memory=memory_id), "forgotten" if any(removed) else "gone")


def _paths(visit: Visit) -> list[str]:
    paths = list(dict.fromkeys(visit.values.get("path", ())))
    if not paths:
        raise MemslotError("nothing is chosen; tick what should be forgotten")
    if len(paths) > MOST_AT_ONCE:
        raise MemslotError(f"choose at most {MOST_AT_ONCE} at once")
    return paths


def _count(paths: list[str]) -> str:
    return "1 item" if len(paths) == 1 else f"{len(paths)} items"
