"""Search as you type, with how each score was computed and what was dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memslot_inspector.markup import NOTHING, Child, Markup, h, join
from memslot_inspector.pages.layout import badge, bar, empty, no_memory, notice, short_path
from memslot_inspector.visit import Page, Visit, address, item_address

if TYPE_CHECKING:
    from memslot import Host, MemoryHit, MemorySearchOutcome

MOST_RESULTS = 20
MOST_DROPPED = 30
_SHOWN_ABOVE = ("parts", "path", "startLine", "endLine", "score")
_WORD = re.compile(r"\w{4,}|[^\W\x00-\u02ff]+")
"""Words to highlight in a snippet, except short ones in Latin script, which are everywhere."""


def show(visit: Visit) -> Page:
    query, only = visit.get("q").strip(), visit.get("in")
    if not len(visit.host.memories):
        results = no_memory(visit.host)
    else:
        results = _results(visit, query, only) if query else _welcome(visit.host)
    part = h("div", results, id="results", class_="stack")
    return Page("Search", join([_form(visit.host, query, only), part]), part)


def _form(host: Host, query: str, only: str) -> Markup:
    choices: Child = NOTHING
    if len(host.memories) > 1:
        options = [("", "all memories"), *((each, each) for each in host.memories.ids)]
        choices = h(
            "label",
            h("span", "in", class_="quiet"),
            h("select", [h("option", name, value=each, selected=each == only) for each, name in options], name="in"),
        )
    field = h(
        "input",
        type="search",
        name="q",
        value=query,
        placeholder="What do you remember about …",
        aria_label="Search the memory",
        autocomplete="off",
        autofocus=True,
        spellcheck="false",
        maxlength=2000,
    )
    button = h("button", "Search", type="submit")
    return h("form", field, choices, button, action="/", role="search", class_="searchbar", data_live="#results")


def _welcome(host: Host) -> Markup:
    """Show what can be searched."""
    cards = []
    for memory_id, status in host.memories.statuses().items():
        counts = [h("li", h("strong", f"{number:,}"), f" {_spaced(name)}") for name, number in status.counts.items()]
        shown = h("ul", counts[:1], class_="counts")
        rest = h("details", h("summary", "Index"), h("ul", counts[1:], class_="counts")) if counts[1:] else NOTHING
        problems = [notice(each, level="bad") for each in status.problems]
        link = h("a", memory_id, href=address("/browse", memory=memory_id))
        cards.append(h("article", h("h2", link), shown, rest, problems, class_="card stack"))
    hint = h("p", "Type a question or a few words. Results come as you type.", class_="quiet")
    return join([hint, h("div", cards, class_="grid")])


def _results(visit: Visit, query: str, only: str) -> Markup:
    host = visit.host
    outcome = host.memories.search(
        query, max_results=MOST_RESULTS, only=only or None, session=visit.session, explain=True
    )
    problems = [notice(f"{each}: {why}", level="bad") for each, why in outcome.problems.items()]
    remarks = [_remark(each, said) for each, said in outcome.outcomes.items()]
    pattern = _highlighter(query)
    is_stack = len(host.memories) > 1
    hits = [_hit(each.memory_id, each.hit, pattern, is_stack=is_stack) for each in outcome.hits]
    how = " ".join(_how(outcome.outcomes))
    count = f"{len(hits)} result{'' if len(hits) == 1 else 's'}"
    weak = badge("weak: the closest ones", "warn") if outcome.weak else NOTHING
    head = h("p", h("span", count, " ", weak, data_said=True), h("span", how, class_="quiet how"), class_="summary")
    shown = h("ol", hits, class_="hits") if hits else empty("Nothing was found.")
    dropped = [_dropped(each, said, is_stack) for each, said in outcome.outcomes.items()]
    return join([problems, remarks, head, shown, dropped])


def _remark(memory_id: str, outcome: MemorySearchOutcome) -> Markup:
    said = [each for each in (outcome.warning, outcome.fallback, outcome.stale) if each]
    if not said:
        return NOTHING
    return notice(f"{memory_id}: {'; '.join(said)}", level="warn", action=outcome.action)


def _how(outcomes: Mapping[str, MemorySearchOutcome]) -> Iterator[str]:
    """Say which legs ran, once for memories with the same answer."""
    memories: dict[str, list[str]] = {}
    for memory_id, outcome in outcomes.items():
        parts = [outcome.mode, outcome.provider, outcome.model if outcome.model != outcome.provider else None]
        memories.setdefault(" · ".join(each for each in parts if each), []).append(memory_id)
    for shown, ids in memories.items():
        yield shown if len(memories) == 1 else f"{', '.join(ids)}: {shown}."


def _hit(memory_id: str, hit: MemoryHit, pattern: re.Pattern[str] | None, *, is_stack: bool) -> Markup:
    from memslot.retrieval import WEAK_SCORE

    place = [badge(hit.source)]
    if is_stack:
        place.insert(0, badge(memory_id, "memory"))
    if hit.start_line is not None:
        lines = f"line {hit.start_line}" if hit.start_line == hit.end_line else f"lines {hit.start_line}–{hit.end_line}"
        place.append(h("span", lines, class_="quiet"))
    if hit.score < WEAK_SCORE:
        place.append(badge("weak", "warn"))
    where = item_address(memory_id, hit.path, hit.start_line)
    return h(
        "li",
        h(
            "div",
            h("a", short_path(hit.path), href=where, title=hit.path, class_="path"),
            place,
            h("span", f"{hit.score:.2f}", class_="score", title="score"),
            class_="hit-head",
        ),
        h("blockquote", _highlighted(hit.snippet, pattern)),
        _parts(hit.explanation),
        class_="card hit",
    )


def _parts(explanation: Mapping[str, Any] | None) -> Markup:
    """The parts of a score as bars; the rest of the explanation on demand."""
    if not explanation:
        return NOTHING
    parts = explanation.get("parts")
    bars = [
        h("li", h("span", _spaced(name)), bar(share, name, _kind(name)), h("span", f"{share:.2f}", class_="number"))
        for name, share in (parts.items() if isinstance(parts, Mapping) else ())
        if isinstance(share, int | float)
    ]
    rows = [
        (h("dt", _spaced(name)), h("dd", _value(value)))
        for name, value in explanation.items()
        if name not in _SHOWN_ABOVE and value is not None
    ]
    more = h("details", h("summary", "Why this score"), h("dl", rows, class_="facts")) if rows else NOTHING
    return h("div", h("ul", bars, class_="bars") if bars else NOTHING, more, class_="why")


def _kind(name: str) -> str:
    return name if name in ("words", "meaning", "evidence", "decay") else ""


def _dropped(memory_id: str, outcome: MemorySearchOutcome, is_stack: bool) -> Markup:
    told = (outcome.explanation or {}).get("dropped")
    if not isinstance(told, Sequence) or isinstance(told, str) or not told:
        return NOTHING
    rows = [
        h(
            "tr",
            h("td", h("a", short_path(path), href=item_address(memory_id, path, _line(each)), title=path)),
            h("td", _value(each.get("score")), class_="number"),
            h("td", str(each.get("outcome", ""))),
        )
        for each in told[:MOST_DROPPED]
        if isinstance(each, Mapping) and (path := str(each.get("path", "")))
    ]
    head = h("thead", h("tr", [h("th", name, scope="col", class_=f"col-{name}") for name in ("where", "score", "why")]))
    of = f" by {memory_id}" if is_stack else ""
    label = h("summary", f"{len(told)} considered and dropped{of}")
    return h("details", label, h("div", h("table", head, h("tbody", rows)), class_="scroll"), class_="dropped")


def _line(told: Mapping[str, Any]) -> int | None:
    line = told.get("startLine")
    return line if isinstance(line, int) else None


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def _spaced(name: str) -> str:
    """`bestLine` as "best line"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def _highlighter(query: str) -> re.Pattern[str] | None:
    words = sorted(set(_WORD.findall(query)[:20]), key=len, reverse=True)
    return re.compile("|".join(rf"\b{re.escape(word)}" for word in words), re.IGNORECASE) if words else None


def _highlighted(text: str, pattern: re.Pattern[str] | None) -> Iterator[Child]:
    at = 0
    for found in pattern.finditer(text) if pattern else ():
        yield text[at : found.start()]
        yield h("mark", found[0])
        at = found.end()
    yield text[at:]
