"""`ltm list`, `ltm search`, `ltm stats` and `ltm explain`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import click

from memslot_memory_lancedb.capture.rules import judge
from memslot_memory_lancedb.commands.output import clean, print_json, print_pairs, print_table, say, say_warning
from memslot_memory_lancedb.memory import LanceMemory
from memslot_memory_lancedb.memory_record import CATEGORIES, MemoryRecord
from memslot_memory_lancedb.settings import Settings
from memslot_memory_lancedb.store.compaction import INDEX_FROM_NUMBERS, INDEX_FROM_ROWS, WORDS_FROM_ROWS, has_index
from memslot_memory_lancedb.store.predicate import WAITING
from memslot_memory_lancedb.store.stems_column import has_words_index
from memslot_memory_lancedb.store.versions import list_versions


@dataclass(frozen=True)
class Overview:
    """Statistics of one agent's store."""

    location: str
    agent: str
    memories: int = 0
    categories: dict[str, int] = field(default_factory=dict)
    without_vector: int = 0
    waiting: int = 0
    embedder: str | None = None
    table: str | None = None
    version: int | None = None
    versions: int = 0
    files: int = 0
    size: int = 0
    indexed: bool = False
    index_from: int | None = None
    with_words: int = 0
    words_indexed: bool = False


def overview_of(memory: LanceMemory) -> Overview:
    """Collect the statistics; raises a StoreError if the store can't be read."""
    store = memory.store
    table = store.live()
    if table is None:
        return Overview(store.database.location, store.owner.agent_id)
    identity = table.generation.identity
    stats = store.database.attempt(table.handle.stats)
    return Overview(
        location=store.database.location,
        agent=store.owner.agent_id,
        memories=table.count(),
        categories=dict(Counter(table.columns({"category": "`category`"})["category"].to_pylist()).most_common()),
        without_vector=table.count_without_vectors(),
        waiting=table.count(WAITING),
        embedder=str(identity) if identity is not None else None,
        table=table.generation.table,
        version=table.version,
        versions=len(list_versions(table, store.database)),
        files=stats["fragment_stats"]["num_fragments"],
        size=stats["total_bytes"],
        indexed=has_index(table, store.database),
        index_from=max(INDEX_FROM_ROWS, -(-INDEX_FROM_NUMBERS // identity.dims)) if identity is not None else None,
        with_words=table.count() - table.count_without_stems(),
        words_indexed=has_words_index(table, store.database),
    )


SHOWN_CHARS = 100


def add_commands(group: click.Group, memory: LanceMemory, settings: Settings) -> None:
    @group.command("list")
    @click.option("-n", "--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many.")
    @click.option("--offset", type=click.IntRange(0), default=0, help="How many of the newest to skip.")
    @click.option("--category", type=click.Choice(CATEGORIES), help="Only these.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def list_memories(limit: int, offset: int, category: str | None, as_json: bool) -> None:
        """List memories, newest first.

        \b
        Examples:
          memslot ltm list
          memslot ltm list --category preference -n 100
        """
        found, total = memory.store.newest(limit, offset, category)
        if as_json:
            print_json({"total": total, "memories": [each.to_json() for each in found]})
            return
        if not found:
            say("No memories found.")
            return
        print_table(["id", "created", "category", "text"], [_row(each) for each in found])
        if total > offset + len(found):
            say(f"{offset + len(found)} of {total}; more with --offset {offset + len(found)}")

    @group.command()
    @click.argument("query")
    @click.option("-n", "--limit", type=click.IntRange(1, 200), default=5, show_default=True, help="How many.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def search(query: str, limit: int, as_json: bool) -> None:
        """Search memories for QUERY, with relevance and scores.

        \b
        Examples:
          memslot ltm search "what do I drink?"
          memslot ltm search "what do I drink?" --json | jq -r '.results[0].text'
        """
        from memslot.retrieval import WEAK_SCORE

        recalled = memory.searcher.find(query, limit)
        if as_json:
            results = [{**each.memory.to_json(), **each.to_json()} for each in recalled.found]
            told: dict[str, Any] = {"mode": recalled.mode, "floor": WEAK_SCORE, "results": results}
            print_json({**told, "warning": recalled.warning, "action": recalled.action})
            return
        if recalled.warning:
            say_warning(recalled.warning + (f"; {recalled.action}" if recalled.action else ""))
        if not recalled.found:
            say("No memories found.")
            return
        rows = [
            [f"{each.relevance:.3f}", f"{each.score:.3f}", "+".join(each.found_by), *_row(each.memory)]
            for each in recalled.found
        ]
        print_table(["relevance", "score", "found by", "id", "created", "category", "text"], rows)
        say(f"Only memories with a relevance of at least {WEAK_SCORE} are recalled before a prompt.")

    @group.command()
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def stats(as_json: bool) -> None:
        """Show where memories are stored and how many there are.

        Also shows how they are searched, and any problems; exits with 1 if there are some.

        \b
        Examples:
          memslot ltm stats
        """
        seen = overview_of(memory)
        problems = list(memory.status().problems)
        if as_json:
            print_json({**_stats_json(seen), "problems": problems})
        else:
            print_pairs(_stats_pairs(seen))
            for problem in problems:
                say_warning(problem)
        if problems:
            raise click.exceptions.Exit(1)

    @group.command()
    @click.argument("text", required=False)
    @click.option("-n", "--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def explain(text: str | None, limit: int, as_json: bool) -> None:
        """Show whether TEXT would be captured, and why. Without TEXT, list recent decisions.

        \b
        Examples:
          memslot ltm explain "I prefer dark mode"
          memslot ltm explain --json
        """
        if text is None:
            _print_log(memory, limit, as_json)
            return
        rules = settings.capture
        verdict = judge(text, max_chars=rules.max_chars, custom_triggers=rules.custom_triggers)
        told = {
            "kept": verdict.kept,
            "rule": verdict.rule,
            "reason": verdict.reason,
            "category": verdict.category,
            "trigger": verdict.trigger,
            "language": verdict.language,
            "text": verdict.text,
            "autoCapture": settings.auto_capture,
        }
        if as_json:
            print_json(told)
            return
        print_pairs(
            [
                ("verdict", "captured" if verdict.kept else "not captured"),
                ("reason", verdict.reason),
                ("rule", verdict.rule),
                ("trigger", verdict.trigger),
                ("category", verdict.category if verdict.kept else None),
                ("stored as", verdict.text if verdict.kept else None),
            ]
        )
        if not settings.auto_capture:
            say("Nothing is captured yet: autoCapture is off.")


def _row(memory: MemoryRecord) -> list[str]:
    created = f"{memory.created_at:%Y-%m-%d %H:%M}"
    return [memory.id, created, memory.category, clean(memory.text, SHOWN_CHARS)]


def _print_log(memory: LanceMemory, limit: int, as_json: bool) -> None:
    decisions = memory.log.latest(limit)
    if as_json:
        print_json({"decisions": [each.to_json() for each in decisions]})
        return
    rows = [
        [
            f"{each.at:%Y-%m-%d %H:%M}" if each.at else "",
            "kept" if each.kept else "-",
            each.rule,
            each.reason,
            clean(each.text, SHOWN_CHARS),
        ]
        for each in decisions
    ]
    print_table(["at", "", "rule", "reason", "text"], rows)
    if not decisions:
        say("No messages have been judged yet.")


def _stats_json(seen: Overview) -> dict[str, Any]:
    return {
        "dbPath": seen.location,
        "agent": seen.agent,
        "memories": seen.memories,
        "categories": seen.categories,
        "withWords": seen.with_words,
        "withVector": seen.memories - seen.without_vector,
        "withoutVector": seen.without_vector,
        "waitingForVector": seen.waiting,
        "embedder": seen.embedder,
        "table": seen.table,
        "version": seen.version,
        "versions": seen.versions,
        "files": seen.files,
        "bytes": seen.size,
        "indexed": seen.indexed,
        "indexFrom": seen.index_from,
        "wordsIndexed": seen.words_indexed,
    }


def _stats_pairs(seen: Overview) -> list[tuple[str, object]]:
    categories = ", ".join(f"{name} {number}" for name, number in seen.categories.items())
    vectors = "by index" if seen.indexed else f"full scan (indexed from {seen.index_from} memories on)"
    words = "by index" if seen.words_indexed else f"full scan (indexed from {WORDS_FROM_ROWS} memories on)"
    return [
        ("store", seen.location),
        ("agent", seen.agent),
        ("memories", f"{seen.memories}" + (f" ({categories})" if categories else "")),
        ("with words", seen.with_words),
        ("with vectors", seen.memories - seen.without_vector),
        ("embedder", seen.embedder),
        ("words", words),
        ("vectors", vectors if seen.index_from else None),
        ("files", seen.files),
        ("bytes", seen.size),
        ("versions", seen.versions),
    ]
