"""`memslot forget`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from memslot.cli.options import agent_option
from memslot.cli.output import clean, counted, echo, print_json, say_done, say_error, say_warning
from memslot.cli.slot import ANSWER_SECONDS, check_memory_id, open_memories, refresh_all
from memslot.text import one_line

if TYPE_CHECKING:
    from memslot.host import Host
    from memslot.memory.capabilities import CanRead
    from memslot.memory.contract import MemoryHit
    from memslot.memory.passages import Passage

CANDIDATES = 10
_SHOWN_CHARS = 200
_READ_LINES = 20
_MOST_LISTED = 1_000_000


@dataclass(frozen=True)
class Item:
    """Something a memory holds, with its text: the person sees it before they decide."""

    memory_id: str
    path: str
    text: str
    is_whole: bool = False
    """Whether the text is the item's own, not the passage that a search found in it."""

    passage: Passage | None = None
    """The lines, where the memory keeps texts of many."""

    def to_json(self) -> dict[str, Any]:
        return {"memory": self.memory_id, "path": self.path, "text": self.text}


@click.command("forget")
@click.argument("targets", nargs=-1, required=True, metavar="QUERY|PATH...")
@click.option("--in", "memory_id", metavar="ID", help="Forget in this memory only (default: all that can).")
@click.option("-y", "--yes", is_flag=True, help="Don't ask for confirmation; needs the PATH of each item.")
@agent_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON; without --yes nothing is deleted.")
def command(targets: tuple[str, ...], memory_id: str | None, yes: bool, agent: str | None, as_json: bool) -> None:
    """Show what would be forgotten, ask, and delete it, in every memory that can forget.

    PATH is as `memslot search` prints it; of notes, it names the lines. A QUERY is searched for, and you choose from
    what it finds.

    \b
    Examples:
      memslot forget "old phone number"
      memslot forget "old phone number" --json
      memslot forget memory/2026-03-02.md#L3 --yes
      memslot forget ltm/3f0c6f1e-8f5e-4f0e-9a53-6f5a2f6d8a11 --yes
    """
    with open_memories(agent) as host:
        able = _able(host, check_memory_id(host, memory_id))
        named = {target: _at_path(host, able, target) for target in dict.fromkeys(targets)}
        unknown = [target for target, items in named.items() if not items]
        if not unknown:
            candidates = [item for items in named.values() for item in items]
            chosen = _confirmed(candidates, yes, as_json)
        elif len(named) > 1:
            raise click.ClickException(f'nothing has the path "{clean(unknown[0])}"; nothing was forgotten')
        else:
            refresh_all(host, memory_id)
            candidates = _search(host, able, unknown[0])
            if memory_id is None:
                _say_elsewhere(host, able, unknown[0])
            if yes:
                raise click.ClickException(_needs_paths(unknown[0], candidates))
            chosen = [] if as_json else _choose(unknown[0], candidates)
        forgotten, failed = _forget(host, chosen)
        if as_json:
            print_json(
                {
                    "forgotten": [item.to_json() for item in forgotten],
                    "candidates": [item.to_json() for item in candidates if item not in forgotten],
                }
            )
        elif forgotten:
            say_done(f"forgot {counted(len(forgotten), 'item')}")
        elif not failed:
            click.echo("Nothing was forgotten.", err=True)
    if failed:
        raise click.exceptions.Exit(1)


def _able(host: Host, only: str | None) -> list[str]:
    """Ids of the memories that can forget; raises a ClickException where none can."""
    from memslot.memory.capabilities import CanForget
    from memslot.memory.passages import CanEdit

    asked = [only] if only is not None else list(host.memories.ids)
    can = dict([*host.memories.having(CanForget), *host.memories.having(CanEdit)])
    able = [each for each in asked if each in can]
    if not able:
        raise click.ClickException(
            f"{' and '.join(asked)} cannot forget by command; `memslot search` shows where it is kept: delete it there"
        )
    return able


# What is meant


def _at_path(host: Host, able: Sequence[str], path: str) -> list[Item]:
    """Return the items with exactly this path; several if memories share it."""
    from memslot.errors import MemslotError

    def look(memory_id: str) -> Item | None:
        try:
            return _item_at(memory_id, host.memories.get(memory_id), path)
        except ValueError:  # no path of this memory
            return None

    found = []
    for memory_id in able:
        try:
            found.append(host.memories.call(memory_id, "read", partial(look, memory_id), seconds=ANSWER_SECONDS))
        except MemslotError:  # no path of this memory, or a failure, which is among the diagnostics
            continue
    return [item for item in found if item is not None]


def _item_at(memory_id: str, memory: Any, path: str) -> Item | None:
    """Return the item at a path through the first capability that has it; None if there is no such item."""
    from memslot.memory.capabilities import CanList, CanRead
    from memslot.memory.paging import list_all
    from memslot.memory.passages import passage_at

    if _forgets_passages(memory):
        passage = passage_at(memory, path)
        return None if passage is None else _passage_item(memory_id, passage)
    if isinstance(memory, CanRead):
        text = _read(memory, path)
        return Item(memory_id, path, text, is_whole=True) if text else None
    if isinstance(memory, CanList):
        titles = (str(item.title) for item in list_all(memory, most=_MOST_LISTED) if item.path == path)
        return next((Item(memory_id, path, title) for title in titles), None)
    hits = memory.search(path).hits
    return next((Item(memory_id, path, str(hit.snippet)) for hit in hits if hit.path == path), None)


def _forgets_passages(memory: object) -> bool:
    """Whether a memory forgets single lines of its texts, since it cannot forget an item."""
    from memslot.memory.capabilities import CanForget, has_capability
    from memslot.memory.passages import CanEdit

    return has_capability(memory, CanEdit) and not has_capability(memory, CanForget)


def _passage_item(memory_id: str, passage: Passage) -> Item:
    return Item(memory_id, passage.address, passage.text, passage=passage)


def _read(memory: CanRead, path: str) -> str:
    """The beginning of an item's text, with a mark where it goes on."""
    found = memory.read(path, max_lines=_READ_LINES)
    return f"{found.text}\n…" if found.text and found.next_line is not None else str(found.text)


def _search(host: Host, memory_ids: Sequence[str], query: str) -> list[Item]:
    """Return what a query finds, best first; what two memories hold is listed twice, since each has to forget it."""
    outcome = host.memories.search(query, only=tuple(memory_ids), max_results=CANDIDATES, seconds=ANSWER_SECONDS)
    for memory_id, problem in outcome.problems.items():
        say_warning(f"{memory_id}: {clean(problem)}")
    found = {each: answer.hits[:CANDIDATES] for each, answer in outcome.outcomes.items() if answer.hits}
    items: list[Item] = []
    for memory_id in sorted(found, key=lambda each: -found[each][0].score):
        items += _items_of(host, memory_id, found[memory_id], query)
    return items[:CANDIDATES]


def _items_of(host: Host, memory_id: str, hits: Sequence[MemoryHit], query: str) -> list[Item]:
    """Return what a memory could delete of its own hits; of weak matches, those with a word of the query."""
    from memslot.errors import MemslotError
    from memslot.memory.passages import passages_of
    from memslot.retrieval.relevance import WEAK_SCORE
    from memslot.retrieval.sameness import content_words

    words = {*content_words(query)}
    memory: Any = host.memories.get(memory_id)

    def read() -> list[Item]:
        if _forgets_passages(memory):
            return [_passage_item(memory_id, each) for each in passages_of(memory, hits, query)]
        best = {hit.path: hit for hit in reversed(hits)}
        # What is deleted is the item, not only the passage that was found.
        items = [_whole(memory, Item(memory_id, path, best[path].snippet)) for path in reversed(best)]
        return [each for each in items if best[each.path].score >= WEAK_SCORE or words & {*content_words(each.text)}]

    try:
        return host.memories.call(memory_id, "forget", read, seconds=ANSWER_SECONDS)
    except MemslotError as error:
        _say_failure(memory_id, error)
        return []


def _whole(memory: Any, item: Item) -> Item:
    """The item with its own text, if its memory can read it."""
    from memslot.memory.capabilities import CanRead, has_capability

    if not has_capability(memory, CanRead):
        return item
    try:
        text = _read(memory, item.path)
    except Exception as error:
        _say_failure(item.memory_id, error)
        return item
    return replace(item, text=text, is_whole=True) if text else item


def _say_elsewhere(host: Host, able: Sequence[str], query: str) -> None:
    """Report matches in memories that cannot forget, so that the user knows they remain."""
    for memory_id, why in host.memories.absent.items():
        say_warning(f"{memory_id} does not run, and keeps what it has: {clean(why)}")
    others = [each for each in host.memories.ids if each not in able]
    if not others:
        return
    from memslot.retrieval import WEAK_SCORE

    outcome = host.memories.search(
        query, only=tuple(others), max_results=CANDIDATES, min_score=WEAK_SCORE, seconds=ANSWER_SECONDS
    )
    for memory_id, problem in outcome.problems.items():
        say_warning(f"{memory_id} cannot be searched: {clean(problem)}")
    for memory_id, answer in outcome.outcomes.items():
        hits = [hit for hit in answer.hits if hit.score >= WEAK_SCORE and not answer.weak]
        places = dict.fromkeys(clean(hit.citation) for hit in hits[:CANDIDATES])
        if places:
            say_warning(f"{memory_id} cannot forget by command, and has this in {', '.join(places)}; delete it there")


def _say_failure(memory_id: str, error: Exception) -> None:
    from memslot.diagnostics import describe_error
    from memslot.errors import MemslotError

    why = str(error).removeprefix(f"{memory_id} failed: ") if isinstance(error, MemslotError) else describe_error(error)
    say_warning(f"{memory_id}: {clean(why)}")


def _needs_paths(query: str, candidates: Sequence[Item]) -> str:
    if not candidates:
        return f'nothing has the path "{clean(query)}", and nothing like it was found'
    paths = ", ".join(clean(item.path) for item in candidates)
    return f'"{clean(query)}" is no path, and --yes needs the path of each item; found: {paths}'


# Asking


def _confirmed(items: list[Item], yes: bool, as_json: bool) -> list[Item]:
    """The items that were named by their paths, once the person agrees."""
    if yes:
        paths = [item.path for item in items]
        doubled = next((path for path in paths if paths.count(path) > 1), None)
        if doubled is not None:
            owners = ", ".join(item.memory_id for item in items if item.path == doubled)
            raise click.ClickException(f'"{clean(doubled)}" is in {owners}; say which with --in')
        return items
    if as_json:
        return []
    for item in items:
        _print_item(item)
    return items if click.confirm(f"Forget {counted(len(items), 'item')}?", err=True) else []


def _choose(query: str, items: Sequence[Item]) -> list[Item]:
    """Those of the found items that the person names by their numbers."""
    if not items:
        raise click.ClickException(f'nothing that can be forgotten was found for "{clean(query)}"')
    for number, item in enumerate(items, 1):
        _print_item(item, f"{number:>2}  ")

    def read(written: str) -> list[Item]:
        chosen = dict.fromkeys(re.findall(r"[^\s,]+", written))
        by_number = {str(number): item for number, item in enumerate(items, 1)}
        if not by_number.keys() >= chosen.keys():
            raise click.BadParameter(f"name numbers from 1 to {len(items)}")
        return [by_number[number] for number in chosen]

    question = "Which ones to forget, such as 1 or 1,3 (Enter for none)"
    chosen: list[Item] = click.prompt(question, default="", value_proc=read, show_default=False, err=True)
    return chosen


def _print_item(item: Item, before: str = "") -> None:
    echo(before + click.style(f"{clean(item.memory_id)}  ", fg="cyan") + click.style(clean(item.path), bold=True))
    echo(" " * len(before) + one_line(item.text, _SHOWN_CHARS))


# Deleting


def _forget(host: Host, items: Sequence[Item]) -> tuple[list[Item], bool]:
    """Those that were forgotten, and whether one could not be; each is tried."""
    from memslot.errors import MemslotError

    forgotten, failed = [], False
    for together in _by_text(items):
        first = together[0]
        try:
            if first.passage is not None:
                host.memories.remove(first.memory_id, [each.passage for each in together if each.passage is not None])
                forgotten.extend(together)
            elif _has_changed(host, first):
                raise MemslotError("it has changed since it was shown; run the command again")
            elif host.memories.forget(first.memory_id, first.path):
                forgotten.append(first)
            else:
                say_warning(f"{first.memory_id} no longer has {clean(first.path)}")
        except MemslotError as error:
            failed = True
            places = ", ".join(clean(each.path) for each in together)
            say_error(f"{first.memory_id}: {places} was not forgotten: {clean(str(error))}")
    if any(each.passage is not None for each in forgotten):
        refresh_all(host, None)  # so that the index does not hold it either
    return forgotten, failed


def _by_text(items: Sequence[Item]) -> list[list[Item]]:
    """Single items, but lines of the same text together: when some of them go, the others move."""
    groups: dict[tuple[str, str, bool], list[Item]] = {}
    for item in items:
        path = item.path if item.passage is None else item.passage.path
        groups.setdefault((item.memory_id, path, item.passage is None), []).append(item)
    return list(groups.values())


def _has_changed(host: Host, item: Item) -> bool:
    """Whether another text is there than the person has seen."""
    from memslot.errors import MemslotError
    from memslot.memory.capabilities import CanRead, has_capability

    memory: Any = host.memories.get(item.memory_id)
    if not item.is_whole or not has_capability(memory, CanRead):
        return False
    try:
        text = host.memories.call(item.memory_id, "forget", partial(_read, memory, item.path), seconds=ANSWER_SECONDS)
    except MemslotError:  # gone or out of order, as forgetting it will tell
        return False
    return text not in ("", item.text)
